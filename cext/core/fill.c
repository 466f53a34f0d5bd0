/* core/fill: fills a strided region with copies of one element. If memset cannot write the element,
 * copies within the region double the filled range repeatedly. */
#include "core/plan.h"
#include "core/transfer.h"

#include <string.h>

/* Returns the smallest of 1, 2 and 4 bytes such that the element is a repetition of that many bytes
 * and the address and strides are aligned to it; returns 0 if the element has no such period. */
static int repetition_size(const nl_plan *p, const unsigned char *element, int64_t size) {
    uint64_t aligned = p->to;
    for (int i = 0; i < p->rank; ++i)
        aligned |= (uint64_t)p->axes[i].to;
    for (int period = 1; period <= 4; period *= 2) {
        if (size % period != 0 || aligned % (uint64_t)period != 0)
            continue;
        if (memcmp(element, element + period, (size_t)(size - period)) == 0)
            return period;
    }
    return 0;
}

static int set_memory(const nl_plan *p, CUdeviceptr to, const void *value, int period, int64_t size,
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

/* Writes one element. Elements of up to 16 bytes are passed as memset values, so that no host
 * memory must stay valid until an asynchronous fill has run. */
static int fill_one_element(const nl_plan *p, const char *element, int64_t size, nl_error *err) {
    if (size > 16 || size % 4 != 0 || p->to % 4 != 0) {
        return NL_CU(err, MemcpyHtoDAsync, p->to, element, (size_t)size, p->stream);
    }
    for (int64_t i = 0; i < size; i += 4) {
        if (set_memory(p, p->to + (CUdeviceptr)i, element + i, 4, 4, err) < 0)
            return -1;
    }
    return 0;
}

/* Fills the first contiguous row, by memset if possible, else by doubling. */
static int fill_run(const nl_plan *p, const void *element, int64_t itemsize, nl_error *err) {
    int period = repetition_size(p, element, itemsize);
    if (period != 0)
        return set_memory(p, p->to, element, period, p->width, err);
    if (fill_one_element(p, element, itemsize, err) < 0)
        return -1;
    for (int64_t done = itemsize; done < p->width; done *= 2) {
        int64_t size = done < p->width - done ? done : p->width - done;
        if (NL_CU(err, MemcpyDtoDAsync, p->to + (CUdeviceptr)done, p->to, (size_t)size, p->stream) <
            0)
            return -1;
    }
    return 0;
}

/* Fills along the axes, innermost first, by doubling: each copy repeats the whole range that is
 * already filled. */
static int fill_axes(const nl_plan *p, nl_error *err) {
    for (int i = p->rank - 1; i >= 0; --i) {
        nl_plan part = *p;
        part.rank = p->rank - i;
        memcpy(part.axes, &p->axes[i], (size_t)part.rank * sizeof(nl_axis));
        for (int64_t done = 1; done < p->axes[i].count; done *= 2) {
            int64_t left = p->axes[i].count - done;
            part.axes[0].count = done < left ? done : left;
            part.to = p->to + (CUdeviceptr)(done * p->axes[i].to);
            if (nl_plan_copy(&part, err) < 0)
                return -1;
        }
    }
    return 0;
}

int nl_fill(nl_device *dev, CUdeviceptr to, const nl_layout *layout, const void *element,
            CUstream stream, int asynchronous, nl_error *err) {
    nl_plan p = {.direction = NL_DEVICE_TO_DEVICE, .stream = stream, .to = to, .from = to};
    if (nl_device_bind(dev, err) < 0)
        return -1;
    if (!nl_plan_make(&p, layout, layout))
        return 0;
    p.from = p.to;
    if (fill_run(&p, element, layout->itemsize, err) < 0)
        return -1;
    if (p.rank > 0 && fill_axes(&p, err) < 0)
        return -1;
    return asynchronous ? 0 : NL_CU(err, StreamSynchronize, stream);
}
