/* core/layout: computes with shapes and strides. Arrays whose element count exceeds 63 bits cannot
 * be created, so products of lengths cannot overflow in this file. */
#include "core/layout.h"

#include <stdlib.h>
#include <string.h>

void nl_layout_copy(nl_layout *to, const nl_layout *from) {
    size_t size = (size_t)from->ndim * sizeof(int64_t);
    to->ndim = from->ndim;
    to->itemsize = from->itemsize;
    memcpy(to->shape, from->shape, size);
    memcpy(to->strides, from->strides, size);
}

int64_t nl_layout_count_elements(const nl_layout *layout) {
    int64_t count = 1;
    for (int i = 0; i < layout->ndim; ++i)
        count *= layout->shape[i];
    return count;
}

/* Checks the strides, from the innermost axis outwards. Axes of length 1 are ignored, and an array
 * without elements is contiguous in both orders. */
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

unsigned nl_layout_contiguous_orders(const nl_layout *layout) {
    int is_c = nl_layout_is_c(layout);
    int is_f = layout->ndim < 2 ? is_c : nl_layout_is_f(layout);
    return (is_c ? NL_LAYOUT_C : 0u) | (is_f ? NL_LAYOUT_F : 0u);
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

/* Sorts the axes of length other than 1 by decreasing stride; axes with equal strides keep their
 * order. Returns the number of sorted axes. */
static int sort_dimensions(const nl_layout *l, int *order) {
    int n = 0;
    for (int i = 0; i < l->ndim; i++) {
        if (l->shape[i] == 1)
            continue;
        int j = n++;
        for (; j > 0 && llabs(l->strides[order[j - 1]]) < llabs(l->strides[i]); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return n;
}

/* Sets the strides of a dense block whose axes have the given order, innermost first. */
static void set_dense_strides(nl_layout *l, const int *inwards) {
    int64_t step = l->itemsize;
    for (int i = 0; i < l->ndim; i++) {
        l->strides[inwards[i]] = step;
        step *= l->shape[inwards[i]] > 1 ? l->shape[inwards[i]] : 1;
    }
}

static void insert_axis(int *list, int count, int at, int item) {
    memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
    list[at] = item;
}

void nl_layout_set_like(nl_layout *l, const int64_t *strides) {
    int inwards[NL_MAX_DIMS];
    for (int axis = l->ndim - 1, count = 0; axis >= 0; axis--) {
        int at = count;
        while (at > 0 && llabs(strides[inwards[at - 1]]) > llabs(strides[axis]))
            at--;
        insert_axis(inwards, count++, at, axis);
    }
    set_dense_strides(l, inwards);
}

/* Returns 1 if axis `inner` belongs inside axis `outer`, -1 if `outer` belongs inside `inner`, 0 if
 * no array's strides decide. */
static int is_axis_inside(const nl_layout *l, const int64_t *const *strides, int count, int inner,
                          int outer) {
    int found = 0;
    if (l->shape[inner] == 1 || l->shape[outer] == 1)
        return 0;
    for (int i = 0; i < count; i++) {
        if (!strides[i][inner] || !strides[i][outer])
            continue;
        if (llabs(strides[i][inner]) <= llabs(strides[i][outer]))
            return 1;
        found = -1;
    }
    return found;
}

void nl_layout_set_like_several(nl_layout *l, const int64_t *const *strides, int count) {
    int inwards[NL_MAX_DIMS];
    for (int axis = l->ndim - 1, done = 0; axis >= 0; axis--) {
        int at = done;
        for (int i = done - 1; i >= 0; i--) {
            int side = is_axis_inside(l, strides, count, inwards[i], axis);
            if (side > 0)
                break;
            if (side < 0)
                at = i;
        }
        insert_axis(inwards, done++, at, axis);
    }
    set_dense_strides(l, inwards);
}

/* Matches groups of old axes with groups of new axes that have the same number of elements, from
 * the innermost on. Within a group, the old axes must be contiguous to each other. */
int nl_layout_reshape(const nl_layout *from, nl_layout *to) {
    int old = from->ndim - 1, new = to->ndim - 1;
    if (nl_layout_count_elements(from) == 0) {
        nl_layout_set_c(to);
        return 1;
    }
    for (; old >= 0; old--) {
        if (from->shape[old] == 1)
            continue;
        int64_t step = from->strides[old], reach = step * from->shape[old];
        int64_t have = from->shape[old], want = 1;
        int first = new;
        while (have != want) {
            if (want < have) {
                want *= to->shape[new --];
                continue;
            }
            while (from->shape[--old] == 1)
                ;
            if (from->strides[old] != reach)
                return 0;
            have *= from->shape[old];
            reach *= from->shape[old];
        }
        for (int i = first; i > new; i--) {
            to->strides[i] = step;
            step *= to->shape[i];
        }
    }
    int64_t step = to->itemsize;
    for (int i = to->ndim - 1; i >= 0; i--) { /* for axes of length 1, any stride is valid */
        if (to->shape[i] == 1)
            to->strides[i] = step;
        step = to->strides[i] * to->shape[i];
    }
    return 1;
}

int nl_layout_broadcast(int ndim, const int64_t *shape, const int64_t *strides, int wanted_ndim,
                        const int64_t *wanted, int64_t *out) {
    int missing = wanted_ndim - ndim;
    if (missing < 0)
        return 0;
    for (int i = ndim - 1; i >= 0; i--) { /* loops from the end, because `out` may be `strides` */
        if (shape[i] != wanted[missing + i] && shape[i] != 1)
            return 0;
        out[missing + i] = shape[i] == wanted[missing + i] ? strides[i] : 0;
    }
    for (int i = 0; i < missing; i++)
        out[i] = 0;
    return 1;
}

void nl_layout_set_k_order(nl_layout *l) {
    int order[NL_MAX_DIMS], n;
    if (l->ndim == 1) { /* the most frequent case */
        l->strides[0] = l->shape[0] > 1 ? l->itemsize : 0;
        return;
    }
    n = sort_dimensions(l, order);
    int64_t stride = nl_layout_count_elements(l) != 0 ? l->itemsize : 0;
    for (int i = 0; i < l->ndim; i++)
        if (l->shape[i] == 1)
            l->strides[i] = 0;
    while (n-- > 0) {
        l->strides[order[n]] = stride;
        stride *= l->shape[order[n]];
    }
}

/* Computes the offset of the array's first byte and the offset past its last byte. Returns 0 if
 * there are no elements. */
static int find_byte_extent(const nl_layout_view *v, int64_t *low, int64_t *high) {
    *low = *high = 0;
    for (int i = 0; i < v->ndim; i++) {
        if (v->shape[i] == 0) {
            *low = *high = 0;
            return 0;
        }
        int64_t last = (v->shape[i] - 1) * v->strides[i];
        *(last < 0 ? low : high) += last;
    }
    *high += v->itemsize;
    return 1;
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

/* With the axes sorted by stride, each stride must exceed the extent of all inner axes. */
int nl_layout_overlaps_itself(const nl_layout *l) {
    int order[NL_MAX_DIMS], n = sort_dimensions(l, order);
    int64_t reach = l->itemsize;
    if (nl_layout_count_elements(l) == 0)
        return 0;
    while (n-- > 0) {
        int64_t stride = llabs(l->strides[order[n]]);
        if (stride < reach)
            return l->itemsize > 0;
        reach += stride * (l->shape[order[n]] - 1);
    }
    return 0;
}

/* ---- pairs of arrays ---- */

nl_range nl_layout_address_range(const nl_layout_view *v) {
    int64_t low, high;
    if (!find_byte_extent(v, &low, &high))
        return (nl_range){UINT64_MAX, 0};
    return (nl_range){v->address + (uint64_t)low, v->address + (uint64_t)high};
}

int nl_layout_same_elements(const nl_layout_view *a, const nl_layout_view *b) {
    size_t size = (size_t)a->ndim * sizeof(int64_t);
    return a->address == b->address && a->ndim == b->ndim && a->itemsize == b->itemsize &&
           memcmp(a->shape, b->shape, size) == 0 && memcmp(a->strides, b->strides, size) == 0;
}

/* Returns the greatest common divisor of `grid` and all strides, or 0 if all are 0. */
static uint64_t stride_divisor(const nl_layout_view *v, uint64_t grid) {
    for (int i = 0; i < v->ndim; i++) {
        uint64_t other = v->shape[i] > 1 ? (uint64_t)llabs(v->strides[i]) : 0;
        while (other) {
            uint64_t rest = grid % other;
            grid = other;
            other = rest;
        }
    }
    return grid;
}

/* The addresses of all elements of both arrays are multiples of one step, plus a constant for each
 * array. If the constants of the arrays differ enough, the arrays do not overlap: for example, one
 * array consists of the even elements, and the other array of the odd elements. */
int nl_layout_may_overlap(const nl_layout_view *a, const nl_layout_view *b) {
    if (!nl_ranges_overlap(nl_layout_address_range(a), nl_layout_address_range(b)))
        return 0;
    uint64_t grid = stride_divisor(a, stride_divisor(b, 0));
    if (grid == 0)
        return 1;
    uint64_t ahead = (b->address - a->address) % grid;
    if (b->address < a->address)
        ahead = (grid - (a->address - b->address) % grid) % grid;
    return ahead < (uint64_t)a->itemsize || grid - ahead < (uint64_t)b->itemsize;
}
