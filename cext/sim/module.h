/* sim/module: loaded images, their kernels and variables. */
#ifndef NL_SIM_MODULE_H
#define NL_SIM_MODULE_H

#include "sim/context.h"
#include "sim/grid.h"

typedef struct nl_sim_module nl_sim_module;

typedef struct nl_sim_function {
    const nl_sim_kernel *kernel;
    nl_sim_module *module;
    nl_sim_context *context;
    nl_sim_habits habits;
    int static_shared, max_dynamic_shared, carveout;
    struct nl_sim_function *next;
    char symbol[];
} nl_sim_function;

/* image: nl_sim_image_header and what follows. `log` gets a sentence if it cannot be loaded. */
CUresult nl_sim_module_load(nl_sim_context *context, const void *image, nl_sim_module **out,
                            char *log, size_t log_size);
nl_sim_context *nl_sim_module_context(const nl_sim_module *module);
/* Its work must be done. */
void nl_sim_module_destroy(nl_sim_module *module);
CUresult nl_sim_module_function(nl_sim_module *module, const char *symbol, nl_sim_function **out);
CUresult nl_sim_module_global(nl_sim_module *module, const char *symbol, void **address,
                              size_t *size);

#endif
