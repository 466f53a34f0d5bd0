/* sim/driver/calls_memory: implements the driver calls that allocate and free memory, synchronously
 * and in stream order, and that query pointers. */
#include "sim/driver/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/lock.h"
#include "sim/driver/stream.h"
#include "sim/engine/memory.h"

static CUresult sim_MemGetInfo(size_t *free_bytes, size_t *total) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(free_bytes && total);
    size_t used = nl_sim_memory_used(context->device);
    *total = nl_sim_memory_total_size();
    *free_bytes = *total > used ? *total - used : 0;
    return CUDA_SUCCESS;
}

/* Allocates memory; if memory is exhausted, waits for pending stream-ordered frees and tries
 * again. */
static CUresult allocate_memory(nl_sim_context *context, nl_sim_memory_kind kind, size_t size,
                                uintptr_t *address) {
    CUresult status = nl_sim_memory_alloc(kind, context->device, size, address);
    if (status == CUDA_ERROR_OUT_OF_MEMORY && nl_atomic_load(&context->pool_used)) {
        nl_sim_stream_wait_for_context(context);
        status = nl_sim_memory_alloc(kind, context->device, size, address);
    }
    return status;
}

static void report_damage(nl_sim_stream *stream, const char *damage) {
    nl_fault fault;
    if (!damage[0])
        return;
    nl_fault_init(&fault, NL_CHECK_MEMORY, NL_FAULT_HEAD_NONE, "");
    nl_fault_set_text(&fault, "a kernel made %s (found when it was freed)", damage);
    nl_sim_stream_set_failed(stream, CUDA_ERROR_ILLEGAL_ADDRESS, &fault);
}

static CUresult free_address(nl_sim_stream *stream, nl_sim_memory_kind kind, uintptr_t address) {
    char damage[NL_SIM_MEMORY_TEXT];
    CUresult status = nl_sim_memory_free(kind, address, damage);
    report_damage(stream, damage);
    return status;
}

static CUresult sim_MemAlloc(CUdeviceptr *pointer, size_t size) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer && size);
    uintptr_t address = 0;
    CUresult status = allocate_memory(context, NL_SIM_MEMORY_DEVICE, size, &address);
    if (status == CUDA_SUCCESS)
        *pointer = address;
    return status;
}

/* Waits for the device, but does not report faults, because only synchronizing calls report
 * faults. */
static CUresult sim_MemFree(CUdeviceptr pointer) {
    NL_SIM_BEGIN_IN(context);
    if (!pointer)
        return CUDA_SUCCESS;
    nl_sim_memory_info info;
    if (!nl_sim_memory_find_allocation((uintptr_t)pointer, &info))
        return CUDA_ERROR_INVALID_VALUE;
    nl_sim_stream_wait_for_context(nl_sim_context_at(info.device));
    return free_address(context->legacy, NL_SIM_MEMORY_DEVICE, (uintptr_t)pointer);
}

static CUresult sim_MemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer && size);
    NL_SIM_STREAM(stream, context, handle);
    if (nl_sim_capture_has_stream(stream)) /* graphs do not allocate memory */
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    uintptr_t address = 0;
    CUresult status = allocate_memory(stream->context, NL_SIM_MEMORY_POOLED, size, &address);
    if (status != CUDA_SUCCESS)
        return status;
    uint64_t used = nl_atomic_add(&stream->context->pool_used, size) + size;
    if (used > nl_atomic_load(&stream->context->pool_high))
        nl_atomic_store(&stream->context->pool_high, used);
    *pointer = address;
    return CUDA_SUCCESS;
}

typedef struct free_op {
    nl_sim_op op;
    uintptr_t address;
    size_t size;
} free_op;

static void run_free(nl_sim_op *op, nl_sim_stream *stream) {
    free_op *f = (free_op *)op;
    nl_fault fault;
    if (free_address(stream, NL_SIM_MEMORY_DEVICE, f->address) == CUDA_SUCCESS) {
        nl_atomic_sub(&stream->context->pool_used, f->size);
        return;
    }
    nl_fault_init(&fault, NL_CHECK_MEMORY, NL_FAULT_HEAD_NONE, "");
    nl_fault_set_text(&fault, "memory was freed twice");
    nl_sim_stream_set_failed(stream, CUDA_ERROR_INVALID_VALUE, &fault);
}

static CUresult sim_MemFreeAsync(CUdeviceptr pointer, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (nl_sim_capture_has_stream(stream)) /* graphs do not free memory */
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    nl_sim_memory_info info;
    if (!nl_sim_memory_find_allocation((uintptr_t)pointer, &info) || info.address != pointer ||
        (info.kind != NL_SIM_MEMORY_DEVICE && info.kind != NL_SIM_MEMORY_POOLED))
        return CUDA_ERROR_INVALID_VALUE;
    free_op *f = calloc(1, sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    f->op.run = run_free;
    f->op.flags = NL_SIM_OP_INLINE;
    f->address = info.address;
    f->size = info.size;
    nl_sim_stream_issue(stream, &f->op);
    return CUDA_SUCCESS;
}

/* The calls for memory pools: each device has one pool, whose handle is the device's context. */

static CUresult sim_DeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(pool);
    if (!nl_sim_call_has_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *pool = (CUmemoryPool)nl_sim_context_at(device);
    return CUDA_SUCCESS;
}

enum { /* CUmemPool_attribute */
       POOL_REUSE_FIRST = 1,
       POOL_REUSE_LAST = 3,
       POOL_RESERVED_CURRENT = 5,
       POOL_RESERVED_HIGH = 6,
       POOL_USED_CURRENT = 7,
       POOL_USED_HIGH = 8,
};

static CUresult sim_MemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(value && nl_sim_context_is_handle(pool));
    nl_sim_context *context = (nl_sim_context *)pool;
    if (attribute >= POOL_REUSE_FIRST && attribute <= POOL_REUSE_LAST)
        return CUDA_SUCCESS;
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        nl_atomic_store(&context->release_threshold, *(uint64_t *)value);
        return CUDA_SUCCESS;
    }
    NL_SIM_REQUIRE(attribute == POOL_RESERVED_HIGH || attribute == POOL_USED_HIGH);
    NL_SIM_REQUIRE(*(uint64_t *)value == 0);
    nl_atomic_store(&context->pool_high, nl_atomic_load(&context->pool_used));
    return CUDA_SUCCESS;
}

static CUresult sim_MemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(value && nl_sim_context_is_handle(pool));
    nl_sim_context *context = (nl_sim_context *)pool;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(uint64_t *)value = nl_atomic_load(&context->release_threshold);
        return CUDA_SUCCESS;
    case POOL_RESERVED_CURRENT:
    case POOL_USED_CURRENT:
        *(uint64_t *)value = nl_atomic_load(&context->pool_used);
        return CUDA_SUCCESS;
    case POOL_RESERVED_HIGH:
    case POOL_USED_HIGH:
        *(uint64_t *)value = nl_atomic_load(&context->pool_high);
        return CUDA_SUCCESS;
    default:
        NL_SIM_REQUIRE(attribute >= POOL_REUSE_FIRST && attribute <= POOL_REUSE_LAST);
        *(int *)value = 1;
        return CUDA_SUCCESS;
    }
}

static CUresult sim_MemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access,
                                     size_t count) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(nl_sim_context_is_handle(pool) && (access || !count));
    for (size_t i = 0; i < count; i++)
        NL_SIM_REQUIRE(access[i].location.type == 1 &&
                       (access[i].flags == 0 || access[i].flags == 3));
    return CUDA_SUCCESS; /* all devices can access all simulated memory */
}

static CUresult sim_MemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(nl_sim_context_is_handle(pool));
    (void)keep; /* has no effect, because the pool retains no freed memory */
    return CUDA_SUCCESS;
}

/* Host memory */

static CUresult sim_MemHostAlloc(void **pointer, size_t size, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer && size && flags < 8);
    uintptr_t address = 0;
    CUresult status = nl_sim_memory_alloc(NL_SIM_MEMORY_HOST, context->device, size, &address);
    if (status == CUDA_SUCCESS)
        *pointer = (void *)address;
    return status;
}

static CUresult sim_MemFreeHost(void *pointer) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer);
    nl_sim_stream_wait_for_context(context);
    return free_address(context->legacy, NL_SIM_MEMORY_HOST, (uintptr_t)pointer);
}

static CUresult sim_MemHostRegister(void *pointer, size_t size, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer && size && flags < 16 && size - 1 <= UINTPTR_MAX - (uintptr_t)pointer);
    return nl_sim_memory_register(NL_SIM_MEMORY_REGISTERED, context->device, pointer, size);
}

static CUresult sim_MemHostUnregister(void *pointer) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer);
    nl_sim_stream_wait_for_context(context);
    return nl_sim_memory_unregister(NL_SIM_MEMORY_REGISTERED, pointer);
}

static CUresult sim_MemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    nl_sim_memory_info info;
    NL_SIM_REQUIRE(device && flags == 0 && nl_sim_memory_find_allocation((uintptr_t)host, &info));
    NL_SIM_REQUIRE(info.kind == NL_SIM_MEMORY_HOST || info.kind == NL_SIM_MEMORY_REGISTERED);
    *device = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

static CUresult sim_MemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer && size && (flags == CU_MEM_ATTACH_GLOBAL || flags == 2));
    uintptr_t address = 0;
    CUresult status = allocate_memory(context, NL_SIM_MEMORY_MANAGED, size, &address);
    if (status == CUDA_SUCCESS)
        *pointer = address;
    return status;
}

/* Checks only the arguments, because the simulator has no memory to migrate. */
static int is_managed(CUdeviceptr pointer, size_t size) {
    nl_sim_memory_info info;
    return size && nl_sim_memory_find_allocation((uintptr_t)pointer, &info) &&
           info.kind == NL_SIM_MEMORY_MANAGED && nl_sim_memory_covers((uintptr_t)pointer, size);
}

static CUresult sim_MemPrefetchAsync(CUdeviceptr pointer, size_t size, CUdevice device,
                                     CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    (void)stream;
    NL_SIM_REQUIRE(is_managed(pointer, size));
    if (device != CU_DEVICE_CPU && !nl_sim_call_has_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

static CUresult sim_MemAdvise(CUdeviceptr pointer, size_t size, int advice, CUdevice device) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    NL_SIM_REQUIRE(is_managed(pointer, size) && advice >= 1 && advice <= 6);
    if (advice > 2 && device != CU_DEVICE_CPU && !nl_sim_call_has_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

enum { /* Values of CUpointer_attribute that cuda_abi.h does not declare. */
       POINTER_DEVICE_POINTER = 3,
       POINTER_HOST_POINTER = 4,
       POINTER_SYNC_MEMOPS = 6,
       POINTER_BUFFER_ID = 7,
       POINTER_RANGE_START = 11,
       POINTER_RANGE_SIZE = 12,
       POINTER_MAPPED = 13,
};

static CUresult store_attribute(void *value, int attribute, CUdeviceptr pointer,
                                const nl_sim_memory_info *info) {
    int host = info->kind == NL_SIM_MEMORY_HOST || info->kind == NL_SIM_MEMORY_REGISTERED;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)value = (CUcontext)nl_sim_context_at(info->device);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case POINTER_HOST_POINTER:
        *(void **)value =
            host || info->kind == NL_SIM_MEMORY_MANAGED ? (void *)(uintptr_t)pointer : NULL;
        return CUDA_SUCCESS;
    case POINTER_DEVICE_POINTER:
        *(CUdeviceptr *)value = pointer;
        return CUDA_SUCCESS;
    case POINTER_BUFFER_ID:
        *(unsigned long long *)value = info->id;
        return CUDA_SUCCESS;
    case POINTER_SYNC_MEMOPS:
        *(unsigned *)value = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)value = info->kind == NL_SIM_MEMORY_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = info->device;
        return CUDA_SUCCESS;
    case POINTER_RANGE_START:
        *(CUdeviceptr *)value = info->address;
        return CUDA_SUCCESS;
    case POINTER_RANGE_SIZE:
        *(size_t *)value = info->size;
        return CUDA_SUCCESS;
    case POINTER_MAPPED:
        *(unsigned *)value = 1;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult store_empty_attribute(void *value, int attribute) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case POINTER_HOST_POINTER:
    case POINTER_DEVICE_POINTER:
    case POINTER_BUFFER_ID:
    case POINTER_RANGE_START:
    case POINTER_RANGE_SIZE:
        *(uint64_t *)value = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = -2;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case POINTER_SYNC_MEMOPS:
    case POINTER_MAPPED:
        *(unsigned *)value = 0;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* An address outside of simulated memory is not an error: its attributes are all 0. */
static CUresult sim_PointerGetAttributes(unsigned count, int *attributes, void **values,
                                         CUdeviceptr pointer) {
    NL_SIM_BEGIN();
    nl_sim_memory_info info;
    NL_SIM_REQUIRE(count && attributes && values);
    int found = nl_sim_memory_find_allocation((uintptr_t)pointer, &info);
    for (unsigned i = 0; i < count; i++) {
        NL_SIM_REQUIRE(values[i]);
        CUresult status = found ? store_attribute(values[i], attributes[i], pointer, &info)
                                : store_empty_attribute(values[i], attributes[i]);
        if (status != CUDA_SUCCESS)
            return status;
    }
    return CUDA_SUCCESS;
}

void nl_sim_calls_memory_fill(nl_driver *table) {
    table->MemGetInfo = sim_MemGetInfo;
    table->MemAlloc = sim_MemAlloc;
    table->MemFree = sim_MemFree;
    table->MemAllocAsync = sim_MemAllocAsync;
    table->MemFreeAsync = sim_MemFreeAsync;
    table->DeviceGetDefaultMemPool = sim_DeviceGetDefaultMemPool;
    table->MemPoolSetAttribute = sim_MemPoolSetAttribute;
    table->MemPoolGetAttribute = sim_MemPoolGetAttribute;
    table->MemPoolSetAccess = sim_MemPoolSetAccess;
    table->MemPoolTrimTo = sim_MemPoolTrimTo;
    table->MemHostAlloc = sim_MemHostAlloc;
    table->MemFreeHost = sim_MemFreeHost;
    table->MemHostRegister = sim_MemHostRegister;
    table->MemHostUnregister = sim_MemHostUnregister;
    table->MemHostGetDevicePointer = sim_MemHostGetDevicePointer;
    table->MemAllocManaged = sim_MemAllocManaged;
    table->MemPrefetchAsync = sim_MemPrefetchAsync;
    table->MemAdvise = sim_MemAdvise;
    table->PointerGetAttributes = sim_PointerGetAttributes;
}
