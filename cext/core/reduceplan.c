/* core/reduceplan: chooses the schedule of a reduction by its shape, strides and alignment. The
 * constants were measured on H100 and H200. */
#include "core/reduceplan.h"

#include <stdlib.h>
#include "core/reducelimit.h"

enum {
    WARP = 32,
    THREADS = 256,
    SERIAL_THREADS = 128,
    ACCESS_BYTES = 16, /* bytes of a thread's widest load */
    /* maximum size in bytes of a part if the elements must be combined in order */
    MAX_PART_BYTES = 1 << 17,
    MAX_PARTS = 8192,
    LARGE_PART_BYTES = 1 << 16,
    ROW_BYTES = 1 << 13, /* maximum size in bytes of a row that one warp reduces */
    MANY_ROWS = 1 << 13, /* minimum number of rows for the maximum LONG_ROW_BYTES */
    LONG_ROW_BYTES = 1 << 15,
    /* A block reduces a row of more than MIN_BLOCK_ROW_BYTES faster than a warp does, except if the
     * row exceeds BLOCK_TURN_BYTES (one pass of the block's threads) by at most BLOCK_REST_BYTES:
     * then most threads are idle in the second pass. */
    MIN_BLOCK_ROW_BYTES = 12 << 10,
    BLOCK_TURN_BYTES = 16 << 10,
    BLOCK_REST_BYTES = 1 << 13,
    MAX_ROW_PARTS = 1 << 15,
    COLUMN_THREADS = 1 << 17, /* threads that keep a device busy */
    WIDE_THREADS = 1 << 16,   /* minimum number of threads for more than SMALL_WIDTH columns per
                               * thread */
    COLUMN_WARPS = 8,         /* warps per block, as in short_axes.cuh */
    /* maximum size in bytes of a thread's accumulators; the block stores the accumulators of 7 of 8
     * warps in shared memory */
    COLUMN_BYTES = 128,
    SHORT = 16,          /* maximum number of elements of a row that one thread reduces */
    SHORT_RUN = 16,      /* minimum length of a column's last axis for several concurrent loads */
    LANE_PIECES = 4,     /* number of loads per lane of a short row */
    MAX_LANE_PIECES = 8, /* number of loads per lane of a short row, if combining lanes is slow */
    MIN_LANES = 2,
    GAPPED_BYTES = 1 << 11, /* minimum number of bytes per result for the GAPPED schedules */
    STRIPE_ROWS = 64,       /* maximum length of a column that one thread reduces */
    /* minimum number of threads for more than SMALL_WIDTH columns per thread */
    STRIPE_WIDE_THREADS = 1 << 16,
    MIN_STRIPE_THREADS = 1 << 15,
    LONG_STRIPE_ROWS = 256, /* used instead of STRIPE_ROWS if STRIPE_RUN_BYTES bytes are
                             * contiguous */
    STRIPE_RUN_BYTES = 32,
    SMALL_WIDTH = 4,    /* number of columns per thread if more columns would leave too few
                         * threads */
    NARROW_BYTES = 512, /* maximum size in bytes of a row of all columns of a block */
    /* maximum size in bytes of a row of each group of columns, for a block with several groups */
    NARROW_GROUP_BYTES = 128,
    NARROW_PARTS = 512,
    /* maximum size in bytes of a group of columns that a block copies to shared memory */
    STAGED_BYTES = 24 << 10,
    STAGED_TILE = 16 << 10,
    STAGED_ROW = 256, /* maximum size in bytes of a row for staging, if rows are contiguous */
    /* maximum size in bytes of a row of 8-byte elements for staging, if rows are contiguous */
    STAGED_WIDE_ROW = 160,
    /* maximum size in bytes of a reduced axis between kept axes for which a second launch reduces
     * this axis */
    AMONG_BYTES = 128,
    LATER_SHARE = 8, /* a second launch reads at most 1/8 of the bytes that the first launch
                      * reads */
    /* maximum number of bytes per result for which a block has too little work, so that two
     * launches are faster than one */
    MAX_UNDIVIDED_BYTES = 1 << 15,
    WORTH_BYTES = 1 << 25,     /* number of bytes that the device reads in the time of a launch */
    MAX_SECOND_PASS = 1 << 16, /* number of elements that a few blocks reduce in the time of a
                                * launch */
};

typedef nl_reduce_dim dim;
typedef nl_reduce_dims dims;
typedef nl_reduce_schedule schedule;
typedef nl_reduce_traits traits;

/* ---- dimensions ---- */

static const dim *last_dimension_of(const dims *d) {
    return &d->at[d->count - 1];
}

static int64_t dim_length(const dim *d) {
    return d->length;
}

static int are_strides_multiples(const dim *d, int count, int64_t of) {
    for (int i = 0; i < count; i++)
        if (d[i].input % of)
            return 0;
    return 1;
}

/* Returns whether the addresses of all elements are multiples of `of`; `address` is the address of
 * the first element. Only the first `kept_count` and `reduced_count` dimensions are checked: the
 * elements along further dimensions belong to the same access. */
static int are_elements_aligned(const dims *kept, int kept_count, const dims *reduced,
                                int reduced_count, int64_t address, int64_t of) {
    return address % of == 0 && are_strides_multiples(kept->at, kept_count, of) &&
           are_strides_multiples(reduced->at, reduced_count, of);
}

/* Returns whether the elements along the last reduced axis are contiguous, and each row is aligned
 * to the itemsize. */
static int are_reduced_rows_contiguous(const dims *kept, const dims *reduced, const traits *t) {
    return last_dimension_of(reduced)->input == t->itemsize &&
           are_elements_aligned(kept, kept->count, reduced, reduced->count - 1, t->address,
                                t->itemsize);
}

/* ---- schedules for columns ---- */

/* Returns the number of neighbouring results that a thread can reduce with one access, or 0 if
 * their elements are not neighbours or not aligned. */
static int vector_width(const dims *kept, const dims *reduced, const traits *t) {
    int64_t size = t->itemsize, width = max64(ACCESS_BYTES / size, 1);
    if (!kept->count || !reduced->count || !t->accumulator ||
        last_dimension_of(kept)->input != size)
        return 0;
    if (!are_elements_aligned(kept, kept->count - 1, reduced, reduced->count, t->address, size))
        return 0;
    while (width > 1 &&
           (width * t->accumulator > COLUMN_BYTES || last_dimension_of(kept)->length % width ||
            !are_elements_aligned(kept, kept->count - 1, reduced, reduced->count, t->address,
                                  width * size)))
        width /= 2;
    return (int)width;
}

/* Halves `width`, the number of columns per thread, until there are at least `min_threads` threads,
 * or at least `min_wide_threads` if the width is above SMALL_WIDTH. */
static int width_for_enough_threads(int width, int64_t results, int64_t min_wide_threads,
                                    int64_t min_threads) {
    while (width > 1 && (results / width < min_threads ||
                         (width > SMALL_WIDTH && results / width < min_wide_threads)))
        width /= 2;
    return width;
}

/* Returns the minimum number of columns per thread: with fewer columns, accesses are too small:
 * less than 8 bytes for elements of 1 byte, less than 4 bytes for larger elements. */
static int min_width(int64_t itemsize) {
    return itemsize == 1 ? 8 : itemsize < 4 ? (int)(4 / itemsize) : 1;
}

/* Returns a schedule of kind COLUMNS. A block has COLUMN_WARPS warps, and each warp reduces a part
 * of the column. The number of blocks is about the number of blocks that run concurrently. If a
 * smaller width yields enough threads, the columns are not divided among several blocks, because
 * dividing columns requires a second step. */
static schedule columns_schedule(int64_t results, int64_t length, int width, int64_t itemsize) {
    int64_t enough = COLUMN_THREADS / (2 * COLUMN_WARPS) + 1; /* for one part */
    int is_undivided = results / min64(width, min_width(itemsize)) >= enough;
    width = itemsize == 1 && width > 8 ? 8 : width;
    width = width_for_enough_threads(width, results, itemsize == 1 ? WARP : WIDE_THREADS,
                                     is_undivided ? enough : WARP);
    int64_t across = divide_up(results / width, WARP);
    int64_t wanted = (int64_t)COLUMN_THREADS / (across * THREADS);
    int64_t parts = max64(min64(wanted, length / (8 * COLUMN_WARPS)), 1);
    int64_t chunk = max64(divide_up(length, parts), 1);
    return (schedule){NL_REDUCE_COLUMNS,
                      width,
                      0,
                      THREADS,
                      COLUMN_WARPS,
                      max64(1, divide_up(length, chunk)),
                      chunk,
                      1};
}

/* Returns the number of lanes that reduce a row with one access each, or 0 if that is not
 * possible. */
static int lanes_per_row_team(const dims *kept, const dims *reduced, const traits *t) {
    if (reduced->count != 1 || reduced->at[0].input != t->itemsize || t->itemsize > ACCESS_BYTES)
        return 0;
    int64_t bytes = reduced->at[0].length * t->itemsize, lanes = bytes / ACCESS_BYTES;
    if (bytes % ACCESS_BYTES || lanes > WARP || lanes == 0 || (lanes & (lanes - 1)))
        return 0;
    return are_elements_aligned(kept, kept->count, reduced, 0, t->address, ACCESS_BYTES)
               ? (int)lanes
               : 0;
}

/* Returns the number of neighbouring short columns that one thread reduces, or 0 if another
 * schedule is better. */
static int columns_per_stripe(const dims *kept, const dims *reduced, const traits *t,
                              int64_t results) {
    int64_t rows = reduced->count == 1 ? reduced->at[0].length : 0;
    /* size in bytes; elements of less than 4 bytes count as 4 bytes */
    int64_t wanted = max64(rows, STRIPE_ROWS) * nl_reducelimit_value(NL_LIMIT_STRIPE_BYTES);
    if (rows == 0 || rows > LONG_STRIPE_ROWS || results * max64(t->itemsize, 4) < wanted)
        return 0;
    int width = vector_width(kept, reduced, t);
    if (rows > STRIPE_ROWS && (width > SMALL_WIDTH || !kept->count ||
                               last_dimension_of(kept)->length * t->itemsize < STRIPE_RUN_BYTES))
        return 0;
    return width_for_enough_threads(width, results, STRIPE_WIDE_THREADS, MIN_STRIPE_THREADS);
}

/* Returns the number of neighbouring columns per thread, for a few long columns, or 0 if the array
 * has no such columns. A block may have several groups of columns if no wide access is possible. */
static int narrow_columns_per_thread(const dims *kept, const dims *reduced, const traits *t) {
    if (!kept->count || reduced->count != 1)
        return 0;
    int64_t columns = last_dimension_of(kept)->length;
    int64_t most = kept->count == 1 ? NARROW_BYTES : NARROW_GROUP_BYTES;
    if (columns * t->itemsize > most || columns > THREADS / 2)
        return 0;
    int width = vector_width(kept, reduced, t);
    if (!width || (kept->count > 1 && width * t->itemsize == ACCESS_BYTES))
        return 0;
    return reduced->at[0].length >= 4 * THREADS / (columns / width) ? width : 0;
}

static schedule narrow_parts_schedule(int width, const dims *kept, const dims *reduced,
                                      int64_t itemsize) {
    int64_t length = reduced->at[0].length, row = last_dimension_of(kept)->length * itemsize;
    int64_t groups = nl_reducelaunch_length_product(kept->at, kept->count - 1);
    int64_t parts = max64(min64(NARROW_PARTS / groups,
                                length * row / nl_reducelimit_value(NL_LIMIT_NARROW_PART_BYTES)),
                          1);
    if (length * row * groups <= 4 * nl_reducelimit_value(NL_LIMIT_NARROW_PART_BYTES))
        parts = 1;
    int64_t chunk = divide_up(length, parts);
    return (schedule){NL_REDUCE_NARROW,         width, 0,     THREADS, 1,
                      divide_up(length, chunk), chunk, groups};
}

/* Returns the number of lanes of a warp that access the same bank of shared memory when each lane
 * reads the same element of its own row. Rows have `bytes` bytes and are contiguous. */
static int64_t lanes_per_bank(int64_t bytes) {
    int64_t words = bytes / 4;
    return bytes % 4 ? 1 : min64(words & -words, WARP);
}

/* Returns whether threads reduce contiguous rows of `length` elements faster in shared memory. */
static int is_staged_row(int64_t length, int64_t item) {
    int64_t bytes = length * item;
    return bytes <= (item < 8 ? STAGED_ROW : STAGED_WIDE_ROW) &&
           lanes_per_bank(bytes) <= (item < 8 ? 4 : 8);
}

/* Returns the schedule STAGED_COLUMNS, in which blocks copy whole groups of columns to shared
 * memory. Contiguous rows of a few elements are groups of one column. Returns a schedule of kind
 * NONE if groups are too large, or if threads can load 16 bytes of more than two neighbouring
 * columns without shared memory. */
static schedule staged_columns_schedule(const dims *kept, const dims *reduced, const traits *t) {
    schedule none = {.kind = NL_REDUCE_NONE};
    int64_t item = t->itemsize;
    if (kept->count < 1 || kept->count > 2 || reduced->count != 1 || item > 8 ||
        (item & (item - 1)) || t->address % item)
        return none;
    const dim *groups = &kept->at[0], *rows = &reduced->at[0];
    int64_t columns = kept->count == 2 ? kept->at[1].length : 1, size = rows->length * rows->input;
    if (rows->input != columns * item || groups->input != size || size == 0 || size > STAGED_BYTES)
        return none;
    if (kept->count == 1 && !is_staged_row(rows->length, item))
        return none;
    if (kept->count == 2 &&
        (kept->at[1].input != item || groups->output != columns * kept->at[1].output))
        return none;
    if (item < 8 && rows->input % ACCESS_BYTES == 0 && t->address % ACCESS_BYTES == 0)
        return none;
    if (groups->length * size < nl_reducelimit_value(NL_LIMIT_MIN_STAGED_BYTES))
        return none;
    int64_t together = max64(
        1, min64(STAGED_TILE / size, groups->length / nl_reducelimit_value(NL_LIMIT_BUSY_BLOCKS)));
    if (kept->count == 1 && together > THREADS)
        together -= together % THREADS; /* the number of rows is rounded such that all threads
                                         * reduce equally many rows */
    return (schedule){
        NL_REDUCE_STAGED_COLUMNS, 0, 0, THREADS, (int)together, 1, rows->length, groups->length};
}

/* ---- schedules for rows ---- */

/* Returns the number of lanes for a row of `length` elements, with accesses of `width` elements. */
static int lanes_per_row(int64_t length, int64_t width, int64_t accumulator) {
    int64_t pieces = width > 1 && accumulator < 16 ? LANE_PIECES : MAX_LANE_PIECES;
    int lanes = MIN_LANES;
    while (lanes < WARP && lanes * pieces * width < length)
        lanes *= 2;
    return lanes;
}

/* Returns the number of elements of a part, if a result has `elements` elements. The number of
 * parts is chosen such that the device is busy. With more elements, first the parts become larger,
 * because the end of each part costs time, and then their number increases. */
static int64_t choose_part_length(int64_t elements, int64_t itemsize, int64_t most_bytes) {
    int64_t larger =
        min64(elements / nl_reducelimit_value(NL_LIMIT_BUSY_BLOCKS), LARGE_PART_BYTES / itemsize);
    int64_t least = max64(max64(elements / nl_reducelimit_value(NL_LIMIT_USUAL_PARTS), larger),
                          nl_reducelimit_value(NL_LIMIT_MIN_PART_BYTES) / itemsize);
    return max64(1, min64(least, most_bytes / itemsize)); /* the maximum is at least 1, because a
                                                           * record may be larger than a part */
}

static int64_t max_part_bytes(int any_order) {
    return any_order ? nl_reducelimit_value(NL_LIMIT_MAX_PART_BYTES_ANY_ORDER) : MAX_PART_BYTES;
}

int64_t nl_reduceplan_row_part_length(int64_t rows, int64_t row, int64_t itemsize, int64_t results,
                                      int any_order) {
    int64_t most = max_part_bytes(any_order);
    if (row * itemsize < ROW_BYTES)
        return 0;
    int64_t first = max64(1, row / choose_part_length(rows * row * results, itemsize, most)),
            count = first;
    if (rows * first > MAX_ROW_PARTS)
        return 0;
    while (count <= 2 * first && row % count)
        count++;
    if (count > 2 * first || row / count > 2 * most / itemsize || rows * count > MAX_ROW_PARTS)
        return 0;
    return row / count;
}

/* Returns a GAPPED schedule, which reduces each result from rows with gaps between them. Returns
 * kind NONE if rows are short, or if a result has few or many elements, for which other schedules
 * are faster. */
static schedule gapped_rows_schedule(const dims *kept, const dims *reduced, const traits *t,
                                     int64_t results) {
    schedule none = {.kind = NL_REDUCE_NONE};
    int64_t row = last_dimension_of(reduced)->length,
            rows = nl_reducelaunch_length_product(reduced->at, reduced->count - 1);
    if (reduced->count < 2 || row < SHORT || t->itemsize > ACCESS_BYTES ||
        rows * row * t->itemsize < GAPPED_BYTES)
        return none;
    if (row * t->itemsize >= ROW_BYTES && results < nl_reducelimit_value(NL_LIMIT_BUSY_PARTS))
        return none;
    int dense = are_reduced_rows_contiguous(kept, reduced, t);
    int lanes = lanes_per_row(row, dense ? ACCESS_BYTES / t->itemsize : 1, t->accumulator);
    int64_t part = choose_part_length(rows * row * results, t->itemsize,
                                      nl_reducelimit_value(NL_LIMIT_MAX_PART_BYTES_ANY_ORDER));
    int64_t together =
        results < nl_reducelimit_value(NL_LIMIT_BUSY_PARTS) ? max64(1, divide_up(part, row)) : rows;
    return (schedule){dense ? NL_REDUCE_GAPPED_PACKED : NL_REDUCE_GAPPED_STEPPED,
                      lanes,
                      0,
                      THREADS,
                      THREADS / WARP,
                      divide_up(rows, together),
                      together * row,
                      1};
}

/* Returns whether one warp should reduce a row of `row` bytes. A block is better if there are few
 * rows, or if one pass of all threads of the block reads nearly the whole row. */
static int is_row_for_one_warp(int64_t row, int64_t results) {
    if (results >= MANY_ROWS)
        return row <= LONG_ROW_BYTES;
    if (results < nl_reducelimit_value(NL_LIMIT_BUSY_PARTS))
        return row <= ROW_BYTES;
    return row <= MIN_BLOCK_ROW_BYTES ||
           (BLOCK_TURN_BYTES < row && row <= BLOCK_TURN_BYTES + BLOCK_REST_BYTES);
}

int nl_reduceplan_lanes_per_row(int64_t length, int64_t width, int64_t accumulator,
                                int64_t results) {
    return results < nl_reducelimit_value(NL_LIMIT_TEAM_ROWS) || length <= 1
               ? WARP
               : lanes_per_row(length, width, accumulator);
}

/* ---- choice of a schedule ---- */

static schedule serial_schedule(int64_t length, int64_t parts) {
    int64_t chunk = max64(divide_up(length, parts), 1);
    return (schedule){
        NL_REDUCE_SERIAL, 0, 0, SERIAL_THREADS, 1, max64(1, divide_up(length, chunk)), chunk, 1};
}

/* Chooses a schedule for short axes, in which no warp reduces a whole row; returns kind NONE if no
 * such schedule is suitable. */
static schedule short_axes_schedule(const dims *kept, const dims *reduced, const traits *t,
                                    int64_t results, int64_t length) {
    int width = results >= nl_reducelimit_value(NL_LIMIT_TEAM_ROWS)
                    ? lanes_per_row_team(kept, reduced, t)
                    : 0;
    if (width)
        return (schedule){NL_REDUCE_TEAMS, width, 0, THREADS, 1, 1, length, 1};
    schedule staged = {.kind = NL_REDUCE_NONE};
    if (t->any_order)
        staged = staged_columns_schedule(kept, reduced, t);
    if (staged.kind)
        return staged;
    width = columns_per_stripe(kept, reduced, t, results);
    if (width) {
        int ahead = length <= 2 ? 2 : length <= 4 ? 4 : 8;
        return (schedule){NL_REDUCE_STRIPES, width, ahead, THREADS, 1, 1, length, 1};
    }
    width = t->any_order ? narrow_columns_per_thread(kept, reduced, t) : 0;
    return width ? narrow_parts_schedule(width, kept, reduced, t->itemsize) : staged;
}

static int64_t min_stride(const dims *kept) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < kept->count; i++)
        if (kept->at[i].input)
            least = min64(least, llabs(kept->at[i].input));
    return least;
}

static schedule blocks_schedule(nl_reduce_kind kind, int64_t parts, int64_t chunk) {
    enum { TEAM = THREADS / WARP };
    return (schedule){kind, TEAM, 0, THREADS, TEAM, parts, chunk, 1};
}

/* Returns a schedule that divides each row into several parts; one block reduces each part. */
static schedule parts_schedule(const dims *kept, const dims *reduced, const traits *t, int packed,
                               int64_t results, int64_t length) {
    int64_t size = packed ? t->itemsize : max64(t->itemsize, 4);
    int64_t most = max_part_bytes(t->any_order && !t->masked);
    nl_reduce_kind kind = packed ? NL_REDUCE_PACKED : NL_REDUCE_STRIDED;
    if (t->accumulator && !t->masked && t->itemsize <= ACCESS_BYTES && reduced->count > 1) {
        int dense = are_reduced_rows_contiguous(kept, reduced, t);
        int64_t rows = nl_reducelaunch_length_product(reduced->at, reduced->count - 1);
        int64_t chunk =
            nl_reduceplan_row_part_length(rows, last_dimension_of(reduced)->length,
                                          dense ? t->itemsize : size, results, t->any_order);
        if (chunk)
            return blocks_schedule(dense ? NL_REDUCE_PACKED : NL_REDUCE_STEPPED, length / chunk,
                                   chunk);
    }
    int64_t least = max64(1, nl_reducelimit_value(NL_LIMIT_MIN_PART_BYTES) / size);
    int64_t chunk = max64(choose_part_length(length * results, size, most),
                          divide_up(length * results, MAX_PARTS));
    chunk = divide_up(chunk, least) * least;
    return blocks_schedule(kind, divide_up(length, chunk), chunk);
}

static schedule rows_schedule(const dims *kept, const dims *reduced, const traits *t,
                              int64_t results, int64_t length) {
    int packed = !t->masked && reduced->count == 1 && t->itemsize <= ACCESS_BYTES &&
                 are_reduced_rows_contiguous(kept, reduced, t);
    nl_reduce_kind kind = packed ? NL_REDUCE_PACKED : NL_REDUCE_STRIDED;
    int64_t width = packed ? ACCESS_BYTES / t->itemsize : 1;
    schedule one = {kind, 0, 0, THREADS, 1, 1, length, 1};
    if (t->any_order && t->accumulator && !t->masked) {
        schedule gapped = gapped_rows_schedule(kept, reduced, t, results);
        if (gapped.kind)
            return gapped;
        int lanes = nl_reduceplan_lanes_per_row(length, width, t->accumulator, results);
        if (lanes < WARP) {
            one.kind = packed ? NL_REDUCE_SHORT_PACKED : NL_REDUCE_SHORT_STRIDED;
            one.width = lanes;
            return one;
        }
    }
    if (results < nl_reducelimit_value(NL_LIMIT_BUSY_PARTS) &&
        length * (packed ? t->itemsize : max64(t->itemsize, 4)) >
            nl_reducelimit_value(NL_LIMIT_BLOCK_BYTES))
        return parts_schedule(kept, reduced, t, packed, results, length);
    /* a warp loads a whole row of this length with one access per lane */
    int is_small = length <= WARP * LANE_PIECES * width;
    if (!is_small && (results < 64 || !is_row_for_one_warp(length * t->itemsize, results)))
        one.team = THREADS / WARP;
    one.width = one.team;
    return one;
}

schedule nl_reduceplan_choose_schedule(const dims *kept, const dims *reduced, const traits *t) {
    int64_t results = nl_reducelaunch_count_elements(kept),
            length = nl_reducelaunch_count_elements(reduced);
    if (t->accumulator && !t->masked) {
        schedule found = short_axes_schedule(kept, reduced, t, results, length);
        if (found.kind)
            return found;
    }
    int64_t inner = reduced->count ? llabs(last_dimension_of(reduced)->input) : 0;
    if (!reduced->count || (results > 1 && min_stride(kept) < inner) ||
        (results >= WARP && length <= SHORT)) {
        int width = vector_width(kept, reduced, t);
        if (width && results >= WARP && !t->masked)
            return columns_schedule(results, length, width, t->itemsize);
        int64_t parts = max64(min64(divide_up(COLUMN_THREADS, results), length / 64), 1);
        return serial_schedule(length, parts);
    }
    return rows_schedule(kept, reduced, t, results, length);
}

static int is_row_kind(nl_reduce_kind kind) {
    return kind >= NL_REDUCE_PACKED && kind <= NL_REDUCE_GAPPED_STEPPED &&
           kind != NL_REDUCE_SHORT_PACKED && kind != NL_REDUCE_SHORT_STRIDED;
}

/* Returns the schedule with which the last block of a launch reduces the partial results of all
 * blocks. The schedule has the kind NONE if another launch must reduce the partial results. */
static schedule last_block_schedule(const schedule *s, int64_t results, const traits *t) {
    int64_t size = t->accumulator;
    if (s->kind == NL_REDUCE_NARROW && s->groups == 1) {
        int width = s->width;
        while (width > 1 && width * size > ACCESS_BYTES)
            width /= 2;
        return (schedule){NL_REDUCE_NARROW, width, 0, THREADS, 1, 1, s->parts, 1};
    }
    if (is_row_kind(s->kind) && results <= THREADS / WARP) {
        nl_reduce_kind kind =
            t->masked || size > ACCESS_BYTES ? NL_REDUCE_STRIDED : NL_REDUCE_PACKED;
        int team = results == 1 ? THREADS / WARP : 1;
        return (schedule){kind, team, 0, THREADS, team, 1, s->parts, 1};
    }
    return (schedule){.kind = NL_REDUCE_NONE};
}

int64_t nl_reduceplan_grid_size(const schedule *s, int64_t results) {
    switch (s->kind) {
    case NL_REDUCE_COLUMNS:
        return divide_up(results / s->width, WARP) * s->parts;
    case NL_REDUCE_TEAMS:
        return divide_up(results, 4 * THREADS / s->width);
    case NL_REDUCE_SHORT_PACKED:
    case NL_REDUCE_SHORT_STRIDED:
        return divide_up(results, THREADS / s->width);
    case NL_REDUCE_STRIPES:
        return divide_up(results / s->width, THREADS);
    case NL_REDUCE_NARROW:
        return s->groups * s->parts;
    case NL_REDUCE_STAGED_COLUMNS:
        return divide_up(s->groups, s->team);
    case NL_REDUCE_SERIAL:
        return divide_up(results * s->parts, s->threads);
    default:
        return s->team > 1 ? results * s->parts : divide_up(results * s->parts, s->threads / WARP);
    }
}

/* ---- two launches ---- */

/* Sets `all` to the dimensions of the array between two launches: those of the results, and the
 * reduced dimensions that remain after the first launch. */
static void set_intermediate_dims(const dims *kept, const dim *later, int count, dims *all) {
    nl_reducelaunch_clear_dims(all);
    for (int i = 0; i < kept->count; i++)
        nl_reducelaunch_append_dim(
            all, (dim){kept->at[i].length, kept->at[i].input, kept->at[i].where, 0});
    for (int i = 0; i < count; i++)
        nl_reducelaunch_append_dim(all, (dim){later[i].length, later[i].input, later[i].where, 0});
    nl_reducelaunch_sort_dims(all, nl_reducelaunch_input_stride_key);
    nl_reducelaunch_merge_dims(all);
}

/* Returns whether `inner` is a short reduced axis between the elements of the results (such as the
 * colours of pixels), or the results form short rows. If the first launch does not reduce this
 * axis, its columns are longer. */
static int is_short_axis_between_results(const dims *kept, const dim *inner, int64_t rows,
                                         const traits *t) {
    int64_t item = t->itemsize, last = last_dimension_of(kept)->length * item;
    int64_t short_row = last_dimension_of(kept)->input == item ? last : 0;
    if (inner->length * item >= AMONG_BYTES && !(0 < short_row && short_row < AMONG_BYTES))
        return 0;
    if (rows * item < LATER_SHARE * t->accumulator)
        return 0;
    dims joined;
    set_intermediate_dims(kept, inner, 1, &joined);
    const dim *end = last_dimension_of(&joined);
    if (end->input != item || end->length * item <= max64(short_row, item))
        return 0;
    return end->length >= WARP || rows >= 2 * THREADS;
}

/* Returns whether a separate first launch over the rows of each result is faster: few numbers must
 * remain after it. */
static int is_row_launch_faster(const dims *kept, int64_t rows, const dim *inner,
                                int64_t itemsize) {
    int64_t row = inner->length * itemsize, results = nl_reducelaunch_count_elements(kept);
    if (inner->input != itemsize || row < AMONG_BYTES ||
        results * rows < nl_reducelimit_value(NL_LIMIT_TEAM_ROWS))
        return 0;
    if (row * rows <= MAX_UNDIVIDED_BYTES)
        return 1;
    int is_worth = results * rows <= MAX_SECOND_PASS && results * rows * row >= WORTH_BYTES;
    return is_worth && row <= LONG_ROW_BYTES;
}

/* Moves to `later` the reduced dimensions that a second launch should reduce, or none if one launch
 * is as fast. */
static void divide_reduction(const dims *kept, dims *reduced, dims *later, const traits *t) {
    int last = reduced->count - 1;
    later->count = 0;
    if (last < 1 || !kept->count ||
        nl_reducelaunch_count_elements(kept) * nl_reducelaunch_count_elements(reduced) *
                t->itemsize <
            nl_reducelimit_value(NL_LIMIT_TWO_LAUNCHES_BYTES))
        return;
    dim inner = reduced->at[last];
    int64_t rows = nl_reducelaunch_length_product(reduced->at, last);
    if (is_short_axis_between_results(kept, &inner, rows, t)) {
        nl_reducelaunch_append_dim(later, inner);
        reduced->count = last;
    } else if (is_row_launch_faster(kept, rows, &inner, t->itemsize)) {
        *later = *reduced;
        later->count = last;
        reduced->count = 0;
        nl_reducelaunch_append_dim(reduced, inner);
    }
}

/* ---- whole reductions ---- */

typedef struct reduction {
    const nl_reduce_request *r;
    dims kept, reduced, later;
    int cached;
} reduction;

static nl_reduce_step *add_step(nl_reduce_plan *plan, const schedule *s, nl_reduce_type reads,
                                nl_reduce_type writes, int cached, int64_t results) {
    int64_t grid = nl_reduceplan_grid_size(s, results);
    nl_reduce_step *step = nl_reducelaunch_add_step(plan, s, reads, writes, grid);
    step->cached = cached;
    return step;
}

static void plan_one_launch(const reduction *f, const schedule *s, int segmented,
                            nl_reduce_plan *plan) {
    static const uint8_t slots[] = {NL_REDUCE_INPUT, NL_REDUCE_WHERE, NL_REDUCE_OUTPUT,
                                    NL_REDUCE_OUTPUT, NL_REDUCE_SEGMENTS};
    nl_reduce_plan_options o = {
        f->r->initial, f->r->initial_size, 1, 1, segmented, 0, 0, f->r->divisor, 0};
    nl_reduce_step *step = add_step(plan, s, NL_REDUCE_STORED, NL_REDUCE_RESULT, f->cached,
                                    nl_reducelaunch_count_elements(&f->kept));
    step->wide =
        nl_reducelaunch_write_plan(plan, s, &f->kept, &f->reduced, f->r->traits.accumulator, &o);
    nl_reducelaunch_set_slots(step, 5, slots);
}

/* Sets `kept` to the dimensions of the results in the scratch array of a first launch, and appends
 * the later axes to `reduced`. The elements of the scratch array have `size` bytes; the stride
 * between neighbouring results is `apart` elements. */
static void set_scratch_dims(const reduction *f, int64_t apart, int64_t size, dims *kept,
                             dims *reduced) {
    dims order;
    nl_reducelaunch_clear_dims(&order);
    nl_reducelaunch_clear_dims(kept);
    int from[NL_REDUCE_MAX_DIMS];
    int64_t steps[NL_REDUCE_MAX_DIMS], step = apart;
    for (int i = 0; i < f->kept.count + f->later.count; i++)
        nl_reducelaunch_append_dim(&order, i < f->kept.count ? f->kept.at[i]
                                                             : f->later.at[i - f->kept.count]);
    /* the sort is stable, because a second launch may depend on the order of `later` */
    for (int i = 0; i < order.count; i++) {
        int j = i;
        for (; f->later.count && j > 0 &&
               nl_reducelaunch_input_stride_key(&order.at[from[j - 1]]) >
                   nl_reducelaunch_input_stride_key(&order.at[i]);
             j--)
            from[j] = from[j - 1];
        from[j] = i;
    }
    for (int i = order.count - 1; i >= 0; i--) {
        steps[from[i]] = step;
        step *= order.at[from[i]].length;
    }
    for (int i = 0; i < order.count; i++) {
        dim one = {order.at[i].length, steps[i] * size, steps[i], order.at[i].output};
        if (i < f->kept.count)
            nl_reducelaunch_append_merged(kept, one);
        else
            nl_reducelaunch_append_dim(reduced, (dim){one.length, one.input, one.where, 0});
    }
}

/* Plans a launch that writes several partial results for each result. The last block reduces these
 * partial results, or a second launch reduces them together with the later axes. The parts of
 * neighbouring results are stored next to each other if the elements of the results are
 * neighbours. */
static void plan_partial_results(const reduction *f, const schedule *s, const dims *kept,
                                 const dims *reduced, nl_reduce_plan *plan) {
    const nl_reduce_request *r = f->r;
    const traits *t = &r->traits;
    int64_t size = t->accumulator, results = nl_reducelaunch_count_elements(&f->kept);
    int64_t each = nl_reducelaunch_count_elements(&f->later), numbers = results * each;
    int by_part = s->parts == 1 || s->kind == NL_REDUCE_SERIAL || s->kind == NL_REDUCE_COLUMNS ||
                  s->kind == NL_REDUCE_NARROW;
    uint8_t parts = nl_reducelaunch_add_scratch(plan, NL_REDUCE_NUMBERS, numbers * s->parts),
            flags = parts;
    if (t->masked) /* one flag per part: whether the mask selects any element of the part */
        flags = nl_reducelaunch_add_scratch(plan, NL_REDUCE_FLAGS, numbers * s->parts);
    dims of_one, of_results;
    nl_reducelaunch_clear_dims(&of_one);
    int64_t after = by_part ? numbers : 1;
    nl_reducelaunch_append_dim(&of_one, (dim){s->parts, after * size, after, 0});
    set_scratch_dims(f, by_part ? 1 : s->parts, size, &of_results, &of_one);
    if (f->later.count) {
        nl_reducelaunch_sort_dims(&of_one, nl_reducelaunch_input_stride_key);
        nl_reducelaunch_merge_dims(&of_one);
    }
    nl_reduce_plan_options first = {NULL, 0, 0, 0, -1, by_part, 0, 1.0, 0},
                           ending = {r->initial, r->initial_size, 1, 1, -1, 0, 0, r->divisor, 0};
    nl_reduce_step *step = add_step(plan, s, NL_REDUCE_STORED, NL_REDUCE_LOOP, f->cached, numbers);
    step->wide = nl_reducelaunch_write_plan(plan, s, kept, reduced, size, &first);
    if (!step->wide && !f->later.count)
        step->last = last_block_schedule(s, results, t);
    if (step->last.kind) {
        ending.by_one = 1;
        step->writes = NL_REDUCE_RESULT;
        nl_reducelaunch_write_plan(plan, &step->last, &of_results, &of_one, size, &ending);
        uint8_t counter = nl_reducelaunch_add_scratch(plan, NL_REDUCE_COUNTER, 1);
        nl_reducelaunch_set_slots(
            step, 6,
            (uint8_t[]){NL_REDUCE_INPUT, NL_REDUCE_WHERE, NL_REDUCE_OUTPUT, flags, parts, counter});
        return;
    }
    nl_reducelaunch_set_slots(
        step, 5, (uint8_t[]){NL_REDUCE_INPUT, NL_REDUCE_WHERE, parts, flags, NL_REDUCE_SEGMENTS});
    traits of_parts = {size, size, 0, t->masked, t->any_order};
    schedule last = nl_reduceplan_choose_schedule(&of_results, &of_one, &of_parts);
    last.parts = 1;
    last.chunk = s->parts * each;
    step = add_step(plan, &last, NL_REDUCE_LOOP, NL_REDUCE_RESULT, 1, results);
    step->wide = nl_reducelaunch_write_plan(plan, &last, &of_results, &of_one, size, &ending);
    nl_reducelaunch_set_slots(step, 5,
                              (uint8_t[]){parts, flags, NL_REDUCE_OUTPUT, NL_REDUCE_OUTPUT, parts});
}

/* Plans a reduction by segments. Each result has one part, because the kernel reads the ends of the
 * segments from an array. */
static void plan_by_segments(reduction *f, nl_reduce_plan *plan) {
    traits t = f->r->traits;
    dims usual;
    nl_reducelaunch_clear_dims(&usual);
    nl_reducelaunch_append_dim(&usual, f->reduced.at[0]);
    usual.at[0].length = divide_up(usual.at[0].length, f->kept.at[0].length);
    t.accumulator = t.any_order = 0;
    schedule s = nl_reduceplan_choose_schedule(&f->kept, &usual, &t);
    s.parts = 1;
    s.chunk = (int64_t)1 << 62;
    plan_one_launch(f, &s, 0, plan);
}

static void read_dimensions(const nl_reduce_request *r, reduction *f) {
    dims kept;
    int out = 0;
    f->r = r;
    nl_reducelaunch_clear_dims(&kept);
    nl_reducelaunch_clear_dims(&f->kept);
    nl_reducelaunch_clear_dims(&f->reduced);
    nl_reducelaunch_clear_dims(&f->later);
    for (int i = 0; i < r->ndim; i++) {
        int64_t where = r->where ? r->where[i] : 0;
        if (r->axes >> i & 1)
            nl_reducelaunch_append_dim(&f->reduced, (dim){r->shape[i], r->strides[i], where, 0});
        /* the segment axis is outermost, so that neighbouring threads have the same segment */
        if (i == r->segmented)
            nl_reducelaunch_append_dim(&f->kept, (dim){r->segments, 0, 0, r->output[out++]});
        else if (!(r->axes >> i & 1))
            nl_reducelaunch_append_dim(&kept,
                                       (dim){r->shape[i], r->strides[i], where, r->output[out++]});
    }
    f->cached = nl_reducelaunch_count_elements(&kept) *
                    nl_reducelaunch_count_elements(&f->reduced) * r->traits.itemsize <=
                nl_reducelimit_value(NL_LIMIT_CACHED_BYTES);
    nl_reducelaunch_sort_dims(&kept, nl_reducelaunch_input_stride_key);
    nl_reducelaunch_merge_dims(&kept);
    for (int i = 0; i < kept.count; i++)
        nl_reducelaunch_append_dim(&f->kept, kept.at[i]);
    if (r->segmented >= 0)
        return;
    if (r->reorderable)
        nl_reducelaunch_sort_dims(&f->reduced, nl_reducelaunch_input_stride_key);
    nl_reducelaunch_merge_dims(&f->reduced);
}

void nl_reduceplan_make(const nl_reduce_request *r, nl_reduce_plan *plan) {
    reduction f;
    plan->step_count = plan->scratch_count = 0;
    plan->used = 0;
    read_dimensions(r, &f);
    if (r->segmented >= 0) {
        plan_by_segments(&f, plan);
        return;
    }
    const traits *t = &r->traits;
    if (r->reorderable && t->any_order && !t->masked)
        divide_reduction(&f.kept, &f.reduced, &f.later, t);
    dims intermediate;
    const dims *kept = &f.kept;
    if (f.later.count) {
        set_intermediate_dims(&f.kept, f.later.at, f.later.count, &intermediate);
        kept = &intermediate;
    }
    schedule s = nl_reduceplan_choose_schedule(kept, &f.reduced, t);
    if (r->reorderable && s.kind == NL_REDUCE_COLUMNS &&
        last_dimension_of(&f.reduced)->length < SHORT_RUN)
        nl_reducelaunch_sort_dims(
            &f.reduced, dim_length); /* the longest contiguous row becomes the last dimension */
    if (s.parts == 1 && !f.later.count)
        plan_one_launch(&f, &s, -1, plan);
    else
        plan_partial_results(&f, &s, kept, &f.reduced, plan);
}
