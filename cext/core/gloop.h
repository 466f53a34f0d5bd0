/* core/gloop: the geometry of one gufunc call: core dimensions of the operands and their sizes, the
 * shape to which the loop dimensions broadcast, and the kernel's parameters. Error messages are
 * NumPy's. */
#ifndef NL_CORE_GLOOP_H
#define NL_CORE_GLOOP_H

#include "base/error.h"
#include "core/layout.h"

#define NL_GU_MAX_OPERANDS 32
#define NL_GU_MAX_CORE 8        /* maximum number of core dimensions of one operand */
#define NL_GU_MAX_DIMENSIONS 64 /* maximum number of different core dimensions */

/* The parsed signature, as "(m,n),(n,p)->(m,p)"; numbalite/ufuncs/gusignature.py parses it. */
typedef struct nl_gcore {
    int nin, nout;
    uint32_t written; /* bit i is set if the function writes to input i */
    int count;        /* number of different core dimensions */
    /* fixed size of a core dimension, or -1 if the size varies */
    int64_t fixed[NL_GU_MAX_DIMENSIONS];
    uint8_t optional[NL_GU_MAX_DIMENSIONS];
    uint8_t ndim[NL_GU_MAX_OPERANDS];                  /* number of core dimensions, inputs first */
    uint8_t place[NL_GU_MAX_OPERANDS][NL_GU_MAX_CORE]; /* index of each core dimension */
    char *name, *text;                                 /* for messages */
} nl_gcore;

/* Returns whether the function writes to operand i. */
static inline int nl_gcore_is_written(const nl_gcore *core, int i) {
    return i >= core->nin || (core->written >> i & 1);
}

typedef struct nl_goperand {
    int given;       /* 0: an output to be allocated; `array` is not set yet */
    int core;        /* number of core dimensions of the array, which are always its last
                      * dimensions */
    nl_layout array; /* the operand's layout */
    /* axis of `array` for each loop dimension, then for each core dimension */
    int axes[NL_MAX_DIMS];
} nl_goperand;

typedef struct nl_gloop {
    const nl_gcore *core;
    int keepdims;                          /* set if core dimensions remain in the outputs, with
                                            * length 1 */
    uint8_t missing[NL_GU_MAX_DIMENSIONS]; /* set for optional core dimensions that an operand
                                            * lacks */
    int64_t sizes[NL_GU_MAX_DIMENSIONS];
    int ndim; /* number of loop dimensions */
    int64_t shape[NL_MAX_DIMS];
    nl_goperand operands[NL_GU_MAX_OPERANDS];
} nl_gloop;

/* Checks whether the signature supports keepdims=. */
int nl_gloop_check_keepdims(const nl_gcore *core, nl_error *err);

/* The following functions are the steps of a call, in this order. Each step returns 0, or -1 with
 * *err set. */

/* Reads the number of dimensions of each operand, and sets `core` of each operand, `missing` and
 * the loop's ndim. Sets `axes` to the array's own order. */
int nl_gloop_read_dimensions(nl_gloop *loop, nl_error *err);
/* Sets `sizes` from the shapes of the operands. Before this step, the caller may change `axes`. */
int nl_gloop_set_sizes(nl_gloop *loop, nl_error *err);
/* Sets the loop's shape, to which the inputs and the caller's outputs broadcast. */
int nl_gloop_broadcast_operands(nl_gloop *loop, nl_error *err);
/* Sets the shape of an output that the caller did not pass, and its strides. `order` is 'C', 'F',
 * or 'K' for the order of the inputs' loop dimensions in memory. If `fortran_core` is set, the core
 * dimensions have Fortran order. */
int nl_gloop_set_output_layout(nl_gloop *loop, int operand, char order, int fortran_core,
                               nl_error *err);

/* Sets the shape and strides of an operand's core dimensions as the function declares them:
 * dimensions that the array lacks have length 1. */
void nl_gloop_core_layout(const nl_gloop *loop, int operand, int64_t *shape, int64_t *strides);

/* The kernel's loop, without dimensions of length 1; its dimensions are sorted by stride, and
 * merged if they are contiguous in all operands. */
typedef struct nl_gpacked {
    int dims; /* at least 1 */
    int wide; /* set if the count or an offset exceeds 31 bits */
    int64_t count;
    int64_t shape[NL_MAX_DIMS];
    int64_t strides[NL_GU_MAX_OPERANDS][NL_MAX_DIMS];
} nl_gpacked;
int nl_gloop_merge_dimensions(const nl_gloop *loop, nl_gpacked *packed, nl_error *err);
/* Rounds a number of dimensions up to the next one for which kernels are compiled: 1, 2, 4, 8 or
 * 32. */
int nl_gloop_kernel_dims(int dims);

/* Writes the kernel's parameter, gufunc_call of gufunc.cuh with `dims` dimensions, as an array of
 * 8-byte words. `lanes` is the number of lanes of a warp that share a loop index. `slots` contains
 * 16 bytes for each operand: an address or a value. Returns the number of written 8-byte words, at
 * most NL_GU_MAX_WORDS. */
#define NL_GU_MAX_WORDS \
    (2 * NL_GU_MAX_OPERANDS + 4 + 2 * NL_MAX_DIMS + NL_GU_MAX_OPERANDS * NL_MAX_DIMS + \
     2 * NL_GU_MAX_OPERANDS * NL_GU_MAX_CORE)
int nl_gloop_write_parameter(const nl_gpacked *packed, const nl_gloop *loop, int dims, int lanes,
                             const uint64_t (*slots)[2], uint64_t *words);

#endif
