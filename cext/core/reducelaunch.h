/* core/reducelaunch: describes the launches of a reduction or a scan: dimensions, schedules, and
 * the plan that each kernel reads (cuda_src/numbalite/reduce.cuh). */
#ifndef NL_CORE_REDUCELAUNCH_H
#define NL_CORE_REDUCELAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include "core/layout.h"

enum {
    NL_REDUCE_SMALL_DIMS = 6, /* maximum number of dimensions of a plan that is not wide */
    NL_REDUCE_MAX_DIMS = 64,
    NL_REDUCE_MAX_STEPS = 3,
    NL_REDUCE_MAX_SCRATCH = 3,
    NL_REDUCE_MAX_SLOTS = 6,
};

/* An axis: its length, and the strides of the arrays in bytes, which are 0 for an array that is not
 * used. */
typedef struct nl_reduce_dim {
    int64_t length, input, where, output;
} nl_reduce_dim;

typedef struct nl_reduce_dims {
    int count;
    nl_reduce_dim at[NL_REDUCE_MAX_DIMS];
} nl_reduce_dims;

/* Removes all dimensions. The array of dimensions is not initialized, because it is large, and
 * every reduction uses several of them. */
static inline void nl_reducelaunch_clear_dims(nl_reduce_dims *d) {
    d->count = 0;
}

static inline int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

int64_t nl_reducelaunch_length_product(const nl_reduce_dim *d, int count);
int64_t nl_reducelaunch_count_elements(const nl_reduce_dims *d);
void nl_reducelaunch_append_dim(nl_reduce_dims *d, nl_reduce_dim one);
/* Appends a dimension, unless its length is 1. Merges the appended dimension with the previous
 * dimension if the strides permit this. */
void nl_reducelaunch_append_merged(nl_reduce_dims *d, nl_reduce_dim one);
void nl_reducelaunch_merge_dims(nl_reduce_dims *d);
int64_t nl_reducelaunch_input_stride_key(const nl_reduce_dim *d); /* sort key by which the largest
                                                                   * stride of the input is first */
void nl_reducelaunch_sort_dims(nl_reduce_dims *d,
                               int64_t (*key)(const nl_reduce_dim *)); /* stable */

typedef enum nl_reduce_kind {
    NL_REDUCE_NONE,
    NL_REDUCE_PACKED,       /* a warp or a block reduces each row; elements are contiguous */
    NL_REDUCE_STRIDED,      /* like PACKED, but with gaps between the elements of a row */
    NL_REDUCE_STEPPED,      /* like PACKED, but with several axes, of which the last has a constant
                             * stride */
    NL_REDUCE_SHORT_PACKED, /* a few lanes of a warp reduce each row */
    NL_REDUCE_SHORT_STRIDED,
    NL_REDUCE_GAPPED_PACKED, /* each result is reduced from several rows with gaps between them */
    NL_REDUCE_GAPPED_STEPPED,
    NL_REDUCE_COLUMNS,        /* each thread reduces several neighbouring results */
    NL_REDUCE_TEAMS,          /* rows of up to 512 bytes, one access per lane */
    NL_REDUCE_STRIPES,        /* short columns, each reduced by one thread */
    NL_REDUCE_STAGED_COLUMNS, /* groups of columns, copied to shared memory */
    NL_REDUCE_NARROW,         /* each block reduces a few long columns */
    NL_REDUCE_SERIAL,         /* one thread computes a result, or a part of a result */
    NL_SCAN_SERIAL,           /* one thread scans a row, or a part of a row */
    NL_SCAN_ROWS,             /* one thread scans a row in shared memory */
    NL_SCAN_WARPS,            /* one warp scans a row */
    NL_SCAN_COLUMNS,          /* tiles of columns */
    NL_SCAN_TILES,            /* tiles of rows */
    NL_SCAN_PIPELINED,        /* tiles of rows that are copied to shared memory before the scan */
} nl_reduce_kind;

/* The schedule of one launch that reduces or scans. */
typedef struct nl_reduce_schedule {
    nl_reduce_kind kind;
    /* template argument of the kernel: columns per thread, lanes per row, or elements per access; 0
     * if the kernel has no such argument */
    int width;
    /* elements that a thread loads at a time (STRIPES), or accesses per thread (SCAN_TILES and
     * SCAN_WARPS) */
    int ahead;
    int threads;
    int team;             /* warps that reduce a row together; STAGED_COLUMNS: groups of a block */
    int64_t parts, chunk; /* number of parts of a result, and number of elements of a part */
    int64_t groups; /* number of groups of columns with separate rows (NARROW and STAGED_COLUMNS) */
} nl_reduce_schedule;

/* Indices of the arrays of a launch: those of the call, then scratch arrays. */
enum { NL_REDUCE_INPUT, NL_REDUCE_WHERE, NL_REDUCE_OUTPUT, NL_REDUCE_SEGMENTS, NL_REDUCE_SCRATCH };

/* The type of the numbers that a kernel reads or writes: the type of the input, of the accumulator,
 * or of the output. */
typedef enum nl_reduce_type { NL_REDUCE_STORED, NL_REDUCE_LOOP, NL_REDUCE_RESULT } nl_reduce_type;

typedef struct nl_reduce_step {
    nl_reduce_schedule schedule,
        /* schedule by which the last block reduces the partial results; its kind may be NONE */
        last;
    nl_reduce_type reads, writes;
    int wide, cached;
    int vec; /* number of neighbouring columns that form one element of a scan */
    int64_t grid, shared_bytes;
    unsigned char *plan; /* a pointer into the storage of the nl_reduce_plan */
    size_t plan_size;
    int slot_count;
    uint8_t slots[NL_REDUCE_MAX_SLOTS];
} nl_reduce_step;

typedef enum nl_reduce_scratch_kind {
    NL_REDUCE_NUMBERS,  /* accumulators */
    NL_REDUCE_FLAGS,    /* booleans */
    NL_REDUCE_COUNTER,  /* a uint32 that is zero before and after each launch */
    NL_REDUCE_STATUSES, /* uint32, zero before each launch */
} nl_reduce_scratch_kind;

typedef struct nl_reduce_scratch {
    nl_reduce_scratch_kind kind;
    int64_t count;
} nl_reduce_scratch;

typedef struct nl_reduce_plan {
    int step_count, scratch_count;
    nl_reduce_step steps[NL_REDUCE_MAX_STEPS];
    nl_reduce_scratch scratch[NL_REDUCE_MAX_SCRATCH];
    unsigned char *storage; /* the caller's memory for the plans of all steps */
    size_t used;
} nl_reduce_plan;

/* The contents of a plan, except its dimensions. */
typedef struct nl_reduce_plan_options {
    const void *initial; /* the initial value, or NULL */
    size_t initial_size; /* its bytes */
    int copies;          /* number of consecutive copies of the initial value in the plan */
    int is_last, segmented, by_part, by_one;
    double divisor;
    int64_t results; /* number of results, or 0 for the product of the kept dimensions */
} nl_reduce_plan_options;

/* Returns the size in bytes of the storage for any plan with accumulators of this size. */
size_t nl_reducelaunch_storage_size(int64_t accumulator);
nl_reduce_step *nl_reducelaunch_add_step(nl_reduce_plan *plan, const nl_reduce_schedule *schedule,
                                         nl_reduce_type reads, nl_reduce_type writes, int64_t grid);
/* Adds a scratch array and returns its slot. */
uint8_t nl_reducelaunch_add_scratch(nl_reduce_plan *plan, nl_reduce_scratch_kind kind,
                                    int64_t count);
void nl_reducelaunch_set_slots(nl_reduce_step *step, int count, const uint8_t *slots);
/* Appends a plan to the bytes of the last step's plan. Returns whether the appended plan is
 * wide. */
int nl_reducelaunch_write_plan(nl_reduce_plan *plan, const nl_reduce_schedule *schedule,
                               const nl_reduce_dims *kept, const nl_reduce_dims *reduced,
                               int64_t accumulator, const nl_reduce_plan_options *options);

#endif
