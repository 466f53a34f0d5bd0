/* core/layout: shape and strides of an n-dimensional array; pure arithmetic. */
#ifndef NL_CORE_LAYOUT_H
#define NL_CORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define NL_MAX_DIMS 32

typedef struct nl_layout {
    int ndim;
    int64_t itemsize;             /* bytes */
    int64_t shape[NL_MAX_DIMS];   /* elements */
    int64_t strides[NL_MAX_DIMS]; /* bytes; may be negative or zero */
} nl_layout;

/* As many dimensions as there are: most of a layout is unused. */
void nl_layout_copy(nl_layout *to, const nl_layout *from);
int64_t nl_layout_count(const nl_layout *layout); /* elements */
int nl_layout_is_c(const nl_layout *layout); /* as NumPy: size-1 and empty arrays are contiguous */
int nl_layout_is_f(const nl_layout *layout);
void nl_layout_set_c(nl_layout *layout); /* strides from shape */
void nl_layout_set_f(nl_layout *layout);
/* Those of a block without gaps in which the dimensions have the order that their strides have now.
 * Dimensions of one element get 0. */
void nl_layout_set_k(nl_layout *layout);
/* Those of a block without gaps in which the dimensions have the order of these strides; of equal
 * ones the last dimension is the innermost. */
void nl_layout_set_like(nl_layout *layout, const int64_t *strides);
/* Those of a block without gaps in which the dimensions have the order in which NumPy's iterator
 * visits `count` arrays of this shape with these strides ("K"): a dimension with stride 0 stays
 * between its neighbours, and where the arrays differ, C order is chosen. */
void nl_layout_set_as(nl_layout *layout, const int64_t *const *strides, int count);
/* Strides with which the elements of an array appear in another shape of the same size, in C order.
 * 0 if there is no such view. */
int nl_layout_reshape(const nl_layout *from, nl_layout *to);
/* Strides with which an array appears in another shape: 0 along axes that it has once or lacks. 0
 * if it cannot be broadcast to that shape. `out` may be the array's own strides. */
int nl_layout_broadcast(int ndim, const int64_t *shape, const int64_t *strides, int wanted_ndim,
                        const int64_t *wanted, int64_t *out);
/* Low bits of the addresses of the elements, the first of which is at `address`: an element type of
 * alignment a (a power of two up to 256) may be read where these bits & (a - 1) are 0. */
uint8_t nl_layout_low_bits(const nl_layout *layout, uint64_t address);
/* Do two of its elements share bytes (by strides alone: it may say so where none do)? */
int nl_layout_overlaps_itself(const nl_layout *layout);
/* An array in memory, whose geometry lies elsewhere. */
typedef struct nl_layout_view {
    uint64_t address; /* of the first element */
    int ndim;
    int64_t itemsize;
    const int64_t *shape, *strides;
} nl_layout_view;

static inline nl_layout_view nl_layout_at(const nl_layout *layout, uint64_t address) {
    return (nl_layout_view){address, layout->ndim, layout->itemsize, layout->shape,
                            layout->strides};
}
/* The addresses that an array spans; arrays without elements have a range that meets none. */
typedef struct nl_range {
    uint64_t low, high;
} nl_range;
nl_range nl_layout_range(const nl_layout_view *array);
static inline int nl_ranges_meet(nl_range a, nl_range b) {
    return a.low < b.high && b.low < a.high;
}
/* The very same elements, in the same order? */
int nl_layout_same_elements(const nl_layout_view *a, const nl_layout_view *b);
/* 0: the two have no byte in common. May say 1 where they have none. */
int nl_layout_may_overlap(const nl_layout_view *a, const nl_layout_view *b);

#endif
