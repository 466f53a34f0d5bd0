/* core/reduceplan: plans how a reduction is divided among threads. The plan depends only on shapes,
 * strides and alignment, so that equal calls have equal plans and bitwise equal results. The
 * kernels are in cuda_src/numbalite/reduce.cuh, short_axes.cuh and staged_columns.cuh. */
#ifndef NL_CORE_REDUCEPLAN_H
#define NL_CORE_REDUCEPLAN_H

#include <stddef.h>
#include <stdint.h>
#include "core/reducelaunch.h"

/* Properties of the reduced array and of the operator. */
typedef struct nl_reduce_traits {
    int64_t itemsize;    /* bytes of a stored element */
    int64_t accumulator; /* bytes of an accumulator; 0 excludes the kinds for columns */
    int64_t address;     /* of the first element, modulo 16 */
    int masked;
    int any_order; /* set if elements may be combined in any order */
} nl_reduce_traits;

nl_reduce_schedule nl_reduceplan_choose_schedule(const nl_reduce_dims *kept,
                                                 const nl_reduce_dims *reduced,
                                                 const nl_reduce_traits *traits);
/* Returns the number of lanes that reduce a row of `length` elements, with accesses of `width`
 * elements; 32 is a whole warp. */
int nl_reduceplan_lanes_per_row(int64_t length, int64_t width, int64_t accumulator,
                                int64_t results);
/* Returns the number of elements of a part if each result is reduced from `rows` rows with gaps
 * between them. Returns 0 if rows are short or cannot be divided into equal parts. */
int64_t nl_reduceplan_row_part_length(int64_t rows, int64_t row, int64_t itemsize, int64_t results,
                                      int any_order);
int64_t nl_reduceplan_grid_size(const nl_reduce_schedule *schedule, int64_t results);

/* A reduction of an array along the axes whose bit is set in `axes`. */
typedef struct nl_reduce_request {
    nl_reduce_traits traits;
    int ndim;
    const int64_t *shape, *strides;
    const int64_t *where; /* strides of the mask, or NULL */
    uint64_t axes;
    const int64_t *output; /* strides of the remaining axes in the output array */
    int segmented;         /* axis that is reduced in `segments` segments, or -1 */
    int64_t segments;
    int reorderable;     /* set if the axes may be combined in any order */
    const void *initial; /* the initial value, or NULL */
    size_t initial_size; /* its bytes, at most `accumulator` */
    double divisor;
} nl_reduce_request;

/* Plans the launches of a reduction. No axis may be empty. The caller must set plan->storage. */
void nl_reduceplan_make(const nl_reduce_request *request, nl_reduce_plan *plan);

#endif
