/* core/plan: simplifies a strided copy and divides it into driver copies. The header is private to
 * core/: transfer.c, fill.c and pinned.c use it. */
#ifndef NL_CORE_PLAN_H
#define NL_CORE_PLAN_H

#include "core/direction.h"
#include "core/layout.h"
#include "driver/driver.h"

typedef struct nl_axis {
    int64_t count, to, from; /* number of elements; strides in bytes on both sides */
} nl_axis;

/* Rows of `width` bytes, contiguous on both sides, repeated along the axes (outermost first, by
 * their stride on the receiving side). */
typedef struct nl_plan {
    nl_direction direction;
    CUstream stream;
    CUdeviceptr to, from; /* the addresses of the first row */
    int64_t width;
    int rank;
    nl_axis axes[NL_MAX_DIMS];
} nl_plan;

/* Requires that direction, stream, to and from are set. Returns 0 if there is nothing to copy. */
int nl_plan_make(nl_plan *plan, const nl_layout *to, const nl_layout *from);
/* Return the total number of bytes, and the number of driver copies. */
int64_t nl_plan_count_bytes(const nl_plan *plan);
int64_t nl_plan_count_copies(const nl_plan *plan);
/* Submits the copies to the plan's stream. */
int nl_plan_copy(const nl_plan *plan, nl_error *err);

#endif
