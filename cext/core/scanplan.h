/* core/scanplan: plans how a scan is divided among threads. The plan depends only on shapes,
 * strides, alignment and the limits of core/reducelimit, so that equal calls have equal plans. The
 * kernels are in cuda_src/numbalite/scan.cuh and pipelined_scan.cuh. */
#ifndef NL_CORE_SCANPLAN_H
#define NL_CORE_SCANPLAN_H

#include "core/reducelaunch.h"

/* A scan of an array along one axis, with an output of the same shape. */
typedef struct nl_scan_request {
    int64_t stored, accumulator, result; /* itemsizes */
    int64_t input, output;               /* addresses, modulo 16 */
    int ndim, axis;
    const int64_t *shape, *strides, *output_strides;
    const void *initial; /* the initial value, or NULL */
    size_t initial_size; /* its bytes, at most `accumulator` */
} nl_scan_request;

/* Returns the size in bytes of the storage for the plan of a scan. */
size_t nl_scanplan_storage_size(int64_t accumulator);

/* Plans the launches of a scan. No axis may be empty. The caller must set plan->storage. */
void nl_scanplan_make(const nl_scan_request *request, nl_reduce_plan *plan);

#endif
