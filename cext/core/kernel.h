/* core/kernel: a function of a loaded module, with what its launches are checked against. */
#ifndef NL_CORE_KERNEL_H
#define NL_CORE_KERNEL_H

#include "base/lock.h"
#include "core/module.h"
#include "core/params.h"

typedef struct nl_kernel {
    nl_module *module; /* held */
    CUfunction handle;
    char *name; /* for messages */
    nl_params params;
    int max_threads;    /* per block, given the registers it uses */
    int static_shared;  /* bytes per block */
    int registers;      /* per thread */
    int cluster[3];     /* blocks, as __cluster_dims__ says; all 0: it does not */
    nl_mutex lock;      /* of dynamic_shared */
    int dynamic_shared; /* bytes per block that it may be launched with as it is */
} nl_kernel;

/* Takes the contents of `params` over, if it succeeds. `claimed`: they are not the compiler's, but
 * somebody's word. */
int nl_kernel_create(nl_module *module, const char *lowered, const char *name, nl_params *params,
                     int claimed, nl_kernel **out, nl_error *err);
void nl_kernel_destroy(nl_kernel *kernel); /* accepts NULL */

int nl_kernel_attribute(nl_kernel *kernel, int attribute, int *value, nl_error *err);
int nl_kernel_set_attribute(nl_kernel *kernel, int attribute, int value, nl_error *err);
/* Lets the kernel be launched with `bytes` of dynamic shared memory; the limits are checked before.
 */
int nl_kernel_allow_shared(nl_kernel *kernel, int bytes, nl_error *err);
/* Blocks of `block` threads that one multiprocessor holds. */
int nl_kernel_occupancy(nl_kernel *kernel, int block, size_t shared, int *blocks, nl_error *err);
/* The block size with the best occupancy, and the smallest grid that fills the device. */
int nl_kernel_best_block(nl_kernel *kernel, size_t shared, int *min_grid, int *block,
                         nl_error *err);

#endif
