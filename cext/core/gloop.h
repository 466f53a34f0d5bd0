/* core/gloop: one call of a generalized ufunc as arithmetic: which dimensions of its operands are
 * core dimensions and how long they are, what the others broadcast to, and the parameters that the
 * kernel gets. Messages are NumPy's. */
#ifndef NL_CORE_GLOOP_H
#define NL_CORE_GLOOP_H

#include "base/error.h"
#include "core/layout.h"

#define NL_GU_MAX_OPERANDS 32
#define NL_GU_MAX_CORE 8        /* core dimensions of one operand */
#define NL_GU_MAX_DIMENSIONS 64 /* different core dimensions */

/* The layout text, "(m,n),(n,p)->(m,p)", as numbalite/ufuncs/gusignature.py reads it. */
typedef struct nl_gcore {
    int nin, nout;
    uint32_t written;                    /* bit i: the function writes input i */
    int count;                           /* different core dimensions */
    int64_t fixed[NL_GU_MAX_DIMENSIONS]; /* size, or -1 where calls decide */
    uint8_t optional[NL_GU_MAX_DIMENSIONS];
    uint8_t ndim[NL_GU_MAX_OPERANDS];                  /* core dimensions, inputs first */
    uint8_t place[NL_GU_MAX_OPERANDS][NL_GU_MAX_CORE]; /* which they are */
    char *name, *text;                                 /* for messages */
} nl_gcore;

/* Does the function write operand i? */
static inline int nl_gcore_writes(const nl_gcore *core, int i) {
    return i >= core->nin || (core->written >> i & 1);
}

typedef struct nl_goperand {
    int given;             /* 0: an output that is to be made; array is not known then */
    int core;              /* core dimensions that the array has, the last ones of its order */
    nl_layout array;       /* as it is */
    int axes[NL_MAX_DIMS]; /* its order: its loop dimensions, then the core ones -> axis of array */
} nl_goperand;

typedef struct nl_gloop {
    const nl_gcore *core;
    int keepdims;                          /* core dimensions stay in the outputs, with length 1 */
    uint8_t missing[NL_GU_MAX_DIMENSIONS]; /* optional ones that some operand lacks */
    int64_t sizes[NL_GU_MAX_DIMENSIONS];
    int ndim; /* loop dimensions */
    int64_t shape[NL_MAX_DIMS];
    nl_goperand operands[NL_GU_MAX_OPERANDS];
} nl_gloop;

/* Whether keepdims= goes with the layout. */
int nl_gcore_check_keepdims(const nl_gcore *core, nl_error *err);

/* The steps of a call, in this order. Each returns 0, or -1 with *err. */

/* From ndim of the operands: core of each, missing, ndim of the loop; axes are in order. */
int nl_gloop_open(nl_gloop *loop, nl_error *err);
/* Here the caller may change axes. Then, from the shapes: sizes. */
int nl_gloop_sizes(nl_gloop *loop, nl_error *err);
/* The loop's shape: what inputs and given outputs broadcast to. */
int nl_gloop_broadcast(nl_gloop *loop, nl_error *err);
/* Shape of an output that is not given, and strides for an order: 'C', 'F', or 'K': the loop
 * dimensions lie as those of the inputs do. `fortran_core`: the core dimensions are in that order.
 */
int nl_gloop_output(nl_gloop *loop, int operand, char order, int fortran_core, nl_error *err);

/* Shape and strides of an operand's core as the function declares it: dimensions that the array
 * lacks have length 1. */
void nl_gloop_core(const nl_gloop *loop, int operand, int64_t *shape, int64_t *strides);

/* What the kernel runs over: dimensions of length 1 are gone, the others are sorted for the memory
 * and merged where all operands allow it. */
typedef struct nl_gpacked {
    int dims; /* at least 1 */
    int wide; /* count or an offset does not fit in 31 bits */
    int64_t count;
    int64_t shape[NL_MAX_DIMS];
    int64_t strides[NL_GU_MAX_OPERANDS][NL_MAX_DIMS];
} nl_gpacked;
int nl_gloop_pack(const nl_gloop *loop, nl_gpacked *packed, nl_error *err);
/* How many dimensions the kernel for `dims` has: 1, 2, 4, 8 or 32. */
int nl_gpacked_kernel_dims(int dims);

/* The kernel's parameter (gufunc.cuh: gufunc_call), with `dims` dimensions: an array of 8-byte
 * words. `lanes` of a warp have a loop index. `slots`: 16 bytes for each operand, an address or a
 * value. Returns the words written; at most NL_GU_MAX_WORDS. */
#define NL_GU_MAX_WORDS \
    (2 * NL_GU_MAX_OPERANDS + 4 + 2 * NL_MAX_DIMS + NL_GU_MAX_OPERANDS * NL_MAX_DIMS + \
     2 * NL_GU_MAX_OPERANDS * NL_GU_MAX_CORE)
int nl_gpacked_write(const nl_gpacked *packed, const nl_gloop *loop, int dims, int lanes,
                     const uint64_t (*slots)[2], uint64_t *words);

#endif
