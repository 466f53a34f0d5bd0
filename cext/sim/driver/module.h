/* sim/driver/module: the modules of the simulated driver: loaded images, their kernels and
 * variables. */
#ifndef NL_SIM_DRIVER_MODULE_H
#define NL_SIM_DRIVER_MODULE_H

#include "driver/checks.h"
#include "sim/debuginfo/object.h"
#include "sim/driver/context.h"
#include "sim/engine/job.h"

typedef struct nl_sim_module nl_sim_module;

typedef struct nl_sim_function {
    const nl_sim_kernel *kernel;
    nl_sim_module *module;
    nl_sim_context *context;
    nl_sim_history history;
    int static_shared, max_dynamic_shared, carveout;
    int any_cluster; /* set if cluster sizes above the portable maximum are allowed */
    struct nl_sim_function *next;
    char symbol[];
} nl_sim_function;

/* Returns the maximum number of threads per block: that of __launch_bounds__, or of the device. */
int nl_sim_module_max_threads(const nl_sim_function *function);

/* Loads an image: an nl_sim_image_header and the shared library that follows it. On failure, writes
 * a message to `log`. */
CUresult nl_sim_module_load(nl_sim_context *context, const void *image, nl_sim_module **out,
                            char *log, size_t log_size);
/* Sets *out to the function compiled for the checks in `mask` (bits of NL_CHECK_COMPILED, or 0 for
 * none): the function itself, or its twin, which is compiled and loaded at the first call and lives
 * as long as the function. On failure, writes a message to `log`. */
CUresult nl_sim_module_find_twin(nl_sim_function *function, uint32_t mask,
                                 nl_checks_compile_fn compile, nl_sim_function **out, char *log,
                                 size_t log_size);
/* Returns the checks for which the module was compiled, a mask of bits of NL_CHECK_COMPILED. */
uint32_t nl_sim_module_get_checks(const nl_sim_module *module);
/* Returns whether the module's kernels need the processor's floating-point exceptions for the NaN
 * check (reals.h). */
int nl_sim_module_traps_reals(const nl_sim_module *module);
/* Returns whether the module was compiled with debug=True. */
int nl_sim_module_is_debug(const nl_sim_module *module);
/* Returns whether the bodies of the module's kernels were written in Python. */
int nl_sim_module_is_python(const nl_sim_module *module);
/* Returns the parameter descriptions that an instrumented image exports for a kernel, or NULL if it
 * exports none. */
const nl_sim_parameters *nl_sim_module_parameters(const nl_sim_function *function);
/* For a twin, returns the pairs of its variables and those of the original module; returns NULL for
 * other modules. */
struct nl_sim_variables *nl_sim_module_variables(const nl_sim_module *module);
/* Returns the loaded shared library. */
const nl_sim_object *nl_sim_module_get_object(const nl_sim_module *module);
nl_sim_context *nl_sim_module_context(const nl_sim_module *module);
/* Unloads the module. All work that uses the module must have ended. */
void nl_sim_module_destroy(nl_sim_module *module);
CUresult nl_sim_module_function(nl_sim_module *module, const char *symbol, nl_sim_function **out);
/* Returns the function of the module that runs this kernel, or NULL if the image does not export
 * it. */
nl_sim_function *nl_sim_module_find_function(nl_sim_module *module, const nl_sim_kernel *kernel);
CUresult nl_sim_module_global(nl_sim_module *module, const char *symbol, void **address,
                              size_t *size);

#endif
