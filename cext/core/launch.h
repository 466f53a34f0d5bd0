/* core/launch: one launch: its shape, its limits, the driver call. */
#ifndef NL_CORE_LAUNCH_H
#define NL_CORE_LAUNCH_H

#include "core/kernel.h"

typedef struct nl_launch {
    unsigned grid[3], block[3];
    unsigned cluster[3]; /* all 0: none */
    unsigned shared;     /* dynamic, bytes per block */
    int cooperative;
    CUstream stream;
} nl_launch;

/* Checks the shape against what the device allows, naming the limit; `name` is the kernel's. */
int nl_launch_check(const nl_launch *launch, const nl_device *dev, const char *name, nl_error *err);
/* The same and what the kernel allows; opts into large dynamic shared memory. Once per kernel and
 * shape; the kernel's device is current. */
int nl_launch_prepare(const nl_launch *launch, nl_kernel *kernel, nl_error *err);
/* `values` points at one value per parameter. */
int nl_launch_run(const nl_launch *launch, nl_kernel *kernel, void **values, nl_error *err);

#endif
