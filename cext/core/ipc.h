/* core/ipc: device memory shared by several processes.
 *
 * The exporting process identifies the allocation by a handle of 64 bytes, by which another process
 * opens the memory. The driver can share cuMemAlloc's allocations, but not memory of its pools,
 * which buffers use. So core/ipc allocates memory that will be shared by cuMemAlloc. */
#ifndef NL_CORE_IPC_H
#define NL_CORE_IPC_H

#include "core/device.h"

typedef struct nl_ipc_memory {
    CUdeviceptr address;
    size_t size; /* of the whole allocation; SIZE_MAX / 2 if unknown */
    nl_device *device;
    uint64_t generation;
    int opened; /* set if another process has allocated the memory */
    nl_postponed later;
} nl_ipc_memory;

/* Allocates memory without initializing it. size must be greater than 0. */
int nl_ipc_alloc(nl_device *dev, size_t size, nl_ipc_memory **out, nl_error *err);
int nl_ipc_open(nl_device *dev, const CUipcMemHandle *handle, nl_ipc_memory **out, nl_error *err);
/* Frees or closes the memory after the device is idle. Accepts NULL. Never returns an error. */
void nl_ipc_release(nl_ipc_memory *memory);
/* Frees or closes the memory like nl_ipc_release, but returns errors; *memory is freed in every
 * case. */
int nl_ipc_close_memory(nl_ipc_memory *memory, nl_error *err);
/* Returns the handle of the allocation that contains `address`, and the offset in it. Waits for the
 * device, so that other processes see complete data. */
int nl_ipc_export(nl_device *dev, CUdeviceptr address, CUipcMemHandle *handle, size_t *offset,
                  size_t *size, nl_error *err);
size_t nl_ipc_live(void); /* for leak tests */

#endif
