/* core/reduceplan: how a reduction is divided among threads. Arithmetic on shapes, strides and
 * alignment; equal calls give equal plans, and therefore equal bits. The kernels are
 * cuda_src/numbalite/reduce.cuh, short_axes.cuh and staged_columns.cuh. */
#ifndef NL_CORE_REDUCEPLAN_H
#define NL_CORE_REDUCEPLAN_H

#include <stddef.h>
#include <stdint.h>
#include "core/reducelaunch.h"

/* What the reduced array is, and how it may be reduced. */
typedef struct nl_reduce_traits {
    int64_t itemsize;    /* of an element as it is stored */
    int64_t accumulator; /* bytes of a number as it is reduced; 0 where no kind for columns may be
                            chosen */
    int64_t address;     /* of the first element, modulo 16 */
    int masked;
    int any_order; /* elements may be combined in any order */
    int serial;    /* the threads of a block run one after another */
} nl_reduce_traits;

nl_reduce_schedule nl_reduceplan_schedule(const nl_reduce_dims *kept, const nl_reduce_dims *reduced,
                                          const nl_reduce_traits *traits);
/* How many lanes reduce a row of so many elements, `width` of which are one access; 32: a warp. */
int nl_reduceplan_lanes(int64_t length, int64_t width, int64_t accumulator, int64_t results);
/* How many elements a part has, where each result is reduced from `rows` with gaps between them; 0
 * where rows are short or cannot be divided into equal parts. */
int64_t nl_reduceplan_row_part(int64_t rows, int64_t row, int64_t itemsize, int64_t results,
                               int any_order);
int64_t nl_reduceplan_grid(const nl_reduce_schedule *schedule, int64_t results);

/* A reduction of an array: axes of which the bit is set in `axes` are reduced. */
typedef struct nl_reduce_request {
    nl_reduce_traits traits;
    int ndim;
    const int64_t *shape, *strides;
    const int64_t *where; /* strides of the mask, or NULL */
    uint64_t axes;
    const int64_t *output; /* strides of the other axes in the output */
    int segmented; /* this axis is reduced by segments, of which there are `segments`; -1: none */
    int64_t segments;
    int reorderable;     /* the axes may be combined in any order */
    const void *initial; /* a number, or NULL */
    size_t initial_size; /* its bytes, at most `accumulator` */
    double divisor;
} nl_reduce_request;

/* A limit, or a fact about the devices, by its name in reduceplan.c; NULL for an unknown one. */
int64_t *nl_reduceplan_limit(const char *name);
/* Is a plan for serial threads allowed? */
int nl_reduceplan_allows_serial(void);

/* The launches of a reduction. No axis is empty. The caller sets the storage of the plan. */
void nl_reduceplan_make(const nl_reduce_request *request, nl_reduce_plan *plan);

#endif
