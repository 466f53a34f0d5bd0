/* sim/driver/calls_module: implements the driver calls for modules, functions and their attributes,
 * and occupancy. */
#include "sim/driver/calls.h"

#include "base/lock.h"
#include "sim/driver/function.h"
#include "sim/driver/handle.h"
#include "sim/driver/module.h"
#include "sim/driver/stream.h"
#include "sim/engine/limits.h"
#include "sim/engine/worker.h"

/* Finds the log buffer and its size in the options. */
static void find_log_buffer(unsigned count, const int *options, void **values, char **log,
                            size_t *size) {
    *log = NULL;
    *size = 0;
    for (unsigned i = 0; i < count && options && values; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            *log = values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            *size = (size_t)(uintptr_t)values[i];
    }
    if (!*log)
        *size = 0;
}

static CUresult sim_ModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                     int *options, void **values) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(module && image);
    char *log;
    size_t size;
    find_log_buffer(count, options, values, &log, &size);
    return nl_sim_module_load(context, image, (nl_sim_module **)module, log, size);
}

static nl_sim_module *find_module(CUmodule module) {
    return nl_sim_handle_is_registered(NL_SIM_HANDLE_MODULE, module) ? (nl_sim_module *)module
                                                                     : NULL;
}

static CUresult sim_ModuleUnload(CUmodule handle) {
    NL_SIM_BEGIN();
    if (!nl_sim_handle_remove(NL_SIM_HANDLE_MODULE, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_module *module = (nl_sim_module *)handle;
    nl_sim_stream_wait_for_context(nl_sim_module_context(module));
    nl_sim_module_destroy(module);
    return CUDA_SUCCESS;
}

static CUresult sim_ModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    NL_SIM_REQUIRE(function && name);
    nl_sim_module *module = find_module(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    return nl_sim_module_function(module, name, (nl_sim_function **)function);
}

static CUresult sim_ModuleGetGlobal(CUdeviceptr *pointer, size_t *size, CUmodule handle,
                                    const char *name) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    NL_SIM_REQUIRE(name);
    nl_sim_module *module = find_module(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    void *address;
    size_t bytes;
    CUresult status = nl_sim_module_global(module, name, &address, &bytes);
    if (status != CUDA_SUCCESS)
        return status;
    if (pointer)
        *pointer = (CUdeviceptr)(uintptr_t)address;
    if (size)
        *size = bytes;
    return CUDA_SUCCESS;
}

nl_sim_function *nl_sim_calls_module_function(CUfunction function) {
    return nl_sim_handle_is_registered(NL_SIM_HANDLE_FUNCTION, function)
               ? (nl_sim_function *)function
               : NULL;
}

static CUresult sim_FuncGetAttribute(int *value, int attribute, CUfunction handle) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(value);
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = nl_sim_module_max_threads(function);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = function->static_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = NL_SIM_KERNEL_REGISTERS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = NL_SIM_COMPUTE_MAJOR * 10 + NL_SIM_COMPUTE_MINOR;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)nl_atomic_load32_relaxed((uint32_t *)&function->max_dynamic_shared);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = (int)nl_atomic_load32_relaxed((uint32_t *)&function->carveout);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        *value = (int)function->kernel->cluster.x;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        *value = (int)function->kernel->cluster.y;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = (int)function->kernel->cluster.z;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = (int)nl_atomic_load32_relaxed((uint32_t *)&function->any_cluster);
        return CUDA_SUCCESS;
    default: /* has no effect: cache mode and cluster scheduling policy */
        NL_SIM_REQUIRE(attribute > 0 && attribute < 16);
        *value = 0;
        return CUDA_SUCCESS;
    }
}

static CUresult sim_FuncSetAttribute(CUfunction handle, int attribute, int value) {
    NL_SIM_BEGIN();
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        NL_SIM_REQUIRE(value >= 0 && value <= NL_SIM_SHARED_OPTIN - function->static_shared);
        nl_atomic_store32_relaxed((uint32_t *)&function->max_dynamic_shared, (uint32_t)value);
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        nl_atomic_store32_relaxed((uint32_t *)&function->any_cluster, value != 0);
        return CUDA_SUCCESS;
    }
    NL_SIM_REQUIRE(attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    NL_SIM_REQUIRE(value >= -1 && value <= 100);
    nl_atomic_store32_relaxed((uint32_t *)&function->carveout, (uint32_t)value);
    return CUDA_SUCCESS;
}

static CUresult sim_FuncGetParamInfo(CUfunction handle, size_t index, size_t *offset,
                                     size_t *size) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(offset);
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    NL_SIM_REQUIRE(index < function->kernel->param_count);
    size_t at = 0;
    for (size_t i = 0;; i++) {
        const nl_sim_param *p = &function->kernel->params[i];
        at = (at + p->align - 1) / p->align * p->align;
        if (i == index) {
            *offset = at;
            if (size)
                *size = p->size;
            return CUDA_SUCCESS;
        }
        at += p->size;
    }
}

static CUresult sim_FuncGetName(const char **name, CUfunction handle) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(name);
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = function->kernel->name;
    return CUDA_SUCCESS;
}

static CUresult sim_FuncGetParamCount(CUfunction handle, size_t *count) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(count);
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *count = function->kernel->param_count;
    return CUDA_SUCCESS;
}

/* Occupancy */

int nl_sim_calls_module_occupancy(const nl_sim_function *function, int threads, size_t dynamic) {
    size_t shared = (size_t)function->static_shared + dynamic;
    int warps = (threads + 31) / 32, blocks = NL_SIM_SM_BLOCKS;
    if (shared > NL_SIM_SHARED_OPTIN)
        return 0;
    if (blocks > NL_SIM_SM_THREADS / (warps * 32))
        blocks = NL_SIM_SM_THREADS / (warps * 32);
    if (blocks > NL_SIM_REGISTERS / (NL_SIM_KERNEL_REGISTERS * warps * 32))
        blocks = NL_SIM_REGISTERS / (NL_SIM_KERNEL_REGISTERS * warps * 32);
    int fit = (int)(NL_SIM_SHARED_PER_SM / (shared + NL_SIM_SHARED_RESERVED));
    return blocks < fit ? blocks : fit;
}

static CUresult sim_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle,
                                                              int block_size, size_t shared) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(blocks && block_size > 0);
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *blocks = block_size > NL_SIM_BLOCK_THREADS /* occupancy ignores launch bounds, as on a GPU */
                  ? 0
                  : nl_sim_calls_module_occupancy(function, block_size, shared);
    return CUDA_SUCCESS;
}

static CUresult sim_OccupancyMaxPotentialBlockSize(int *min_grid, int *block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of_block,
                                                   size_t shared, int limit) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(min_grid && block && limit >= 0);
    nl_sim_function *function = nl_sim_calls_module_function(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    int bound = nl_sim_module_max_threads(function);
    int most = limit == 0 || limit > bound ? bound : limit;
    int best = 0, best_size = 0, best_blocks = 0;
    for (int size = most; size > 0; size = (size - 1) / 32 * 32) {
        size_t dynamic = shared_of_block ? shared_of_block(size) : shared;
        int blocks = nl_sim_calls_module_occupancy(function, size, dynamic);
        if (blocks * size > best) {
            best = blocks * size;
            best_size = size;
            best_blocks = blocks;
        }
    }
    *block = best_size;
    *min_grid = best_blocks * (int)nl_sim_worker_limit();
    return CUDA_SUCCESS;
}

void nl_sim_calls_module_fill(nl_driver *table) {
    table->ModuleLoadDataEx = sim_ModuleLoadDataEx;
    table->ModuleUnload = sim_ModuleUnload;
    table->ModuleGetFunction = sim_ModuleGetFunction;
    table->ModuleGetGlobal = sim_ModuleGetGlobal;
    table->FuncGetAttribute = sim_FuncGetAttribute;
    table->FuncSetAttribute = sim_FuncSetAttribute;
    table->FuncGetParamInfo = sim_FuncGetParamInfo;
    table->FuncGetName = sim_FuncGetName;
    table->FuncGetParamCount = sim_FuncGetParamCount;
    table->OccupancyMaxActiveBlocksPerMultiprocessor =
        sim_OccupancyMaxActiveBlocksPerMultiprocessor;
    table->OccupancyMaxPotentialBlockSize = sim_OccupancyMaxPotentialBlockSize;
}
