/* core/device: devices and their primary contexts.
 *
 * A device is retained on first use and lives until the process ends. Each OS thread has a current
 * device (0 until it selects another); nl_device_bind makes its context current with one thread-local
 * compare when nothing changed. After fork every entry fails with a clear NL_ERR_RUNTIME in the child. */
#ifndef NL_CORE_DEVICE_H
#define NL_CORE_DEVICE_H

#include "base/error.h"
#include "base/lock.h"
#include "driver/driver.h"

typedef struct nl_device {
    int ordinal;
    CUdevice handle;
    CUcontext context;
    int compute_major, compute_minor;
    /* limits that every launch is checked against */
    int max_threads_per_block, warp_size, multiprocessors;
    int max_block[3], max_grid[3];
    int shared_default, shared_optin; /* bytes per block without and with opting in */
    int has_memory_pools, can_cooperate;
} nl_device;

/* How to open the driver when something first needs it; set from Python's config before that.
 * kind: "auto", "cuda", "sim". Fails once the driver is open with another kind. */
int nl_device_configure(const char *kind, int sim_devices, nl_error *err);
/* Opens the driver if need be (auto: real, else simulator) and returns its kind, "cuda" or "sim". */
const char *nl_device_open(nl_error *err);
int nl_device_count(int *count, nl_error *err);
/* Device by ordinal, its context retained. */
nl_device *nl_device_get(int ordinal, nl_error *err);
/* The calling thread's device, bound. The one to call at the start of every operation. */
nl_device *nl_device_current(nl_error *err);
/* Selects the calling thread's device. */
int nl_device_select(int ordinal, nl_error *err);
/* Makes dev's context current in the calling thread without changing what is selected. */
int nl_device_bind(nl_device *dev, nl_error *err);
/* cuCtxSynchronize on dev. Call without the interpreter's lock. */
int nl_device_synchronize(nl_device *dev, nl_error *err);
/* Resets the primary context (after a fault): everything on the device is lost. */
int nl_device_reset(nl_device *dev, nl_error *err);

#endif
