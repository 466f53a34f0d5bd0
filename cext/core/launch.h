/* core/launch: checks a kernel launch's shape against limits, and makes the driver call. */
#ifndef NL_CORE_LAUNCH_H
#define NL_CORE_LAUNCH_H

#include "core/kernel.h"

typedef struct nl_launch {
    unsigned grid[3], block[3];
    unsigned cluster[3]; /* all 0: no clusters */
    unsigned shared;     /* dynamic, bytes per block */
    int cooperative;
    CUstream stream;
} nl_launch;

/* Checks the launch's shape against the device's limits; the error message contains the exceeded
 * limit and `name`, the name of the kernel. */
int nl_launch_check(const nl_launch *launch, const nl_device *dev, const char *name, nl_error *err);
/* Calls nl_launch_check, checks the kernel's limits, and opts in to large dynamic shared memory.
 * One call per combination of kernel and launch shape is enough. The kernel's device must be
 * bound. */
int nl_launch_prepare(const nl_launch *launch, nl_kernel *kernel, nl_error *err);
/* Launches the kernel. `values` contains a pointer to the value of each parameter. */
int nl_launch_run(const nl_launch *launch, nl_kernel *kernel, void **values, nl_error *err);

#endif
