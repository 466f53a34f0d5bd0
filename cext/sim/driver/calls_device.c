/* sim/driver/calls_device: implements the driver calls for devices, their attributes and
 * contexts. */
#include "sim/driver/calls.h"

#include <stdio.h>
#include <string.h>
#include "base/lock.h"
#include "sim/driver/primary.h"
#include "sim/driver/stream.h"
#include "sim/engine/heap.h"
#include "sim/engine/job.h"
#include "sim/engine/limits.h"
#include "sim/engine/memory.h"
#include "sim/engine/ops.h"
#include "sim/engine/worker.h"

#define REQUIRE_DEVICE(device) \
    do { \
        if (!nl_sim_call_has_device(device)) \
            return CUDA_ERROR_INVALID_DEVICE; \
    } while (0)

static CUresult sim_DeviceGetCount(int *count) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(count);
    *count = nl_sim_context_count();
    return CUDA_SUCCESS;
}

static CUresult sim_DeviceGet(CUdevice *device, int ordinal) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(device);
    REQUIRE_DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult sim_DeviceGetName(char *name, int size, CUdevice device) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(name && size > 0);
    REQUIRE_DEVICE(device);
    snprintf(name, (size_t)size, "numbalite CPU simulator");
    return CUDA_SUCCESS;
}

static CUresult sim_DeviceGetUuid(CUuuid *uuid, CUdevice device) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(uuid);
    REQUIRE_DEVICE(device);
    memcpy(uuid->bytes, "numbalite sim ", 14);
    uuid->bytes[14] = (char)(device >> 8);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

static CUresult sim_DeviceTotalMem(size_t *bytes, CUdevice device) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(bytes);
    REQUIRE_DEVICE(device);
    *bytes = nl_sim_memory_total_size();
    return CUDA_SUCCESS;
}

static CUresult sim_DeviceGetPCIBusId(char *text, int size, CUdevice device) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(text && size > 0);
    REQUIRE_DEVICE(device);
    snprintf(text, (size_t)size, "0000:%02X:00.0", device + 1);
    return CUDA_SUCCESS;
}

static CUresult sim_DeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(can);
    REQUIRE_DEVICE(device);
    REQUIRE_DEVICE(peer);
    *can = device != peer;
    return CUDA_SUCCESS;
}

/* The values of device attributes, by CUdevice_attribute number. Attributes that are not listed are
 * 0: unsupported features. */
static const struct {
    short attribute;
    int value;
} attributes[] = {
    {1, NL_SIM_BLOCK_THREADS},
    {2, NL_SIM_BLOCK_X},
    {3, NL_SIM_BLOCK_Y},
    {4, NL_SIM_BLOCK_Z},
    {5, NL_SIM_GRID_X},
    {6, NL_SIM_GRID_Y},
    {7, NL_SIM_GRID_Z},
    {8, NL_SIM_SHARED_DEFAULT},
    {9, NL_SIM_CONSTANT},
    {10, 32},         /* warp size */
    {11, 2147483647}, /* pitch */
    {12, NL_SIM_REGISTERS},
    {13, 1980000}, /* clock, kHz */
    {14, 512},     /* texture alignment */
    {15, 1},       /* overlap of copies and kernels */
    {19, 1},       /* host memory can be mapped to the device */
    /* textures: 1-D, 2-D, 3-D, layered */
    {21, 131072},
    {22, 131072},
    {23, 65536},
    {24, 16384},
    {25, 16384},
    {26, 16384},
    {27, 32768},
    {28, 32768},
    {29, 2048},
    {30, 512},     /* surface alignment */
    {31, 1},       /* concurrent kernels */
    {36, 2619000}, /* memory clock, kHz */
    {37, 5120},    /* bus width */
    {38, NL_SIM_L2},
    {39, NL_SIM_SM_THREADS},
    {40, 3}, /* copy engines */
    {41, 1}, /* unified addressing */
    {42, 32768},
    {43, 2048},
    {45, 32768},
    {46, 32768},
    {47, 8192},
    {48, 8192},
    {49, 32768},
    {51, 32}, /* texture pitch alignment */
    {52, 32768},
    {53, 32768},
    {54, 2046},
    /* surfaces */
    {55, 32768},
    {56, 131072},
    {57, 65536},
    {58, 16384},
    {59, 16384},
    {60, 16384},
    {61, 32768},
    {62, 2048},
    {63, 32768},
    {64, 32768},
    {65, 2048},
    {66, 32768},
    {67, 32768},
    {68, 2046},
    {69, 268435456},
    {70, 131072},
    {71, 65000},
    {72, 2097120},
    {73, 32768},
    {74, 32768},
    {75, NL_SIM_COMPUTE_MAJOR},
    {76, NL_SIM_COMPUTE_MINOR},
    {77, 32768},
    {78, 1}, /* stream priorities */
    {79, 1}, /* L1 for globals */
    {80, 1}, /* L1 for locals */
    {81, NL_SIM_SHARED_PER_SM},
    {82, NL_SIM_REGISTERS},
    {83, 1},  /* managed memory */
    {87, 2},  /* single to double performance */
    {89, 1},  /* concurrent managed access */
    {90, 1},  /* preemption */
    {91, 1},  /* registered memory has the same address on the device */
    {95, 1},  /* cooperative launch */
    {120, 1}, /* clusters */
    {97, NL_SIM_SHARED_OPTIN},
    {99, 1}, /* host memory can be registered */
    {106, NL_SIM_SM_BLOCKS},
    {111, NL_SIM_SHARED_RESERVED},
    {115, 1},  /* memory pools */
    {131, -1}, /* NUMA node */
    {134, -1}, /* of the host */
};
enum { ATTRIBUTE_MULTIPROCESSORS = 16, ATTRIBUTE_PCI_BUS = 33, ATTRIBUTES_END = 160 };

static CUresult sim_DeviceGetAttribute(int *value, int attribute, CUdevice device) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(value && attribute > 0 && attribute < ATTRIBUTES_END);
    REQUIRE_DEVICE(device);
    *value = 0;
    if (attribute == ATTRIBUTE_MULTIPROCESSORS)
        *value = (int)nl_sim_worker_limit();
    else if (attribute == ATTRIBUTE_PCI_BUS)
        *value = device + 1;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].attribute == attribute)
            *value = attributes[i].value;
    }
    return CUDA_SUCCESS;
}

/* Contexts */

/* The calls that retain, release and reset a primary context do not use the current context, so
 * they are not counted as calls in progress in the current context. */

static CUresult sim_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    NL_SIM_CHECK(nl_sim_call_state());
    NL_SIM_REQUIRE(context);
    REQUIRE_DEVICE(device);
    return nl_sim_primary_retain(device, (nl_sim_context **)context);
}

static CUresult sim_DevicePrimaryCtxRelease(CUdevice device) {
    NL_SIM_CHECK(nl_sim_call_state());
    REQUIRE_DEVICE(device);
    return nl_sim_primary_release(device);
}

static CUresult sim_DevicePrimaryCtxReset(CUdevice device) {
    NL_SIM_CHECK(nl_sim_call_state());
    REQUIRE_DEVICE(device);
    nl_sim_primary_reset(nl_sim_context_at(device));
    nl_sim_ops_flush_output();
    return CUDA_SUCCESS;
}

static CUresult sim_DevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(flags && active);
    REQUIRE_DEVICE(device);
    *flags = 0;
    *active = nl_atomic_load(&nl_sim_context_at(device)->retained) != 0;
    return CUDA_SUCCESS;
}

static CUresult sim_CtxGetCurrent(CUcontext *context) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(context);
    *context = (CUcontext)nl_sim_context_current();
    return CUDA_SUCCESS;
}

static CUresult sim_CtxSetCurrent(CUcontext context) {
    NL_SIM_BEGIN();
    if (context && !nl_sim_context_is_handle(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    nl_sim_context_set_current((nl_sim_context *)context);
    return CUDA_SUCCESS;
}

static CUresult sim_CtxSynchronize(void) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_CHECK(nl_sim_capture_refuse_context(context));
    nl_sim_stream_wait_for_context(context);
    nl_sim_ops_flush_output();
    return nl_sim_stream_report_fault(context, NULL);
}

static CUresult sim_CtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    static uint64_t enabled[NL_SIM_MAX_DEVICES];
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(flags == 0);
    if (!nl_sim_context_is_handle(peer) || (nl_sim_context *)peer == context)
        return CUDA_ERROR_INVALID_CONTEXT;
    uint64_t bit = UINT64_C(1) << ((nl_sim_context *)peer)->device;
    uint64_t before = nl_atomic_or(&enabled[context->device], bit);
    return before & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

static CUresult sim_CtxGetStreamPriorityRange(int *least, int *greatest) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

static CUresult sim_CtxGetLimit(size_t *value, int limit) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(value);
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        *value = context->stack_limit;
        return CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        *value = context->printf_limit;
        return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        *value = nl_sim_heap_size();
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult sim_CtxSetLimit(int limit, size_t value) {
    const size_t most_stack = (size_t)256 << 20;
    NL_SIM_BEGIN_IN(context);
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        NL_SIM_REQUIRE(value > 0 && value <= most_stack);
        nl_sim_stream_wait_for_context(context);
        context->stack_limit = (value + 15) / 16 * 16;
        return CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        context->printf_limit = value;
        return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        return nl_sim_heap_set_size(value) < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

void nl_sim_calls_device_fill(nl_driver *table) {
    table->DeviceGetCount = sim_DeviceGetCount;
    table->DeviceGet = sim_DeviceGet;
    table->DeviceGetName = sim_DeviceGetName;
    table->DeviceGetUuid = sim_DeviceGetUuid;
    table->DeviceTotalMem = sim_DeviceTotalMem;
    table->DeviceGetAttribute = sim_DeviceGetAttribute;
    table->DeviceGetPCIBusId = sim_DeviceGetPCIBusId;
    table->DeviceCanAccessPeer = sim_DeviceCanAccessPeer;
    table->DevicePrimaryCtxRetain = sim_DevicePrimaryCtxRetain;
    table->DevicePrimaryCtxRelease = sim_DevicePrimaryCtxRelease;
    table->DevicePrimaryCtxReset = sim_DevicePrimaryCtxReset;
    table->DevicePrimaryCtxGetState = sim_DevicePrimaryCtxGetState;
    table->CtxGetCurrent = sim_CtxGetCurrent;
    table->CtxSetCurrent = sim_CtxSetCurrent;
    table->CtxSynchronize = sim_CtxSynchronize;
    table->CtxEnablePeerAccess = sim_CtxEnablePeerAccess;
    table->CtxGetStreamPriorityRange = sim_CtxGetStreamPriorityRange;
    table->CtxGetLimit = sim_CtxGetLimit;
    table->CtxSetLimit = sim_CtxSetLimit;
}
