/* core/loop: the geometry of one element-wise launch: which element of each operand meets which, in
 * the simplest form that a kernel can walk. Pure arithmetic.
 *
 * Kernels come in seven kinds, from the fastest to the most general. cuda_src/numbalite/ufunc.cuh
 * reads what nl_loop_write writes. */
#ifndef NL_CORE_LOOP_H
#define NL_CORE_LOOP_H

#include "core/layout.h"

#define NL_LOOP_OPERANDS 64
#define NL_LOOP_SLOT 16 /* bytes of an address or a value */

typedef enum nl_loop_kind {
    NL_LOOP_FLAT,      /* every operand is one aligned run, or one element for all */
    NL_LOOP_ROWS,      /* the same for the innermost dimension */
    NL_LOOP_SHIFTED,   /* the same, but for alignment */
    NL_LOOP_TILED,     /* some operands are runs in the innermost dimension, some in another */
    NL_LOOP_SINGLE,    /* as shifted, by threads with one element each */
    NL_LOOP_STRIDED32, /* any strides, indices and offsets of 32 bits */
    NL_LOOP_STRIDED64, /* anything */
} nl_loop_kind;

/* One operand as it is given. */
typedef struct nl_loop_operand {
    int ndim;
    int by_value; /* no memory, no strides */
    const int64_t *shape, *strides;
    uint64_t address;
    int64_t itemsize, align;
} nl_loop_operand;

typedef struct nl_loop {
    nl_loop_kind kind;
    int operands;
    int ndim;      /* after simplification */
    int dims;      /* that the kernel is made for: 0 for flat, those around the rows or tiles */
    int64_t count; /* elements */
    /* A bit for each operand: advance, it moves (tiled: is a run) along the innermost dimension;
     * across, it is a run along the one around that */
    uint64_t by_value, advance, across;
    int64_t shape[NL_MAX_DIMS]; /* outermost first */
    uint64_t address[NL_LOOP_OPERANDS];
    int64_t strides[NL_LOOP_OPERANDS][NL_MAX_DIMS];
} nl_loop;

/* Exact division of n < 2^31 by the number that it was made for: (high word of n * magic + n) >>
 * shift. */
typedef struct nl_divider {
    uint32_t magic, shift;
} nl_divider;
nl_divider nl_divider_make(uint32_t divisor); /* 1 to 2^31 */

const char *nl_loop_kind_name(nl_loop_kind kind);
/* The order in which the dimensions of a loop are walked, outermost first, as NumPy finds it: that
 * of the operands' memory, C order where they disagree. */
void nl_loop_order(const nl_loop_operand *operands, int count, int ndim, int *order);
/* Strides of an array without gaps whose dimensions lie in this order. */
void nl_loop_dense(int ndim, const int64_t *shape, const int *order, int64_t itemsize,
                   int64_t *strides);
/* All operands broadcast to shape[ndim], which has elements. */
void nl_loop_make(nl_loop *loop, const nl_loop_operand *operands, int count, int ndim,
                  const int64_t *shape);
/* Threads of a launch where each takes `per_thread` elements. */
int64_t nl_loop_threads(const nl_loop *loop, int64_t per_thread);
/* Bytes of the parameter that describes the loop. */
size_t nl_loop_size(const nl_loop *loop);
/* Writes it, for threads that take `per_thread` elements each. The slots of operands by value are
 * left as they are. */
void nl_loop_write(const nl_loop *loop, int64_t per_thread, unsigned char *block);

#endif
