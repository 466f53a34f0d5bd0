/* core/transfer: strided copies in as few driver calls as the strides allow.
 *
 * A plan is what is left of the two layouts once they are simplified: runs of `width` bytes that are
 * contiguous on both sides, repeated along axes.
 *   1. Axes of one element go. An axis that runs backwards on both sides is turned round.
 *   2. Axes are sorted by their distance on the receiving side, outermost first.
 *   3. Axes that continue the run are merged into it, axes that continue each other into one.
 *   4. One driver copy takes a run (1-D), or a run along one axis (height) or two (depth): the pair that
 *      leaves the fewest copies is chosen. All other axes are walked.
 * An axis that does not move on the sending side (broadcast), moves by less than a run (overlapping
 * windows) or backwards on one side only fits no driver copy and is always walked. */
#include "core/transfer.h"

#include <string.h>
#include "core/stream.h"

#define MAX_PITCH 0x7fffffff /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device */

typedef struct {
    int64_t count, to, from; /* elements; bytes from one to the next on either side */
} axis;

typedef struct {
    nl_direction direction;
    CUstream stream;
    CUdeviceptr to, from;
    int64_t width; /* bytes of a run */
    int rank;
    axis axes[NL_MAX_DIMS]; /* outermost first */
} plan;

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

/* Steps 1 and 2. Returns 0 if there are no elements. */
static int collect_axes(plan *p, const nl_layout *to, const nl_layout *from) {
    p->rank = 0;
    for (int i = 0; i < to->ndim; ++i) {
        axis a = {to->shape[i], to->strides[i], from->strides[i]};
        if (a.count == 0) return 0;
        if (a.count == 1) continue;
        if (a.to < 0) {
            p->to += (CUdeviceptr)(a.to * (a.count - 1));
            p->from += (CUdeviceptr)(a.from * (a.count - 1));
            a.to = -a.to;
            a.from = -a.from;
        }
        int place = p->rank++;
        for (; place > 0; --place) {
            const axis *above = &p->axes[place - 1];
            if (above->to > a.to || (above->to == a.to && magnitude(above->from) >= magnitude(a.from)))
                break;
            p->axes[place] = *above;
        }
        p->axes[place] = a;
    }
    return 1;
}

/* Step 3. */
static void merge_axes(plan *p) {
    while (p->rank > 0 && p->axes[p->rank - 1].to == p->width &&
           p->axes[p->rank - 1].from == p->width) {
        p->width *= p->axes[--p->rank].count;
    }
    int kept = 0;
    for (int i = 1; i < p->rank; ++i) {
        axis *outer = &p->axes[kept], inner = p->axes[i];
        if (outer->to == inner.to * inner.count && outer->from == inner.from * inner.count) {
            inner.count *= outer->count;
            *outer = inner;
        } else {
            p->axes[++kept] = inner;
        }
    }
    if (p->rank > 0) p->rank = kept + 1;
}

/* 0 if there is nothing to copy. */
static int make_plan(plan *p, const nl_layout *to, const nl_layout *from) {
    p->width = to->itemsize;
    if (!collect_axes(p, to, from) || p->width == 0) return 0;
    merge_axes(p);
    return 1;
}

static int is_pitch(const plan *p, const axis *a) {
    return a->to >= p->width && a->from >= p->width && a->to <= MAX_PITCH && a->from <= MAX_PITCH;
}

/* Can `depth` be the distance between slices of `height` rows? */
static int is_slice(const axis *height, const axis *depth) {
    return depth->to % height->to == 0 && depth->to / height->to >= height->count &&
           depth->from % height->from == 0 && depth->from / height->from >= height->count;
}

/* Step 4: which axes one driver copy covers; -1 for none. */
typedef struct {
    int height, depth;
} shape_of_copy;

static shape_of_copy choose(const plan *p) {
    shape_of_copy best = {-1, -1};
    int64_t most = 1;
    for (int h = 0; h < p->rank; ++h) {
        if (!is_pitch(p, &p->axes[h])) continue;
        if (p->axes[h].count > most) {
            most = p->axes[h].count;
            best = (shape_of_copy){h, -1};
        }
        for (int d = 0; d < p->rank; ++d) {
            if (d == h || p->axes[d].from <= 0 || !is_slice(&p->axes[h], &p->axes[d])) continue;
            if (p->axes[h].count * p->axes[d].count > most) {
                most = p->axes[h].count * p->axes[d].count;
                best = (shape_of_copy){h, d};
            }
        }
    }
    return best;
}

static int copy_run(const plan *p, CUdeviceptr to, CUdeviceptr from, nl_error *err) {
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

static int copy_box(const plan *p, CUdeviceptr to, CUdeviceptr from, const axis *height,
                    const axis *depth, nl_error *err) {
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

/* Walks the axes that no driver copy covers, the last one fastest. */
static int copy_plan(const plan *p, nl_error *err) {
    shape_of_copy box = choose(p);
    int64_t index[NL_MAX_DIMS] = {0};
    CUdeviceptr to = p->to, from = p->from;
    for (;;) {
        int status = box.height < 0
                         ? copy_run(p, to, from, err)
                         : copy_box(p, to, from, &p->axes[box.height],
                                    box.depth < 0 ? NULL : &p->axes[box.depth], err);
        if (status < 0) return -1;
        int i = p->rank - 1;
        for (; i >= 0; --i) {
            if (i == box.height || i == box.depth) continue;
            to += (CUdeviceptr)p->axes[i].to;
            from += (CUdeviceptr)p->axes[i].from;
            if (++index[i] < p->axes[i].count) break;
            to -= (CUdeviceptr)(p->axes[i].to * p->axes[i].count);
            from -= (CUdeviceptr)(p->axes[i].from * p->axes[i].count);
            index[i] = 0;
        }
        if (i < 0) return 0;
    }
}

/* The one-call copies of a run on the default stream; they come after all ordered work. The driver may
 * return before the last bytes of a small copy have arrived, which only a stream that is not ordered
 * with the default stream can notice. */
static int copy_run_now(const plan *p, nl_error *err) {
    size_t size = (size_t)p->width;
    if (p->direction == NL_DEVICE_TO_HOST) {
        return NL_CU(err, MemcpyDtoH, (void *)(uintptr_t)p->to, p->from, size);
    }
    if (NL_CU(err, MemcpyHtoD, p->to, (const void *)(uintptr_t)p->from, size) < 0) return -1;
    return nl_stream_unordered_seen() ? NL_CU(err, StreamSynchronize, NULL) : 0;
}

int nl_transfer(nl_device *dev, nl_direction direction, CUdeviceptr to, const nl_layout *to_layout,
                CUdeviceptr from, const nl_layout *from_layout, CUstream stream, int asynchronous,
                nl_error *err) {
    plan p = {.direction = direction, .stream = stream, .to = to, .from = from};
    if (nl_device_bind(dev, err) < 0) return -1;
    if (!make_plan(&p, to_layout, from_layout)) return 0;
    if (!asynchronous && stream == NULL && p.rank == 0 && direction != NL_DEVICE_TO_DEVICE) {
        return copy_run_now(&p, err);
    }
    int status = copy_plan(&p, err);
    if (asynchronous) return status;
    /* After a failure the copies that were started still have to end: the caller may free its side. */
    if (status < 0) {
        nl_error ignored;
        nl_driver_check(nl_cu.StreamSynchronize(stream), "cuStreamSynchronize", &ignored);
        return -1;
    }
    return NL_CU(err, StreamSynchronize, stream);
}

/* The smallest of 1, 2 and 4 bytes of which the element is a repetition and on which everything is
 * aligned; 0 if there is none. */
static int find_period(const plan *p, const unsigned char *element, int64_t size) {
    uint64_t aligned = p->to;
    for (int i = 0; i < p->rank; ++i) aligned |= (uint64_t)p->axes[i].to;
    for (int period = 1; period <= 4; period *= 2) {
        if (size % period != 0 || aligned % (uint64_t)period != 0) continue;
        if (memcmp(element, element + period, (size_t)(size - period)) == 0) return period;
    }
    return 0;
}

static int set_memory(const plan *p, CUdeviceptr to, const void *value, int period, int64_t size,
                      nl_error *err) {
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    switch (period) {
    case 1:
        memcpy(&byte, value, 1);
        return NL_CU(err, MemsetD8Async, to, byte, (size_t)size, p->stream);
    case 2:
        memcpy(&half, value, 2);
        return NL_CU(err, MemsetD16Async, to, half, (size_t)size / 2, p->stream);
    default:
        memcpy(&word, value, 4);
        return NL_CU(err, MemsetD32Async, to, word, (size_t)size / 4, p->stream);
    }
}

/* Writes one element. Up to 16 bytes travel inside the calls, so that nothing on the host has to
 * outlive an asynchronous fill. */
static int put_element(const plan *p, const char *element, int64_t size, nl_error *err) {
    if (size > 16 || size % 4 != 0 || p->to % 4 != 0) {
        return NL_CU(err, MemcpyHtoDAsync, p->to, element, (size_t)size, p->stream);
    }
    for (int64_t i = 0; i < size; i += 4) {
        if (set_memory(p, p->to + (CUdeviceptr)i, element + i, 4, 4, err) < 0) return -1;
    }
    return 0;
}

/* Fills the first run, by doubling what is filled where no memset can do it. */
static int fill_run(const plan *p, const void *element, int64_t itemsize, nl_error *err) {
    int period = find_period(p, element, itemsize);
    if (period != 0) return set_memory(p, p->to, element, period, p->width, err);
    if (put_element(p, element, itemsize, err) < 0) return -1;
    for (int64_t done = itemsize; done < p->width; done *= 2) {
        int64_t size = done < p->width - done ? done : p->width - done;
        if (NL_CU(err, MemcpyDtoDAsync, p->to + (CUdeviceptr)done, p->to, (size_t)size, p->stream) < 0)
            return -1;
    }
    return 0;
}

/* Fills along the axes, innermost first, again by doubling: each copy repeats all that is there. */
static int fill_axes(const plan *p, nl_error *err) {
    for (int i = p->rank - 1; i >= 0; --i) {
        plan part = *p;
        part.rank = p->rank - i;
        memcpy(part.axes, &p->axes[i], (size_t)part.rank * sizeof(axis));
        for (int64_t done = 1; done < p->axes[i].count; done *= 2) {
            int64_t left = p->axes[i].count - done;
            part.axes[0].count = done < left ? done : left;
            part.to = p->to + (CUdeviceptr)(done * p->axes[i].to);
            if (copy_plan(&part, err) < 0) return -1;
        }
    }
    return 0;
}

int nl_transfer_fill(nl_device *dev, CUdeviceptr to, const nl_layout *layout, const void *element,
                     CUstream stream, int asynchronous, nl_error *err) {
    plan p = {.direction = NL_DEVICE_TO_DEVICE, .stream = stream, .to = to, .from = to};
    if (nl_device_bind(dev, err) < 0) return -1;
    if (!make_plan(&p, layout, layout)) return 0;
    p.from = p.to;
    if (fill_run(&p, element, layout->itemsize, err) < 0) return -1;
    if (p.rank > 0 && fill_axes(&p, err) < 0) return -1;
    return asynchronous ? 0 : NL_CU(err, StreamSynchronize, stream);
}
