/* core/scanplan: chooses the schedule of a scan by its shape, strides and alignment. The constants
 * were measured on H100 and H200. */
#include "core/scanplan.h"

#include <stdlib.h>
#include "core/reducelimit.h"

enum {
    WARP = 32,
    ACCESS_BYTES = 16, /* bytes of a thread's widest load */
    BLOCK_THREADS = 256,
    SERIAL_THREADS = 128,
    COLUMN_THREADS = 1 << 17,   /* threads that keep a device busy */
    COLUMN_WARPS = 8,           /* number of warps per block, as in short_axes.cuh */
    COLUMN_ROWS = 8,            /* number of rows of a column tile per thread (scan.cuh) */
    SHORT = 16,                 /* maximum number of elements of a row that one thread scans */
    ROW_LENGTH = 64,            /* maximum length of a row that a thread scans faster than a warp */
    ROW_BYTES = 768,            /* maximum size in bytes of a row that one thread scans in shared
                                 * memory */
    ROW_BLOCK_BYTES = 48 << 10, /* maximum size in bytes of the rows of a block in shared memory */
    TINY_ROW_BYTES = 16,        /* maximum size in bytes of a row for which neighbouring threads
                                 * share cache lines */
    WARP_LENGTH = 512,          /* maximum number of elements of a row that a warp scans */
    VEC_BYTES = 32,             /* maximum size in bytes of an element that is a vec */
    VEC_COLUMNS = 8,            /* maximum number of columns for which a whole row forms one
                                 * element */
    VEC_ELEMENTS = 4,           /* contiguous vec elements per thread */
    PARTED = 128,               /* minimum length of a column that may be scanned in parts */
    /* number of bytes that the device copies while a group of tiles waits for earlier tiles */
    COLUMN_STEP_BYTES = 7 << 19,
    /* time that tiles save by fewer launches, in bytes that the device copies meanwhile */
    COLUMN_START_BYTES = 1 << 24,
    TILE_BYTES = 128,    /* maximum size in bytes of a thread's elements of a tile */
    PIPELINE_PIECES = 8, /* number of units of a tile per thread, as in pipelined_scan.cuh */
    PIPELINE_STAGES = 4, /* number of pipeline stages, as in pipelined_scan.cuh */
    PIPELINE_NUMBER = 8, /* maximum size in bytes of an accumulator in a pipelined scan */
    STATUS_FANOUT = 32,  /* number of tiles of a group, and of groups of a range (lookback.cuh) */
};

typedef nl_reduce_dim dim;
typedef nl_reduce_dims dims;
typedef nl_reduce_schedule schedule;

/* Sizes of an element in bytes: as input, as accumulator, and as output. */
typedef struct sizes {
    int64_t stored, loop, result;
} sizes;

/* The rows of a scan, in which `vec` neighbouring columns form one element. */
typedef struct geometry {
    dims kept;
    dim along;
    int vec;
    sizes size;            /* of an element */
    int64_t input, output; /* addresses, modulo 16 */
} geometry;

static int64_t largest_item_size(const sizes *s) {
    return max64(max64(s->stored, s->loop), s->result);
}

static int64_t count_rows(const geometry *g) {
    return nl_reducelaunch_count_elements(&g->kept);
}

/* ---- several columns as one element ---- */

/* Returns whether `count` neighbours along the last kept dimension can form one element in the
 * input and in the output. */
static int can_form_one_element(int64_t count, const geometry *g) {
    int64_t input = count * g->size.stored, output = count * g->size.result;
    input = min64(ACCESS_BYTES, input & -input);
    output = min64(ACCESS_BYTES, output & -output);
    if (g->input % input || g->along.input % input || g->output % output ||
        g->along.output % output)
        return 0;
    for (int i = 0; i < g->kept.count - 1; i++)
        if (g->kept.at[i].input % input || g->kept.at[i].output % output)
            return 0;
    return 1;
}

/* Halves the width until there are at least `least` threads. */
static int64_t width_for_enough_threads(int64_t width, int64_t results, int64_t least) {
    while (width > 1 && results / width < least)
        width /= 2;
    return width;
}

static void set_vector_width(geometry *g, int64_t vec) {
    g->vec = (int)vec;
    g->size.stored *= vec;
    g->size.loop *= vec;
    g->size.result *= vec;
}

/* Sets the vector width: the number of neighbouring columns that one thread loads and scans as one
 * element. If the array has few columns, each row becomes one element, so that the array becomes
 * 1-D; otherwise an element consists of as many columns as one access reads. */
static void merge_columns(geometry *g) {
    dim *inner = g->kept.count ? &g->kept.at[g->kept.count - 1] : NULL;
    if (!inner || inner->input != g->size.stored || inner->output != g->size.result)
        return;
    int64_t count = inner->length, most = largest_item_size(&g->size);
    if (count <= VEC_COLUMNS && g->along.input == count * g->size.stored &&
        g->along.output == count * g->size.result) {
        if (count * most <= VEC_BYTES && can_form_one_element(count, g)) {
            g->kept.count--;
            set_vector_width(g, count);
        }
        return;
    }
    if (llabs(g->along.input) <= g->size.stored)
        return;
    int64_t threads = count_rows(g), least = nl_reducelimit_value(NL_LIMIT_VEC_THREADS);
    if (g->along.length >= PARTED) {
        threads *= g->along.length / COLUMN_ROWS;
        least = nl_reducelimit_value(NL_LIMIT_COLUMN_TILE_THREADS);
    }
    count = width_for_enough_threads(max64(1, ACCESS_BYTES / most), threads, least);
    if (inner->length % count || !can_form_one_element(count, g))
        return;
    *inner = (dim){inner->length / count, inner->input * count, 0, inner->output * count};
    set_vector_width(g, count);
}

/* ---- choice of a schedule ---- */

static schedule single_part_schedule(nl_reduce_kind kind, int64_t threads, int64_t length) {
    return (schedule){kind, 0, 0, (int)threads, 1, 1, length, 1};
}

/* Returns whether the elements of a row are contiguous and all rows are aligned to an access. */
static int are_rows_contiguous_and_aligned(const geometry *g) {
    if (g->along.input != g->size.stored || g->input % ACCESS_BYTES)
        return 0;
    for (int i = 0; i < g->kept.count; i++)
        if (g->kept.at[i].input % ACCESS_BYTES)
            return 0;
    return 1;
}

/* Returns the size in bytes of a row in shared memory (scan_rows in scan.cuh). */
static int64_t shared_row_bytes(int64_t length, int64_t itemsize) {
    return (length | 1) * itemsize;
}

/* Returns the number of threads of a block that scans rows in shared memory, or 0 if another
 * schedule is better. */
static int64_t threads_per_row_block(const geometry *g, int64_t rows) {
    int64_t length = g->along.length, row = shared_row_bytes(length, g->size.loop);
    if (length > ROW_LENGTH ||
        rows < max64(nl_reducelimit_value(NL_LIMIT_SCANNED_ROWS),
                     nl_reducelimit_value(NL_LIMIT_SCANNED_ROWS_EACH) * length))
        return 0;
    if (row > ROW_BYTES || length * max64(g->size.stored, g->size.result) <= TINY_ROW_BYTES)
        return 0;
    return WARP * max64(1, min64(4, ROW_BLOCK_BYTES / (WARP * row)));
}

/* Returns a schedule in which one warp scans a row; each lane loads `width` neighbours at a time.
 */
static schedule warps_schedule(const geometry *g, int64_t width) {
    int64_t runs = 1;
    while (g->vec == 1 && runs * width * WARP < g->along.length &&
           runs * width * g->size.loop <= TILE_BYTES / 4)
        runs *= 2;
    schedule s = single_part_schedule(NL_SCAN_WARPS, nl_reducelimit_value(NL_LIMIT_TILE_THREADS),
                                      g->along.length);
    s.width = (int)width;
    s.ahead = (int)runs;
    return s;
}

/* Returns whether columns should be scanned in tiles. Each group of tiles waits for the total of
 * the previous group, which costs no time only if other warps have enough data to copy meanwhile.
 */
static int should_tile_columns(const geometry *g, int64_t rows) {
    int64_t groups = g->along.length / (COLUMN_ROWS * COLUMN_WARPS * COLUMN_WARPS);
    int64_t bytes = rows * g->along.length * (g->size.stored + g->size.result);
    return largest_item_size(&g->size) <= nl_reducelimit_value(NL_LIMIT_COLUMN_TILE_NUMBER) &&
           groups * COLUMN_STEP_BYTES <= bytes + COLUMN_START_BYTES;
}

/* Returns a schedule in which one thread scans a row or a part of a row. If rows are divided,
 * earlier launches reduce the parts and scan their totals. Returns a schedule of kind COLUMNS if
 * tiles are faster. */
static schedule threads_schedule(const geometry *g, int64_t rows) {
    int64_t length = g->along.length, chunk = COLUMN_ROWS * COLUMN_WARPS;
    int64_t parts = max64(1, min64(divide_up(COLUMN_THREADS, rows), length / (PARTED / 2)));
    if (parts > 1 && should_tile_columns(g, rows))
        return (schedule){NL_SCAN_COLUMNS,          0,     0, BLOCK_THREADS, 1,
                          divide_up(length, chunk), chunk, 1};
    chunk = divide_up(length, parts);
    return (schedule){NL_SCAN_SERIAL, 0, 0, SERIAL_THREADS, 1, divide_up(length, chunk), chunk, 1};
}

static int64_t pipeline_tile_bytes(void) {
    return ACCESS_BYTES * nl_reducelimit_value(NL_LIMIT_PIPELINE_THREADS) * PIPELINE_PIECES;
}

/* Returns the number of elements that a pipelined scan copies at a time, or 0 if rows should not be
 * scanned in a pipeline. */
static int64_t pipelined_piece_length(const geometry *g, int64_t rows) {
    int64_t pipelines = nl_reducelimit_value(NL_LIMIT_PIPELINES);
    int64_t item = max64(g->size.stored, g->size.result);
    int64_t tiles = divide_up(g->along.length * item, pipeline_tile_bytes());
    if (!pipelines || tiles < 2 ||
        tiles * rows < nl_reducelimit_value(NL_LIMIT_PIPELINE_TURNS) * pipelines)
        return 0;
    if (largest_item_size(&g->size) > (g->vec == 1 ? PIPELINE_NUMBER : ACCESS_BYTES) ||
        !are_rows_contiguous_and_aligned(g))
        return 0;
    return ACCESS_BYTES / item;
}

static schedule pipeline_schedule(const geometry *g, int64_t piece) {
    int64_t threads = nl_reducelimit_value(NL_LIMIT_PIPELINE_THREADS),
            chunk = threads * PIPELINE_PIECES * piece;
    return (schedule){NL_SCAN_PIPELINED,
                      (int)piece,
                      0,
                      (int)threads,
                      1,
                      divide_up(g->along.length, chunk),
                      chunk,
                      1};
}

static schedule tiles_schedule(const geometry *g, int64_t width) {
    int64_t length = g->along.length, most = nl_reducelimit_value(NL_LIMIT_TILE_THREADS), runs = 1;
    if (length > most * width)
        runs = max64(1, min64(nl_reducelimit_value(NL_LIMIT_TILE_RUNS),
                              TILE_BYTES / (width * g->size.loop)));
    int64_t threads = min64(most, divide_up(length, WARP * width * runs) * WARP);
    int64_t chunk = threads * width * runs;
    return (schedule){
        NL_SCAN_TILES, (int)width, (int)runs, (int)threads, 1, divide_up(length, chunk), chunk, 1};
}

/* Returns the number of neighbours along a row that a thread loads at a time. */
static int64_t vector_width(const geometry *g) {
    if (g->vec > 1) /* one at a time, because lanes exchange the numbers of an element one by one */
        return max64(1, min64(VEC_ELEMENTS, 2 * VEC_BYTES / largest_item_size(&g->size)));
    int is_wide = ACCESS_BYTES % g->size.stored == 0 && are_rows_contiguous_and_aligned(g);
    return is_wide ? ACCESS_BYTES / g->size.stored : 1;
}

static schedule choose_schedule(const geometry *g) {
    int64_t rows = count_rows(g), length = g->along.length, step = (int64_t)1 << 62, across;
    for (int i = 0; i < g->kept.count; i++)
        if ((across = llabs(g->kept.at[i].input)))
            step = min64(step, across);
    int are_rows = step >= g->along.input && g->along.input > 0 &&
                   g->along.input <= 2 * g->size.stored && g->along.output == g->size.result;
    int64_t threads = are_rows ? threads_per_row_block(g, rows) : 0, width = vector_width(g);
    if (threads)
        return single_part_schedule(NL_SCAN_ROWS, threads, length);
    if (are_rows && rows >= nl_reducelimit_value(NL_LIMIT_WARP_ROWS) && length > SHORT &&
        length <= WARP_LENGTH)
        return warps_schedule(g, width);
    if (length <= SHORT || (rows >= WARP && step < llabs(g->along.input)))
        return threads_schedule(g, rows);
    int64_t piece = pipelined_piece_length(g, rows);
    return piece ? pipeline_schedule(g, piece) : tiles_schedule(g, width);
}

/* ---- launches ---- */

static int64_t grid_size(const schedule *s, int64_t rows) {
    switch (s->kind) {
    case NL_SCAN_PIPELINED:
        return nl_reducelimit_value(NL_LIMIT_PIPELINES);
    case NL_SCAN_COLUMNS:
        return divide_up(rows, WARP) * s->parts;
    case NL_SCAN_TILES:
        return rows * s->parts;
    case NL_SCAN_WARPS:
        return divide_up(rows, s->threads / WARP);
    default:
        return divide_up(rows * s->parts, s->threads);
    }
}

static int64_t shared_memory_bytes(const schedule *s, const geometry *g) {
    if (s->kind == NL_SCAN_PIPELINED)
        return PIPELINE_STAGES * pipeline_tile_bytes();
    return s->kind == NL_SCAN_ROWS ? s->threads * shared_row_bytes(g->along.length, g->size.loop)
                                   : 0;
}

/* Returns the number of values that the tiles of all rows publish (lookback.cuh). */
static int64_t count_tile_statuses(const schedule *s, int64_t rows) {
    if (s->kind == NL_SCAN_COLUMNS)
        return rows * (s->parts + divide_up(s->parts, COLUMN_WARPS));
    if (s->kind == NL_SCAN_PIPELINED)
        return rows * (s->parts + divide_up(s->parts, s->threads));
    return rows * (s->parts + divide_up(s->parts, STATUS_FANOUT) +
                   divide_up(s->parts, STATUS_FANOUT * STATUS_FANOUT));
}

static void add_step(nl_reduce_plan *plan, const schedule *s, const geometry *g,
                     nl_reduce_type reads, nl_reduce_type writes, int64_t grid,
                     const nl_reduce_plan_options *o, const uint8_t *slots) {
    dims along;
    nl_reducelaunch_clear_dims(&along);
    nl_reducelaunch_append_dim(&along, g->along);
    nl_reduce_step *step = nl_reducelaunch_add_step(plan, s, reads, writes, grid);
    step->vec = g->vec;
    step->shared_bytes = shared_memory_bytes(s, g);
    step->wide = nl_reducelaunch_write_plan(plan, s, &g->kept, &along, g->size.loop, o);
    nl_reducelaunch_set_slots(step, 5, slots);
}

static const nl_reduce_plan_options of_rows = {NULL, 0, 0, 1, -1, 0, 0, 1.0, 0},
                                    of_a_part = {NULL, 0, 0, 0, -1, 0, 0, 1.0, 0};

static void add_scan_step(nl_reduce_plan *plan, const schedule *s, const geometry *g,
                          nl_reduce_type reads, nl_reduce_type writes,
                          const nl_reduce_plan_options *o, uint8_t source, uint8_t before,
                          uint8_t target) {
    int64_t rows = count_rows(g);
    uint8_t statuses = source;
    if (s->parts > 1 && s->kind != NL_SCAN_SERIAL) {
        int64_t count = 1 + count_tile_statuses(s, rows) * divide_up(g->size.loop, 4);
        statuses = nl_reducelaunch_add_scratch(plan, NL_REDUCE_STATUSES, 2 * count);
    }
    add_step(plan, s, g, reads, writes, grid_size(s, rows), o,
             (uint8_t[]){source, before, target, statuses, source});
}

/* Adds launches that reduce each part of all rows to its total, and scan the totals: the start
 * value of each part is the sum of the earlier parts. Returns the slot of the array of start
 * values. */
static uint8_t add_prefix_of_parts(nl_reduce_plan *plan, const schedule *s, const geometry *g) {
    int64_t rows = count_rows(g), size = g->size.loop;
    uint8_t before = nl_reducelaunch_add_scratch(plan, NL_REDUCE_NUMBERS, rows * s->parts);
    schedule reduce = *s;
    reduce.kind = NL_REDUCE_SERIAL;
    add_step(plan, &reduce, g, NL_REDUCE_STORED, NL_REDUCE_LOOP,
             divide_up(rows * s->parts, s->threads), &of_a_part,
             (uint8_t[]){NL_REDUCE_INPUT, NL_REDUCE_INPUT, before, before, NL_REDUCE_INPUT});
    geometry parts = {
        .along = {s->parts, size, 0, size}, .vec = 1, .size = {size, size, size}, .kept = {0}};
    nl_reducelaunch_append_merged(&parts.kept, (dim){rows, s->parts * size, 0, s->parts * size});
    schedule of_parts = choose_schedule(&parts);
    add_scan_step(plan, &of_parts, &parts, NL_REDUCE_LOOP, NL_REDUCE_LOOP, &of_rows, before, before,
                  before);
    return before;
}

static void read_dimensions(const nl_scan_request *r, geometry *g) {
    g->kept.count = 0;
    for (int i = 0; i < r->ndim; i++) {
        dim one = {r->shape[i], r->strides[i], 0, r->output_strides[i]};
        if (i == r->axis)
            g->along = one;
        else
            nl_reducelaunch_append_dim(&g->kept, one);
    }
    nl_reducelaunch_sort_dims(&g->kept, nl_reducelaunch_input_stride_key);
    nl_reducelaunch_merge_dims(&g->kept);
    g->vec = 1;
    g->size = (sizes){r->stored, r->accumulator, r->result};
    g->input = r->input;
    g->output = r->output;
}

size_t nl_scanplan_storage_size(int64_t accumulator) {
    return nl_reducelaunch_storage_size(max64(accumulator, VEC_BYTES));
}

void nl_scanplan_make(const nl_scan_request *r, nl_reduce_plan *plan) {
    geometry columns, g;
    plan->step_count = plan->scratch_count = 0;
    plan->used = 0;
    read_dimensions(r, &columns);
    g = columns;
    merge_columns(&g);
    schedule s = choose_schedule(&g);
    /* parts consist of single columns */
    if (g.vec > 1 && s.kind == NL_SCAN_SERIAL && s.parts > 1) {
        g = columns;
        s = choose_schedule(&g);
    }
    uint8_t before = NL_REDUCE_INPUT;
    if (s.kind == NL_SCAN_SERIAL && s.parts > 1)
        before = add_prefix_of_parts(plan, &s, &g);
    nl_reduce_plan_options o = of_rows;
    o.initial = r->initial;
    o.initial_size = r->initial_size;
    o.copies = g.vec;
    add_scan_step(plan, &s, &g, NL_REDUCE_STORED, NL_REDUCE_RESULT, &o, NL_REDUCE_INPUT, before,
                  NL_REDUCE_OUTPUT);
}
