/* core/ipc: device memory that several processes use.
 *
 * An exporter names the allocation by a handle of 64 bytes; another process opens it. The driver
 * does this for what cuMemAlloc has allocated, not for memory of its pools, where ours comes from:
 * an allocation that is to be shared is made here. */
#ifndef NL_CORE_IPC_H
#define NL_CORE_IPC_H

#include "core/device.h"

typedef struct nl_ipc_memory {
    CUdeviceptr address;
    size_t size; /* of the whole allocation; SIZE_MAX / 2 where the driver does not tell */
    nl_device *device;
    uint64_t generation;
    int opened; /* another process's */
    nl_postponed later;
} nl_ipc_memory;

/* A new allocation, not initialised. size > 0. */
int nl_ipc_alloc(nl_device *dev, size_t size, nl_ipc_memory **out, nl_error *err);
int nl_ipc_open(nl_device *dev, const CUipcMemHandle *handle, nl_ipc_memory **out, nl_error *err);
/* Frees or closes it after the device is idle. Accepts NULL, never raises. */
void nl_ipc_release(nl_ipc_memory *memory);
/* The same where it matters whether it worked; *memory is gone in any case. */
int nl_ipc_close(nl_ipc_memory *memory, nl_error *err);
/* The handle of the allocation that holds `address`, and where in it that is. Waits for the device,
 * so that what others will find there is complete. */
int nl_ipc_export(nl_device *dev, CUdeviceptr address, CUipcMemHandle *handle, size_t *offset,
                  size_t *size, nl_error *err);
size_t nl_ipc_live(void); /* for leak tests */

#endif
