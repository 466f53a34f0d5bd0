/* core/reduceplan: how a reduction is divided among threads. Arithmetic on shapes, strides and
 * alignment; equal calls give equal plans, and therefore equal bits. The kernels are
 * cuda_src/numbalite/reduce.cuh, short_axes.cuh and staged_columns.cuh. */
#ifndef NL_CORE_REDUCEPLAN_H
#define NL_CORE_REDUCEPLAN_H

#include <stddef.h>
#include <stdint.h>
#include "core/layout.h"

enum {
    NL_REDUCE_SMALL_DIMS = 6, /* capacity of a plan; a wide one has NL_REDUCE_MAX_DIMS */
    NL_REDUCE_MAX_DIMS = 64,
    NL_REDUCE_MAX_STEPS = 2,
    NL_REDUCE_MAX_SCRATCH = 3,
    NL_REDUCE_MAX_SLOTS = 6,
    NL_REDUCE_MAX_NUMBER = 256, /* bytes of an accumulator */
    NL_REDUCE_MAX_PLAN = NL_REDUCE_MAX_NUMBER + 80 + 32 * NL_REDUCE_MAX_DIMS,
};

/* One axis; strides in bytes, 0 for an array that is not used. */
typedef struct nl_reduce_dim {
    int64_t length, input, where, output;
} nl_reduce_dim;

typedef struct nl_reduce_dims {
    int count;
    nl_reduce_dim at[NL_REDUCE_MAX_DIMS];
} nl_reduce_dims;

typedef enum nl_reduce_kind {
    NL_REDUCE_NONE,
    NL_REDUCE_PACKED,       /* rows of contiguous elements, for warps or blocks */
    NL_REDUCE_STRIDED,      /* the same of elements with gaps */
    NL_REDUCE_STEPPED,      /* several axes, the last of which has equal steps */
    NL_REDUCE_SHORT_PACKED, /* rows for a few lanes */
    NL_REDUCE_SHORT_STRIDED,
    NL_REDUCE_GAPPED_PACKED, /* each result from rows with gaps between them */
    NL_REDUCE_GAPPED_STEPPED,
    NL_REDUCE_COLUMNS,        /* neighbouring results for a thread */
    NL_REDUCE_TEAMS,          /* rows of up to 512 bytes, one access for a lane */
    NL_REDUCE_STRIPES,        /* short columns, whole ones for a thread */
    NL_REDUCE_STAGED_COLUMNS, /* groups of columns by way of shared memory */
    NL_REDUCE_NARROW,         /* few long columns for a block */
    NL_REDUCE_SERIAL,         /* one thread for a result or for a part of one */
} nl_reduce_kind;

/* How one launch reduces. */
typedef struct nl_reduce_schedule {
    nl_reduce_kind kind;
    int width; /* template argument: columns of a thread, or lanes of a row; 0: the kernel has none
                */
    int ahead; /* STRIPES: elements that a thread loads at a time */
    int threads;
    int team;             /* warps that reduce a row together; STAGED_COLUMNS: groups of a block */
    int64_t parts, chunk; /* parts of a result, and elements of one */
    int64_t groups; /* NARROW, STAGED_COLUMNS: groups of columns that have rows of their own */
} nl_reduce_schedule;

/* What the reduced array is, and how it may be reduced. */
typedef struct nl_reduce_traits {
    int64_t itemsize;    /* of an element as it is stored */
    int64_t accumulator; /* bytes of a number as it is reduced; 0 where no kind for columns may be
                            chosen */
    int64_t address;     /* of the first element, modulo 16 */
    int masked;
    int any_order; /* elements may be combined in any order */
    int serial;    /* the threads of a block run one after another */
} nl_reduce_traits;

nl_reduce_schedule nl_reduceplan_schedule(const nl_reduce_dims *kept, const nl_reduce_dims *reduced,
                                          const nl_reduce_traits *traits);
/* How many lanes reduce a row of so many elements, `width` of which are one access; 32: a warp. */
int nl_reduceplan_lanes(int64_t length, int64_t width, int64_t accumulator, int64_t results);
/* How many elements a part has, where each result is reduced from `rows` with gaps between them; 0
 * where rows are short or cannot be divided into equal parts. */
int64_t nl_reduceplan_row_part(int64_t rows, int64_t row, int64_t itemsize, int64_t results,
                               int any_order);
int64_t nl_reduceplan_grid(const nl_reduce_schedule *schedule, int64_t results);

/* A reduction of an array: axes of which the bit is set in `axes` are reduced. */
typedef struct nl_reduce_request {
    nl_reduce_traits traits;
    int ndim;
    const int64_t *shape, *strides;
    const int64_t *where; /* strides of the mask, or NULL */
    uint64_t axes;
    const int64_t *output; /* strides of the other axes in the output */
    int segmented; /* this axis is reduced by segments, of which there are `segments`; -1: none */
    int64_t segments;
    int reorderable;     /* the axes may be combined in any order */
    const void *initial; /* a number, or NULL */
    size_t initial_size; /* its bytes, at most `accumulator` */
    double divisor;
    int64_t cached_bytes; /* an array of so many bytes may be in the L2 cache */
} nl_reduce_request;

/* Arrays of a launch: those of the call, then scratch arrays. */
enum { NL_REDUCE_INPUT, NL_REDUCE_WHERE, NL_REDUCE_OUTPUT, NL_REDUCE_SEGMENTS, NL_REDUCE_SCRATCH };

/* What a number of the kernel is: of the input, an accumulator, of the output. */
typedef enum nl_reduce_type { NL_REDUCE_STORED, NL_REDUCE_LOOP, NL_REDUCE_RESULT } nl_reduce_type;

typedef struct nl_reduce_step {
    nl_reduce_schedule schedule,
        last; /* last: how the last block reduces the parts; its kind may be NONE */
    nl_reduce_type reads, writes;
    int wide, cached;
    int64_t grid;
    size_t plan_size; /* bytes of `plan` */
    unsigned char plan[NL_REDUCE_MAX_PLAN];
    int slot_count;
    uint8_t slots[NL_REDUCE_MAX_SLOTS];
} nl_reduce_step;

typedef enum nl_reduce_scratch_kind {
    NL_REDUCE_NUMBERS, /* accumulators */
    NL_REDUCE_FLAGS,   /* booleans */
    NL_REDUCE_COUNTER, /* uint32, zero before and after each launch */
} nl_reduce_scratch_kind;

typedef struct nl_reduce_scratch {
    nl_reduce_scratch_kind kind;
    int64_t count;
} nl_reduce_scratch;

typedef struct nl_reduce_plan {
    int step_count, scratch_count;
    nl_reduce_step steps[NL_REDUCE_MAX_STEPS];
    nl_reduce_scratch scratch[NL_REDUCE_MAX_SCRATCH];
} nl_reduce_plan;

/* A limit by its name in reduceplan.c, for tests; NULL for an unknown one. */
int64_t *nl_reduceplan_limit(const char *name);

/* The launches of a reduction. No axis is empty. */
void nl_reduceplan_make(const nl_reduce_request *request, nl_reduce_plan *plan);

#endif
