/* core/plan: a strided copy, simplified and cut into driver copies. Inside core/ only: transfer.c
 * and fill.c are written over it. */
#ifndef NL_CORE_PLAN_H
#define NL_CORE_PLAN_H

#include "core/direction.h"
#include "core/layout.h"
#include "driver/driver.h"

typedef struct nl_axis {
    int64_t count, to, from; /* elements; bytes from one to the next on either side */
} nl_axis;

/* Runs of `width` bytes, contiguous on both sides, repeated along the axes (outermost first, by
 * their distance on the receiving side). */
typedef struct nl_plan {
    nl_direction direction;
    CUstream stream;
    CUdeviceptr to, from; /* the addresses of the first run */
    int64_t width;
    int rank;
    nl_axis axes[NL_MAX_DIMS];
} nl_plan;

/* Needs direction, stream, to and from set. 0 if there is nothing to copy. */
int nl_plan_make(nl_plan *plan, const nl_layout *to, const nl_layout *from);
/* Bytes in all; how many driver copies it takes. */
int64_t nl_plan_bytes(const nl_plan *plan);
int64_t nl_plan_copies(const nl_plan *plan);
/* Puts the copies on the plan's stream. */
int nl_plan_copy(const nl_plan *plan, nl_error *err);

#endif
