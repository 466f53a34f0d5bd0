/* core/layout: the shape and strides of an n-dimensional array. The functions of core/layout do
 * arithmetic only, without memory accesses. */
#ifndef NL_CORE_LAYOUT_H
#define NL_CORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define NL_MAX_DIMS 32

typedef struct nl_layout {
    int ndim;
    int64_t itemsize;             /* bytes */
    int64_t shape[NL_MAX_DIMS];   /* elements */
    int64_t strides[NL_MAX_DIMS]; /* bytes; may be negative or 0 */
} nl_layout;

/* Copies a layout, but only the first ndim elements of shape and strides. */
void nl_layout_copy(nl_layout *to, const nl_layout *from);
int64_t nl_layout_count_elements(const nl_layout *layout); /* elements */
/* as in NumPy, axes of length 1 are ignored and empty arrays are contiguous */
int nl_layout_is_c(const nl_layout *layout);
int nl_layout_is_f(const nl_layout *layout);
/* Returns whether the array is C-contiguous and Fortran-contiguous: the bits NL_LAYOUT_C and
 * NL_LAYOUT_F. */
enum { NL_LAYOUT_C = 1, NL_LAYOUT_F = 2 };
unsigned nl_layout_contiguous_orders(const nl_layout *layout);
void nl_layout_set_c(nl_layout *layout); /* set_c and set_f compute the strides from the shape */
void nl_layout_set_f(nl_layout *layout);
/* Sets the strides of a dense block whose axes have the order of the current strides. Axes of
 * length 1 have stride 0 in the result. */
void nl_layout_set_k_order(nl_layout *layout);
/* Sets the strides of a dense block whose axes have the order of `strides`. Among axes with equal
 * strides, the last axis is the innermost one. */
void nl_layout_set_like(nl_layout *layout, const int64_t *strides);
/* Sets the strides of a dense block whose axes have NumPy's order "K" for `count` arrays of this
 * shape with these strides. An axis with stride 0 stays between its neighbours; where the strides
 * of the arrays disagree, C order is used. */
void nl_layout_set_like_several(nl_layout *layout, const int64_t *const *strides, int count);
/* Computes the strides of a view with another shape of the same size, in C order. Returns 0 if a
 * view cannot have the other shape, so that a copy is needed. */
int nl_layout_reshape(const nl_layout *from, nl_layout *to);
/* Computes the strides of an array that is broadcast to another shape; the stride is 0 along axes
 * of length 1 and along missing axes. Returns 0 if the array cannot be broadcast to that shape.
 * `out` may be `strides`. */
int nl_layout_broadcast(int ndim, const int64_t *shape, const int64_t *strides, int wanted_ndim,
                        const int64_t *wanted, int64_t *out);
/* Returns the bitwise OR of the low address bits of all elements; `address` is the address of the
 * first element. A type with alignment a (a power of two up to 256) may be loaded if (result & (a -
 * 1)) == 0. */
uint8_t nl_layout_low_bits(const nl_layout *layout, uint64_t address);
/* Returns whether two elements of the array may share bytes. The test considers only the strides,
 * so it may return 1 although no elements share bytes. */
int nl_layout_overlaps_itself(const nl_layout *layout);
/* An array in memory; shape and strides are pointers. */
typedef struct nl_layout_view {
    uint64_t address; /* of the first element */
    int ndim;
    int64_t itemsize;
    const int64_t *shape, *strides;
} nl_layout_view;

static inline nl_layout_view nl_layout_make_view(const nl_layout *layout, uint64_t address) {
    return (nl_layout_view){address, layout->ndim, layout->itemsize, layout->shape,
                            layout->strides};
}
/* The range of addresses of an array's elements. The range of an array without elements intersects
 * no other range. */
typedef struct nl_range {
    uint64_t low, high;
} nl_range;
nl_range nl_layout_address_range(const nl_layout_view *array);
static inline int nl_ranges_overlap(nl_range a, nl_range b) {
    return a.low < b.high && b.low < a.high;
}
/* Returns whether the two arrays have the same elements in the same order. */
int nl_layout_same_elements(const nl_layout_view *a, const nl_layout_view *b);
/* Returns 0 if the two arrays have no byte in common. The result may also be 1 if the arrays have
 * no byte in common. */
int nl_layout_may_overlap(const nl_layout_view *a, const nl_layout_view *b);

#endif
