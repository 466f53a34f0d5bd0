/* core/module: loaded images, their functions and variables. A module is reference counted: kernels
 * and device arrays over its variables hold it. */
#ifndef NL_CORE_MODULE_H
#define NL_CORE_MODULE_H

#include "core/device.h"

typedef struct nl_module {
    uint64_t references;
    CUmodule handle;
    nl_device *device;
    uint64_t generation;  /* of the device: see nl_device_alive */
    struct nl_stop *stop; /* its record, if its kernels can be stopped (core/stop) */
    nl_postponed later;
} nl_module;

/* image: a cubin, PTX text (NUL-terminated) or a simulated image. */
int nl_module_load(nl_device *dev, const void *image, size_t size, nl_module **out, nl_error *err);
void nl_module_retain(nl_module *module);
void nl_module_release(nl_module *module); /* accepts NULL; waits for the device before unloading */
size_t nl_module_live(void);               /* for leak tests */
/* Its kernels have the records `flag` and `failure`, or one of them (the other is ""): see
 * core/stop. */
int nl_module_set_stop(nl_module *module, const char *flag, const char *failure, const char *sites,
                       size_t size, nl_error *err);
int nl_module_function(nl_module *module, const char *lowered, CUfunction *out, nl_error *err);
int nl_module_global(nl_module *module, const char *lowered, CUdeviceptr *address, size_t *size,
                     nl_error *err);

#endif
