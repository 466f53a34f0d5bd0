/* core/kernel: makes the driver queries that are needed once per kernel. The computed parameter
 * offsets are compared with the driver's offsets, which are available since CUDA 12.4: with wrong
 * parameter descriptions, every launch would pass wrong arguments. */
#include "core/kernel.h"

#include <string.h>
#include "base/mem.h"

/* Sets *count to the number of parameters of the compiled kernel, or to the number of described
 * parameters plus one if there are more. A driver before CUDA 13.2 has no call that returns the
 * number of parameters, and the query for a parameter that does not exist is an error that
 * compute-sanitizer shows to users. So the driver is queried for the number of parameters only if
 * the user supplied the description (`claimed`), not if it was read from the compiled code. */
static int count_params(const nl_kernel *k, int claimed, size_t *count, nl_error *err) {
    size_t offset, size, described = (size_t)k->params.count;
    CUresult status = nl_cu.FuncGetParamCount(k->handle, count);
    if (status != CUDA_ERROR_NOT_SUPPORTED && status != CUDA_ERROR_NOT_FOUND)
        return nl_driver_check(status, "cuFuncGetParamCount", err);
    *count = described;
    if (claimed)
        *count += nl_cu.FuncGetParamInfo(k->handle, described, &offset, &size) == CUDA_SUCCESS;
    return 0;
}

static int check_against_driver(nl_kernel *k, int claimed, nl_error *err) {
    size_t offset, size, count;
    if (k->params.count < 0)
        return 0;
    if (count_params(k, claimed, &count, err) < 0)
        return -1;
    for (int i = 0; i < k->params.count; i++) {
        CUresult status = CUDA_ERROR_INVALID_VALUE;
        if ((size_t)i < count)
            status = nl_cu.FuncGetParamInfo(k->handle, (size_t)i, &offset, &size);
        if (status == CUDA_ERROR_NOT_SUPPORTED || status == CUDA_ERROR_NOT_FOUND)
            return 0;
        if (status != CUDA_SUCCESS && status != CUDA_ERROR_INVALID_VALUE)
            return nl_driver_check(status, "cuFuncGetParamInfo", err);
        const nl_param *p = &k->params.items[i];
        if (status != CUDA_SUCCESS || offset != p->offset || size != p->size)
            return nl_error_set(
                err, NL_ERR_RUNTIME,
                "%s: the description of parameter %d '%s' (%s) differs from the compiled kernel",
                k->name, i + 1, p->name, p->ctype);
    }
    if (count > (size_t)k->params.count)
        return nl_error_set(err, NL_ERR_RUNTIME,
                            "%s: the compiled kernel has more than %d parameters", k->name,
                            k->params.count);
    return 0;
}

/* Reads the kernel's attribute __cluster_dims__. A driver without support for clusters rejects the
 * cluster attributes. */
static int read_cluster(nl_kernel *k, nl_error *err) {
    for (int i = 0; i < 3 && (i == 0 || k->cluster[0]); i++) {
        int attribute = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i;
        CUresult status = nl_cu.FuncGetAttribute(&k->cluster[i], attribute, k->handle);
        if (status == CUDA_ERROR_INVALID_VALUE || status == CUDA_ERROR_NOT_SUPPORTED)
            k->cluster[i] = 0;
        else if (nl_driver_check(status, "cuFuncGetAttribute", err) < 0)
            return -1;
    }
    return 0;
}

static int read_kernel_attributes(nl_kernel *k, nl_error *err) {
    const struct {
        int attribute, *value;
    } limits[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &k->max_threads},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &k->static_shared},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &k->registers},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &k->dynamic_shared},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (NL_CU(err, FuncGetAttribute, limits[i].value, limits[i].attribute, k->handle) < 0)
            return -1;
    return read_cluster(k, err);
}

int nl_kernel_create(nl_module *module, const char *lowered, const char *name, nl_params *params,
                     int claimed, nl_kernel **out, nl_error *err) {
    nl_kernel *k = nl_mem_zalloc(sizeof *k, err);
    if (!k)
        return -1;
    nl_mutex_init(&k->lock);
    nl_module_retain(module);
    k->module = module;
    k->name = nl_mem_strdup(name, err);
    k->params = *params;
    if (!k->name || nl_device_bind(module->device, err) < 0 ||
        nl_module_find_function(module, lowered, &k->handle, err) < 0 ||
        read_kernel_attributes(k, err) < 0 || check_against_driver(k, claimed, err) < 0) {
        /* after a failure, the caller still owns the contents of `params` */
        memset(&k->params, 0, sizeof k->params);
        nl_kernel_destroy(k);
        return -1;
    }
    memset(params, 0, sizeof *params);
    *out = k;
    return 0;
}

void nl_kernel_destroy(nl_kernel *k) {
    if (!k)
        return;
    nl_params_clear(&k->params);
    nl_mem_free(k->name);
    nl_module_release(k->module);
    nl_mutex_destroy(&k->lock);
    nl_mem_free(k);
}

/* Checks that the kernel's device was not reset, and binds the device. */
static int bind_kernel_device(nl_kernel *k, nl_error *err) {
    if (nl_device_check_generation(k->module->device, k->module->generation, err) < 0)
        return -1;
    return nl_device_bind(k->module->device, err);
}

int nl_kernel_attribute(nl_kernel *k, int attribute, int *value, nl_error *err) {
    if (bind_kernel_device(k, err) < 0)
        return -1;
    return NL_CU(err, FuncGetAttribute, value, attribute, k->handle);
}

int nl_kernel_set_attribute(nl_kernel *k, int attribute, int value, nl_error *err) {
    if (bind_kernel_device(k, err) < 0)
        return -1;
    nl_mutex_lock(&k->lock);
    int result = NL_CU(err, FuncSetAttribute, k->handle, attribute, value);
    if (result == 0 && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        k->dynamic_shared = value;
    nl_mutex_unlock(&k->lock);
    return result;
}

int nl_kernel_allow_shared(nl_kernel *k, int bytes, nl_error *err) {
    int result = 0;
    nl_mutex_lock(&k->lock);
    if (bytes > k->dynamic_shared) {
        result = NL_CU(err, FuncSetAttribute, k->handle,
                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
        if (result == 0)
            k->dynamic_shared = bytes;
    }
    nl_mutex_unlock(&k->lock);
    return result;
}

/* Opts in to `shared` bytes of dynamic shared memory before an occupancy query. Without opt-in, the
 * driver returns 0 blocks for more than 48 KiB, although a launch, which opts in, would succeed. */
static int opt_in_to_shared_memory(nl_kernel *k, size_t shared, nl_error *err) {
    if (shared + (size_t)k->static_shared > (size_t)nl_device_shared_limit(k->module->device))
        return 0; /* beyond the limit, the driver's query reports 0 blocks */
    return nl_kernel_allow_shared(k, (int)shared, err);
}

int nl_kernel_occupancy(nl_kernel *k, int block, size_t shared, int *blocks, nl_error *err) {
    if (bind_kernel_device(k, err) < 0 || opt_in_to_shared_memory(k, shared, err) < 0)
        return -1;
    return NL_CU(err, OccupancyMaxActiveBlocksPerMultiprocessor, blocks, k->handle, block, shared);
}

int nl_kernel_best_block(nl_kernel *k, size_t shared, int *min_grid, int *block, nl_error *err) {
    if (bind_kernel_device(k, err) < 0 || opt_in_to_shared_memory(k, shared, err) < 0)
        return -1;
    return NL_CU(err, OccupancyMaxPotentialBlockSize, min_grid, block, k->handle, NULL, shared, 0);
}
