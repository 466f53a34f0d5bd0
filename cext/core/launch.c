/* core/launch: checks the limits of a launch. If a launch exceeds a limit, the driver returns only
 * "invalid value"; the messages of this file contain the value and the limit. The checks run once
 * for each combination of kernel and launch shape. */
#include "core/launch.h"

#include <string.h>
#include "core/stop.h"

static const char axes[] = "xyz";

static int check_block(const nl_launch *l, const nl_device *dev, const char *name, nl_error *err) {
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (l->block[i] == 0)
            return nl_error_set(err, NL_ERR_VALUE,
                                "%s(): block dimension %c is 0; it must be at least 1", name,
                                axes[i]);
        if (l->block[i] > (unsigned)dev->max_block[i])
            return nl_error_set(
                err, NL_ERR_VALUE,
                "%s(): block dimension %c is %u, more than this device's limit of %d", name,
                axes[i], l->block[i], dev->max_block[i]);
        threads *= l->block[i];
    }
    if (threads > (uint64_t)dev->max_threads_per_block)
        return nl_error_set(err, NL_ERR_VALUE,
                            "%s(): a block of (%u, %u, %u) has %llu threads, "
                            "more than this device's limit of %d threads per block",
                            name, l->block[0], l->block[1], l->block[2],
                            (unsigned long long)threads, dev->max_threads_per_block);
    return 0;
}

static int check_grid_divisible_by_cluster(const nl_launch *l, const unsigned *cluster,
                                           const char *name, nl_error *err) {
    for (int i = 0; i < 3; i++) {
        if (cluster[i] && l->grid[i] % cluster[i])
            return nl_error_set(
                err, NL_ERR_VALUE,
                "%s(): grid dimension %c is %u, which is not a multiple of the cluster's %u", name,
                axes[i], l->grid[i], cluster[i]);
    }
    return 0;
}

static int check_grid(const nl_launch *l, const nl_device *dev, const char *name, nl_error *err) {
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] == 0)
            return nl_error_set(err, NL_ERR_VALUE,
                                "%s(): grid dimension %c is 0; it must be at least 1", name,
                                axes[i]);
        if (l->grid[i] > (unsigned)dev->max_grid[i])
            return nl_error_set(
                err, NL_ERR_VALUE,
                "%s(): grid dimension %c is %u, more than this device's limit of %d", name, axes[i],
                l->grid[i], dev->max_grid[i]);
    }
    return check_grid_divisible_by_cluster(l, l->cluster, name, err);
}

int nl_launch_check(const nl_launch *l, const nl_device *dev, const char *name, nl_error *err) {
    if (check_block(l, dev, name, err) < 0 || check_grid(l, dev, name, err) < 0)
        return -1;
    if ((int64_t)l->shared > nl_device_shared_limit(dev))
        return nl_error_set(err, NL_ERR_VALUE,
                            "%s(): %u bytes of dynamic shared memory per block "
                            "are more than this device's limit of %d bytes",
                            name, l->shared, nl_device_shared_limit(dev));
    return 0;
}

static int check_threads(const nl_launch *l, const nl_kernel *k, nl_error *err) {
    unsigned threads = l->block[0] * l->block[1] * l->block[2];
    if (k->max_threads <= 0 || threads <= (unsigned)k->max_threads)
        return 0;
    return nl_error_set(
        err, NL_ERR_VALUE,
        "%s(): a block of (%u, %u, %u) has %u threads, "
        "more than this kernel's limit of %d threads per block "
        "(it uses %d registers per thread; launch bounds and max_registers change that)",
        k->name, l->block[0], l->block[1], l->block[2], threads, k->max_threads, k->registers);
}

static int prepare_shared(const nl_launch *l, nl_kernel *k, nl_error *err) {
    int limit = nl_device_shared_limit(k->module->device);
    if ((int64_t)l->shared + k->static_shared > limit)
        return nl_error_set(
            err, NL_ERR_VALUE,
            "%s(): %u bytes of dynamic and %d bytes of static shared memory per block "
            "are more than this device's limit of %d bytes",
            k->name, l->shared, k->static_shared, limit);
    return nl_kernel_allow_shared(k, (int)l->shared, err);
}

static int check_cooperative(const nl_launch *l, nl_kernel *k, nl_error *err) {
    const nl_device *dev = k->module->device;
    if (!dev->can_cooperate)
        return nl_error_set(err, NL_ERR_VALUE,
                            "%s(): this device does not support cooperative launches", k->name);
    int per_processor;
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    int threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    if (nl_kernel_occupancy(k, threads, l->shared, &per_processor, err) < 0)
        return -1;
    uint64_t limit = (uint64_t)per_processor * (uint64_t)dev->multiprocessors;
    if (blocks > limit)
        return nl_error_set(
            err, NL_ERR_VALUE,
            "%s(): a cooperative grid of %llu blocks "
            "is more than this device's limit of %llu blocks of %d threads at a time",
            k->name, (unsigned long long)blocks, (unsigned long long)limit, threads);
    return 0;
}

enum { PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16 }; /* blocks */

/* Checks the cluster sizes of the kernel and of the launch, and permits sizes that not every device
 * supports. */
static int check_cluster(const nl_launch *l, nl_kernel *k, nl_error *err) {
    unsigned own[3] = {(unsigned)k->cluster[0], (unsigned)k->cluster[1], (unsigned)k->cluster[2]};
    if (own[0] && l->cluster[0] && memcmp(own, l->cluster, sizeof own) != 0)
        return nl_error_set(err, NL_ERR_VALUE,
                            "%s(): cluster= is (%u, %u, %u), "
                            "but the kernel's __cluster_dims__ are (%u, %u, %u)",
                            k->name, l->cluster[0], l->cluster[1], l->cluster[2], own[0], own[1],
                            own[2]);
    uint64_t blocks = (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (blocks > LARGEST_CLUSTER)
        return nl_error_set(err, NL_ERR_VALUE,
                            "%s(): a cluster of (%u, %u, %u) has %llu blocks, "
                            "more than the limit of %d",
                            k->name, l->cluster[0], l->cluster[1], l->cluster[2],
                            (unsigned long long)blocks, LARGEST_CLUSTER);
    if (blocks > PORTABLE_CLUSTER &&
        NL_CU(err, FuncSetAttribute, k->handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
              1) < 0)
        return -1;
    return check_grid_divisible_by_cluster(l, own, k->name, err);
}

int nl_launch_prepare(const nl_launch *l, nl_kernel *k, nl_error *err) {
    if (nl_launch_check(l, k->module->device, k->name, err) < 0 || check_threads(l, k, err) < 0 ||
        prepare_shared(l, k, err) < 0 || check_cluster(l, k, err) < 0)
        return -1;
    return l->cooperative ? check_cooperative(l, k, err) : 0;
}

/* Cooperative launches and launches with clusters use cuLaunchKernelEx. For drivers older than CUDA
 * 11.6, cooperative launches use cuLaunchCooperativeKernel. */
static CUresult launch_with_attributes(const nl_launch *l, nl_kernel *k, void **values,
                                       const char **call) {
    CUlaunchAttribute attributes[2] = {0};
    CUlaunchConfig config = {
        .gridDimX = l->grid[0],
        .gridDimY = l->grid[1],
        .gridDimZ = l->grid[2],
        .blockDimX = l->block[0],
        .blockDimY = l->block[1],
        .blockDimZ = l->block[2],
        .sharedMemBytes = l->shared,
        .hStream = l->stream,
        .attrs = attributes,
    };
    if (l->cooperative) {
        CUlaunchAttribute *a = &attributes[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        a->value.cooperative = 1;
    }
    if (l->cluster[0]) {
        CUlaunchAttribute *a = &attributes[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        a->value.clusterDim.x = l->cluster[0];
        a->value.clusterDim.y = l->cluster[1];
        a->value.clusterDim.z = l->cluster[2];
    }
    *call = "cuLaunchKernelEx";
    CUresult status = nl_cu.LaunchKernelEx(&config, k->handle, values, NULL);
    if (status == CUDA_ERROR_NOT_SUPPORTED && !l->cluster[0]) {
        *call = "cuLaunchCooperativeKernel";
        status = nl_cu.LaunchCooperativeKernel(k->handle, l->grid[0], l->grid[1], l->grid[2],
                                               l->block[0], l->block[1], l->block[2], l->shared,
                                               l->stream, values);
    }
    return status;
}

int nl_launch_run(const nl_launch *l, nl_kernel *k, void **values, nl_error *err) {
    const char *call = "cuLaunchKernel";
    CUresult status;
    if (k->module->stop != NULL)
        nl_stop_record_launch(k->module->stop, k->name, &k->params);
    if (__builtin_expect(l->cooperative || l->cluster[0], 0))
        status = launch_with_attributes(l, k, values, &call);
    else
        status = nl_cu.LaunchKernel(k->handle, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                    l->block[1], l->block[2], l->shared, l->stream, values, NULL);
    if (__builtin_expect(status == CUDA_SUCCESS, 1))
        return 0;
    nl_driver_check(status, call, err);
    nl_error_prefix(err, "%s()", k->name);
    return -1;
}
