/* core/scanplan: how a scan is divided among threads. Arithmetic on shapes, strides and alignment,
 * and for long rows on how many blocks can have a pipeline; equal calls give equal plans. The
 * kernels are cuda_src/numbalite/scan.cuh and pipelined_scan.cuh. */
#ifndef NL_CORE_SCANPLAN_H
#define NL_CORE_SCANPLAN_H

#include "core/reducelaunch.h"

/* A scan of an array along one axis, into an output of its shape. */
typedef struct nl_scan_request {
    int64_t stored, accumulator, result; /* itemsizes */
    int64_t input, output;               /* addresses, modulo 16 */
    int ndim, axis;
    const int64_t *shape, *strides, *output_strides;
    int serial;          /* the threads of a block run one after another */
    int64_t pipelines;   /* so many blocks can have a pipeline; 0: the device has none */
    const void *initial; /* a number, or NULL */
    size_t initial_size; /* its bytes, at most `accumulator` */
} nl_scan_request;

/* A limit, or a fact about the devices, by its name in scanplan.c; NULL for an unknown one. */
int64_t *nl_scanplan_limit(const char *name);
int64_t nl_scanplan_pipelines(void);

/* Bytes of storage that suffice for the plan of a scan. */
size_t nl_scanplan_storage(int64_t accumulator);

/* The launches of a scan. No axis is empty. The caller sets the storage of the plan. */
void nl_scanplan_make(const nl_scan_request *request, nl_reduce_plan *plan);

#endif
