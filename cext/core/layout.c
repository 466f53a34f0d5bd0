/* core/layout: what shape and strides say about an array. Counts that do not fit into 63 bits are
 * refused where arrays are made, so products here cannot overflow. */
#include "core/layout.h"

#include <stdlib.h>

int64_t nl_layout_count(const nl_layout *layout) {
    int64_t count = 1;
    for (int i = 0; i < layout->ndim; ++i)
        count *= layout->shape[i];
    return count;
}

/* Walks from the dimension that must be densest; dimensions of one element have no say, and an
 * array without elements is contiguous in every way. */
static int is_contiguous(const nl_layout *layout, int first, int step) {
    int64_t expected = layout->itemsize;
    int contiguous = 1;
    for (int n = 0, i = first; n < layout->ndim; ++n, i += step) {
        if (layout->shape[i] == 0)
            return 1;
        if (layout->shape[i] == 1)
            continue;
        if (layout->strides[i] != expected)
            contiguous = 0;
        expected *= layout->shape[i];
    }
    return contiguous;
}

int nl_layout_is_c(const nl_layout *layout) {
    return is_contiguous(layout, layout->ndim - 1, -1);
}

int nl_layout_is_f(const nl_layout *layout) {
    return is_contiguous(layout, 0, 1);
}

static void set_contiguous(nl_layout *layout, int first, int step) {
    int64_t stride = layout->itemsize;
    for (int n = 0, i = first; n < layout->ndim; ++n, i += step) {
        layout->strides[i] = stride;
        if (layout->shape[i] > 1)
            stride *= layout->shape[i];
    }
}

void nl_layout_set_c(nl_layout *layout) {
    set_contiguous(layout, layout->ndim - 1, -1);
}
void nl_layout_set_f(nl_layout *layout) {
    set_contiguous(layout, 0, 1);
}

void nl_layout_extent(const nl_layout *layout, int64_t *low, int64_t *high) {
    *low = *high = 0;
    for (int i = 0; i < layout->ndim; ++i) {
        if (layout->shape[i] == 0) {
            *low = *high = 0;
            return;
        }
        int64_t last = (layout->shape[i] - 1) * layout->strides[i];
        *(last < 0 ? low : high) += last;
    }
    *high += layout->itemsize;
}

uint8_t nl_layout_low_bits(const nl_layout *layout, uint64_t address) {
    uint64_t bits = address;
    for (int i = 0; i < layout->ndim; i++) {
        if (layout->shape[i] == 0)
            return 0;
        if (layout->shape[i] > 1)
            bits |= (uint64_t)layout->strides[i];
    }
    return (uint8_t)bits;
}

/* With the strides sorted by size, each must step over everything below it. */
int nl_layout_overlaps_itself(const nl_layout *l) {
    int order[NL_MAX_DIMS], n = 0;
    for (int i = 0; i < l->ndim; i++) {
        if (l->shape[i] == 0)
            return 0;
        if (l->shape[i] == 1)
            continue;
        int j = n++;
        for (; j > 0 && llabs(l->strides[order[j - 1]]) > llabs(l->strides[i]); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    int64_t reach = l->itemsize;
    for (int i = 0; i < n; i++) {
        int64_t stride = llabs(l->strides[order[i]]);
        if (stride < reach)
            return l->itemsize > 0;
        reach += stride * (l->shape[order[i]] - 1);
    }
    return 0;
}

int nl_layout_ranges_meet(uint64_t a, const nl_layout *a_layout, uint64_t b,
                          const nl_layout *b_layout) {
    int64_t low[2], high[2];
    if (nl_layout_count(a_layout) == 0 || nl_layout_count(b_layout) == 0)
        return 0;
    nl_layout_extent(a_layout, &low[0], &high[0]);
    nl_layout_extent(b_layout, &low[1], &high[1]);
    return a + (uint64_t)low[0] < b + (uint64_t)high[1] &&
           b + (uint64_t)low[1] < a + (uint64_t)high[0];
}
