/* core/ipc: allocates, opens, closes and exports memory for several processes. */
#include "core/ipc.h"

#include "base/mem.h"

static uint64_t live;

size_t nl_ipc_live(void) {
    return nl_atomic_load(&live);
}

static nl_ipc_memory *new_ipc_memory(nl_device *dev, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return NULL;
    nl_ipc_memory *memory = nl_mem_zalloc(sizeof *memory, err);
    if (memory == NULL)
        return NULL;
    memory->device = dev;
    memory->generation = nl_atomic_load(&dev->generation);
    return memory;
}

int nl_ipc_alloc(nl_device *dev, size_t size, nl_ipc_memory **out, nl_error *err) {
    nl_ipc_memory *memory = new_ipc_memory(dev, err);
    if (memory == NULL)
        return -1;
    /* size is a multiple of 4, as for all device memory (see nl_pool_round) */
    memory->size = (size + 3) & ~(size_t)3;
    if (NL_CU(err, MemAlloc, &memory->address, memory->size) < 0) {
        nl_mem_free(memory);
        return -1;
    }
    nl_atomic_add(&live, 1);
    *out = memory;
    return 0;
}

static void explain_open_failure(nl_error *err) {
    if (err->code == CUDA_ERROR_INVALID_CONTEXT)
        nl_error_prefix(
            err,
            "a handle can only be opened by another process than the process that exported it");
    else
        nl_error_prefix(err, "the memory of another process cannot be opened (it must still exist, "
                             "and the device must reach it)");
}

/* Sets memory->size to the number of bytes from memory->address to the end of the allocation, or to
 * SIZE_MAX / 2 if the driver cannot return the allocation's range. */
static int read_allocation_size(nl_ipc_memory *memory, nl_error *err) {
    CUdeviceptr base = 0;
    size_t size = 0;
    if (NL_CU(err, MemGetAddressRange, &base, &size, memory->address) == 0)
        memory->size = size - (size_t)(memory->address - base);
    else if (err->code == CUDA_ERROR_INVALID_VALUE || err->code == CUDA_ERROR_NOT_FOUND)
        memory->size = SIZE_MAX >> 1;
    else
        return -1;
    return 0;
}

int nl_ipc_open(nl_device *dev, const CUipcMemHandle *handle, nl_ipc_memory **out, nl_error *err) {
    nl_ipc_memory *memory = new_ipc_memory(dev, err);
    if (memory == NULL)
        return -1;
    if (NL_CU(err, IpcOpenMemHandle, &memory->address, *handle,
              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) < 0) {
        explain_open_failure(err);
        nl_mem_free(memory);
        return -1;
    }
    memory->opened = 1;
    nl_atomic_add(&live, 1);
    if (read_allocation_size(memory, err) < 0) {
        nl_ipc_release(memory);
        return -1;
    }
    *out = memory;
    return 0;
}

/* Waits for the device before closing memory of another process: the driver waits when it frees
 * memory, but not when it unmaps memory. */
static int close_memory(nl_ipc_memory *memory, nl_error *err) {
    if (!nl_device_bind_for_release(memory->device, memory->generation))
        return 0;
    if (!memory->opened)
        return NL_CU(err, MemFree, memory->address);
    int status = NL_CU0(err, CtxSynchronize);
    nl_error *second = status < 0 ? &(nl_error){0} : err;
    return NL_CU(second, IpcCloseMemHandle, memory->address) < 0 ? -1 : status;
}

static void delete_memory(nl_ipc_memory *memory) {
    nl_atomic_sub(&live, 1);
    nl_mem_free(memory);
}

static void destroy_mapping(void *thing) {
    nl_ipc_memory *memory = thing;
    nl_error problem = {0};
    if (close_memory(memory, &problem) < 0)
        nl_driver_print_failure((CUresult)problem.code, problem.call);
    delete_memory(memory);
}

void nl_ipc_release(nl_ipc_memory *memory) {
    if (memory != NULL && !nl_device_postpone_release(&memory->later, destroy_mapping, memory))
        destroy_mapping(memory);
}

int nl_ipc_close_memory(nl_ipc_memory *memory, nl_error *err) {
    int status = close_memory(memory, err);
    delete_memory(memory);
    return status;
}

int nl_ipc_export(nl_device *dev, CUdeviceptr address, CUipcMemHandle *handle, size_t *offset,
                  size_t *size, nl_error *err) {
    CUdeviceptr base = 0;
    if (nl_device_synchronize(dev, err) < 0 ||
        NL_CU(err, MemGetAddressRange, &base, size, address) < 0)
        return -1;
    *offset = (size_t)(address - base);
    if (NL_CU(err, IpcGetMemHandle, handle, base) == 0)
        return 0;
    if (err->code == CUDA_ERROR_INVALID_VALUE)
        nl_error_prefix(err, "this memory cannot be shared with other processes: "
                             "it is managed, page-locked or from a memory pool; "
                             "cuda.ipc_array() returns an array that can be shared");
    return -1;
}
