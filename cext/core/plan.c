/* core/plan: divides strided copies into as few driver calls as the strides permit.
 *
 *   1. Axes of length 1 are removed. An axis with a negative stride on the receiving side is
 *      reversed.
 *   2. Axes are sorted by their stride on the receiving side, outermost first.
 *   3. Axes that continue the contiguous row are merged into it, and axes that continue each other
 *      are merged.
 *   4. One driver copy covers one row (1-D), rows along one axis (height), or rows along two axes
 *      (depth): the choice with the fewest copies. A loop iterates over all other axes. An axis
 *      whose stride on the sending side is 0 (broadcast), less than a row (overlapping windows),
 *      or negative on one side only, cannot be part of a driver copy and is always in the loop. */
#include "core/plan.h"

#define MAX_PITCH 0x7fffffff /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device */

static int64_t absolute_value(int64_t value) {
    return value < 0 ? -value : value;
}

/* Implements steps 1 and 2. Returns 0 if the copy has no elements. */
static int collect_axes(nl_plan *p, const nl_layout *to, const nl_layout *from) {
    p->rank = 0;
    for (int i = 0; i < to->ndim; ++i) {
        nl_axis a = {to->shape[i], to->strides[i], from->strides[i]};
        if (a.count == 0)
            return 0;
        if (a.count == 1)
            continue;
        if (a.to < 0) {
            p->to += (CUdeviceptr)(a.to * (a.count - 1));
            p->from += (CUdeviceptr)(a.from * (a.count - 1));
            a.to = -a.to;
            a.from = -a.from;
        }
        int place = p->rank++;
        for (; place > 0; --place) {
            const nl_axis *above = &p->axes[place - 1];
            if (above->to > a.to ||
                (above->to == a.to && absolute_value(above->from) >= absolute_value(a.from)))
                break;
            p->axes[place] = *above;
        }
        p->axes[place] = a;
    }
    return 1;
}

/* Step 3. */
static void merge_axes(nl_plan *p) {
    while (p->rank > 0 && p->axes[p->rank - 1].to == p->width &&
           p->axes[p->rank - 1].from == p->width) {
        p->width *= p->axes[--p->rank].count;
    }
    int kept = 0;
    for (int i = 1; i < p->rank; ++i) {
        nl_axis *outer = &p->axes[kept], inner = p->axes[i];
        if (outer->to == inner.to * inner.count && outer->from == inner.from * inner.count) {
            inner.count *= outer->count;
            *outer = inner;
        } else {
            p->axes[++kept] = inner;
        }
    }
    if (p->rank > 0)
        p->rank = kept + 1;
}

/* Makes the plan of a copy; returns 0 if there is nothing to copy. */
int nl_plan_make(nl_plan *p, const nl_layout *to, const nl_layout *from) {
    p->width = to->itemsize;
    if (!collect_axes(p, to, from) || p->width == 0)
        return 0;
    merge_axes(p);
    return 1;
}

static int is_valid_pitch(const nl_plan *p, const nl_axis *a) {
    return a->to >= p->width && a->from >= p->width && a->to <= MAX_PITCH && a->from <= MAX_PITCH;
}

/* Returns whether axis `depth` can separate slices of `height` rows in one 3-D driver copy. */
static int can_copy_slices(const nl_axis *height, const nl_axis *depth) {
    return depth->to % height->to == 0 && depth->to / height->to >= height->count &&
           depth->from % height->from == 0 && depth->from / height->from >= height->count;
}

/* The axes that one driver copy covers; -1 for none. */
typedef struct {
    int height, depth;
} shape_of_copy;

static shape_of_copy choose_copy(const nl_plan *p) {
    shape_of_copy best = {-1, -1};
    int64_t most = 1;
    for (int h = 0; h < p->rank; ++h) {
        if (!is_valid_pitch(p, &p->axes[h]))
            continue;
        if (p->axes[h].count > most) {
            most = p->axes[h].count;
            best = (shape_of_copy){h, -1};
        }
        for (int d = 0; d < p->rank; ++d) {
            if (d == h || p->axes[d].from <= 0 || !can_copy_slices(&p->axes[h], &p->axes[d]))
                continue;
            if (p->axes[h].count * p->axes[d].count > most) {
                most = p->axes[h].count * p->axes[d].count;
                best = (shape_of_copy){h, d};
            }
        }
    }
    return best;
}

int64_t nl_plan_count_bytes(const nl_plan *p) {
    int64_t bytes = p->width;
    for (int i = 0; i < p->rank; ++i)
        bytes *= p->axes[i].count;
    return bytes;
}

int64_t nl_plan_count_copies(const nl_plan *p) {
    shape_of_copy box = choose_copy(p);
    int64_t copies = 1;
    for (int i = 0; i < p->rank; ++i) {
        if (i != box.height && i != box.depth)
            copies *= p->axes[i].count;
    }
    return copies;
}

static int copy_contiguous(const nl_plan *p, CUdeviceptr to, CUdeviceptr from, nl_error *err) {
    size_t size = (size_t)p->width;
    switch (p->direction) {
    case NL_HOST_TO_DEVICE:
        return NL_CU(err, MemcpyHtoDAsync, to, (const void *)(uintptr_t)from, size, p->stream);
    case NL_DEVICE_TO_HOST:
        return NL_CU(err, MemcpyDtoHAsync, (void *)(uintptr_t)to, from, size, p->stream);
    default:
        return NL_CU(err, MemcpyDtoDAsync, to, from, size, p->stream);
    }
}

static int copy_3d(const nl_plan *p, CUdeviceptr to, CUdeviceptr from, const nl_axis *height,
                   const nl_axis *depth, nl_error *err) {
    CUDA_MEMCPY3D copy = {
        .WidthInBytes = (size_t)p->width,
        .Height = (size_t)height->count,
        .Depth = depth != NULL ? (size_t)depth->count : 1,
        .dstPitch = (size_t)height->to,
        .srcPitch = (size_t)height->from,
        .dstHeight = (size_t)(depth != NULL ? depth->to / height->to : height->count),
        .srcHeight = (size_t)(depth != NULL ? depth->from / height->from : height->count),
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
    };
    if (p->direction == NL_HOST_TO_DEVICE) {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = (const void *)(uintptr_t)from;
    } else {
        copy.srcDevice = from;
    }
    if (p->direction == NL_DEVICE_TO_HOST) {
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = (void *)(uintptr_t)to;
    } else {
        copy.dstDevice = to;
    }
    return NL_CU(err, Memcpy3DAsync, &copy, p->stream);
}

/* Loops over the axes that no driver copy covers; the last axis is the innermost loop. */
int nl_plan_copy(const nl_plan *p, nl_error *err) {
    shape_of_copy box = choose_copy(p);
    int64_t index[NL_MAX_DIMS] = {0};
    CUdeviceptr to = p->to, from = p->from;
    for (;;) {
        int status = box.height < 0 ? copy_contiguous(p, to, from, err)
                                    : copy_3d(p, to, from, &p->axes[box.height],
                                              box.depth < 0 ? NULL : &p->axes[box.depth], err);
        if (status < 0)
            return -1;
        int i = p->rank - 1;
        for (; i >= 0; --i) {
            if (i == box.height || i == box.depth)
                continue;
            to += (CUdeviceptr)p->axes[i].to;
            from += (CUdeviceptr)p->axes[i].from;
            if (++index[i] < p->axes[i].count)
                break;
            to -= (CUdeviceptr)(p->axes[i].to * p->axes[i].count);
            from -= (CUdeviceptr)(p->axes[i].from * p->axes[i].count);
            index[i] = 0;
        }
        if (i < 0)
            return 0;
    }
}
