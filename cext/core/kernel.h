/* core/kernel: a function of a loaded module, and the limits of its launches. */
#ifndef NL_CORE_KERNEL_H
#define NL_CORE_KERNEL_H

#include "base/lock.h"
#include "core/module.h"
#include "core/params.h"

typedef struct nl_kernel {
    nl_module *module; /* retained */
    CUfunction handle;
    char *name; /* for messages */
    nl_params params;
    int max_threads;   /* maximum threads per block, limited by the kernel's registers */
    int static_shared; /* bytes per block */
    int registers;     /* per thread */
    int cluster[3];    /* __cluster_dims__ in blocks; 0 without clusters */
    nl_mutex lock;     /* protects dynamic_shared */
    /* bytes of dynamic shared memory per block to which the kernel has opted in */
    int dynamic_shared;
} nl_kernel;

/* Creates a kernel; on success, takes ownership of the contents of `params`. `claimed` is set if
 * the user supplied the parameters, instead of the compiled code. */
int nl_kernel_create(nl_module *module, const char *lowered, const char *name, nl_params *params,
                     int claimed, nl_kernel **out, nl_error *err);
void nl_kernel_destroy(nl_kernel *kernel); /* accepts NULL */

int nl_kernel_attribute(nl_kernel *kernel, int attribute, int *value, nl_error *err);
int nl_kernel_set_attribute(nl_kernel *kernel, int attribute, int value, nl_error *err);
/* Permits launches of the kernel with `bytes` bytes of dynamic shared memory. The caller must have
 * checked the limits. */
int nl_kernel_allow_shared(nl_kernel *kernel, int bytes, nl_error *err);
/* Sets *blocks to the number of blocks of `block` threads that fit on one multiprocessor, with
 * `shared` bytes of dynamic shared memory each. */
int nl_kernel_occupancy(nl_kernel *kernel, int block, size_t shared, int *blocks, nl_error *err);
/* Sets *block to the block size with the best occupancy, and *min_grid to the smallest number of
 * blocks that fills the device. */
int nl_kernel_best_block(nl_kernel *kernel, size_t shared, int *min_grid, int *block,
                         nl_error *err);

#endif
