/* core/loop: the geometry of one element-wise launch: the loop over the broadcast operands, in the
 * simplest form that a kernel supports. Its functions do arithmetic only.
 *
 * There are seven kinds of loops, from the fastest to the most general.
 * cuda_src/numbalite/ufunc.cuh reads the parameter that nl_loop_write writes. */
#ifndef NL_CORE_LOOP_H
#define NL_CORE_LOOP_H

#include "core/layout.h"

#define NL_LOOP_OPERANDS 64
#define NL_LOOP_SLOT 16 /* size in bytes of an address or a value */

typedef enum nl_loop_kind {
    NL_LOOP_FLAT,    /* every operand is contiguous and aligned, or a single element */
    NL_LOOP_ROWS,    /* like FLAT, but operands are contiguous only along the innermost dimension */
    NL_LOOP_SHIFTED, /* as ROWS, without alignment */
    /* some operands are contiguous along the innermost dimension, others along another dimension */
    NL_LOOP_TILED,
    NL_LOOP_SINGLE,    /* like SHIFTED, but a thread computes one element */
    NL_LOOP_STRIDED32, /* any strides; 32-bit indices and offsets */
    NL_LOOP_STRIDED64, /* any strides and sizes */
    NL_LOOP_SMALL,     /* a kernel for FLAT loops of few elements; never the kind of a loop
                        * itself */
} nl_loop_kind;

/* One operand of the call. */
typedef struct nl_loop_operand {
    int ndim;
    int by_value; /* set if the operand is passed by value: it has no memory and no strides */
    const int64_t *shape, *strides;
    uint64_t address;
    int64_t itemsize, align;
} nl_loop_operand;

typedef struct nl_loop {
    nl_loop_kind kind;
    int operands;
    int ndim; /* after simplification */
    /* number of dimensions in the kernel: 0 for FLAT, else all dimensions, or those outside of rows
     * or tiles */
    int dims;
    int64_t count; /* elements */
    /* Bit masks over the operands. `advance`: operands whose innermost stride is not 0 (for TILED:
     * operands that are contiguous along the innermost dimension). `across`: operands that are
     * contiguous along the second innermost dimension. */
    uint64_t by_value, advance, across;
    int64_t shape[NL_MAX_DIMS]; /* outermost first */
    uint64_t address[NL_LOOP_OPERANDS];
    int64_t strides[NL_LOOP_OPERANDS][NL_MAX_DIMS];
} nl_loop;

/* Divides n < 2^31 exactly by a fixed divisor: n / divisor == (high 32 bits of n * magic + n) >>
 * shift. */
typedef struct nl_divider {
    uint32_t magic, shift;
} nl_divider;
nl_divider nl_loop_magic_divisor(uint32_t divisor); /* 1 to 2^31 */

const char *nl_loop_kind_name(nl_loop_kind kind);
/* Sorts the dimensions of a loop, outermost first, as NumPy does: by the operands' strides, in C
 * order where the operands disagree. */
void nl_loop_sort_dimensions(const nl_loop_operand *operands, int count, int ndim, int *order);
/* Computes the strides of a dense array whose dimensions have this order. */
void nl_loop_dense_strides(int ndim, const int64_t *shape, const int *order, int64_t itemsize,
                           int64_t *strides);
/* Describes the loop of operands that broadcast to shape[ndim], which must not be empty. */
void nl_loop_make(nl_loop *loop, const nl_loop_operand *operands, int count, int ndim,
                  const int64_t *shape);
/* Returns the number of threads of a launch with `per_thread` elements per thread. */
int64_t nl_loop_threads(const nl_loop *loop, int64_t per_thread);
/* Returns the size in bytes of the parameter that describes the loop. */
size_t nl_loop_size(const nl_loop *loop);
/* Writes the kernel's loop parameter for `per_thread` elements per thread, except the slots of
 * operands that are passed by value. */
void nl_loop_write(const nl_loop *loop, int64_t per_thread, unsigned char *block);

#endif
