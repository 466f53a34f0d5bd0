/* core/module: loaded images, their functions and variables. Modules are reference-counted:
 * kernels, and device arrays over module variables, hold references. */
#ifndef NL_CORE_MODULE_H
#define NL_CORE_MODULE_H

#include "core/device.h"

typedef struct nl_module {
    uint64_t references;
    CUmodule handle;
    nl_device *device;
    uint64_t generation;  /* generation of the device (see nl_device_check_generation) */
    struct nl_stop *stop; /* record of the module's stoppable kernels (core/stop), or NULL */
    nl_postponed later;
} nl_module;

/* Loads an image: a cubin, PTX text (NUL-terminated) or a simulated image. */
int nl_module_load(nl_device *dev, const void *image, size_t size, nl_module **out, nl_error *err);
void nl_module_retain(nl_module *module);
void nl_module_release(nl_module *module); /* accepts NULL; waits for the device before unloading */
size_t nl_module_live(void);               /* for leak tests */
/* Registers the module's records for stoppable kernels and for failed asserts; `flag` and `failure`
 * are the names of these records, or "". See core/stop for these records. */
int nl_module_set_stop(nl_module *module, const char *flag, const char *failure, const char *sites,
                       size_t size, nl_error *err);
int nl_module_find_function(nl_module *module, const char *lowered, CUfunction *out, nl_error *err);
int nl_module_find_global(nl_module *module, const char *lowered, CUdeviceptr *address,
                          size_t *size, nl_error *err);

#endif
