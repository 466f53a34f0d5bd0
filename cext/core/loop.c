/* core/loop: how a loop over many dimensions becomes one over few.
 *
 *   1. Operands are broadcast: dimensions that they lack or have once do not move them. Dimensions
 * of one element go.
 *   2. Dimensions are sorted by the operands' strides, outermost first.
 *   3. A dimension that no operand walks forwards is turned round.
 *   4. Neighbouring dimensions that every operand walks as one are merged.
 *
 * One run, or one element, for every operand is FLAT. Where that holds for the innermost dimension
 * only, and it is long, ROWS. Both read 16 bytes at a time, so they ask for alignment; without it,
 * SHIFTED, or what reads elements, SINGLE and STRIDED32, where that is as fast. Where an operand is
 * a run along another dimension, as a transposed one, TILED walks both dimensions at once. */
#include "core/loop.h"

#include <string.h>

#define ALIGNED 16
#define LONG_ROW 64 /* elements from which a row is worth a kernel that does not divide in it */
#define SECTOR 32   /* bytes that memory is read and written by */
#define TILE 32     /* elements from which two dimensions are worth walking by tiles */
#define FEW 2097152 /* elements up to which neighbours may have an access each */
#define BLOCK 256   /* threads, in 16 rows and columns of a tile: ufunc.cuh */

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

nl_divider nl_divider_make(uint32_t divisor) {
    uint32_t shift = 0;
    while (((uint64_t)1 << shift) < divisor)
        shift++;
    uint64_t magic = ((((uint64_t)1 << shift) - divisor) << 32) / divisor + 1;
    return (nl_divider){(uint32_t)magic, shift};
}

const char *nl_loop_kind_name(nl_loop_kind kind) {
    static const char *const names[] = {"flat",   "rows",      "shifted",  "tiled",
                                        "single", "strided32", "strided64"};
    return names[kind];
}

/* Stride of an operand along dimension d of the whole loop. */
static int64_t stride_along(const nl_loop_operand *o, int ndim, int d) {
    int own = d - (ndim - o->ndim);
    return o->by_value || own < 0 || o->shape[own] == 1 ? 0 : o->strides[own];
}

/* Does dimension `outer` of two neighbours belong inside of `inner`? Operands that move along both
 * decide; where they disagree, C order stays. 1 yes, 0 no, -1 nobody moves along both. */
static int belongs_inside(const nl_loop_operand *operands, int count, int ndim, int outer,
                          int inner) {
    int answer = -1;
    for (int i = 0; i < count; i++) {
        int64_t a = magnitude(stride_along(&operands[i], ndim, outer));
        int64_t b = magnitude(stride_along(&operands[i], ndim, inner));
        if (a == 0 || b == 0)
            continue;
        if (b <= a)
            return 0;
        answer = 1;
    }
    return answer;
}

void nl_loop_order(const nl_loop_operand *operands, int count, int ndim, int *order) {
    int n = 0; /* sorted, in order[ndim - n] and behind */
    for (int d = ndim - 1; d >= 0; d--) {
        int place = ndim - n;
        for (int i = place; i < ndim; i++) {
            /* d is further out than order[i] in C order */
            int inside = belongs_inside(operands, count, ndim, d, order[i]);
            if (inside == 0)
                break;
            if (inside > 0)
                place = i + 1;
        }
        n++;
        memmove(order + ndim - n, order + ndim - n + 1,
                (size_t)(place - (ndim - n) - 1) * sizeof *order);
        order[place - 1] = d;
    }
}

void nl_loop_dense(int ndim, const int64_t *shape, const int *order, int64_t itemsize,
                   int64_t *strides) {
    int64_t stride = itemsize;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        if (shape[order[i]] > 1)
            stride *= shape[order[i]];
    }
}

/* Step 3. */
static void turn_round(nl_loop *l, int d) {
    int backwards = 0;
    for (int i = 0; i < l->operands; i++) {
        if (l->strides[i][d] > 0)
            return;
        backwards |= l->strides[i][d] < 0;
    }
    for (int i = 0; backwards && i < l->operands; i++) {
        l->address[i] += (uint64_t)(l->strides[i][d] * (l->shape[d] - 1));
        l->strides[i][d] = -l->strides[i][d];
    }
}

/* Step 4. */
static void merge(nl_loop *l) {
    int kept = 0;
    for (int d = 1; d < l->ndim; d++) {
        int one = 1;
        for (int i = 0; one && i < l->operands; i++)
            one = l->strides[i][kept] == l->strides[i][d] * l->shape[d];
        kept += !one;
        l->shape[kept] = one ? l->shape[kept] * l->shape[d] : l->shape[d];
        for (int i = 0; i < l->operands; i++)
            l->strides[i][kept] = l->strides[i][d];
    }
    l->ndim = kept + 1;
}

static int padded(int dims) {
    return dims <= 4 ? dims : dims <= 8 ? 8 : dims <= 16 ? 16 : 32;
}

/* Are the addresses that the operands take multiples of what vector access or, outside of it, the
 * elements themselves ask for? */
static int is_aligned(const nl_loop *l, const nl_loop_operand *operands, int moves_inside) {
    for (int i = 0; i < l->operands; i++) {
        int moves = moves_inside && l->strides[i][l->ndim - 1] != 0;
        uint64_t bits = l->address[i];
        if (operands[i].by_value)
            continue;
        for (int d = 0; d < l->ndim - moves_inside; d++)
            bits |= (uint64_t)l->strides[i][d];
        if (bits & (uint64_t)((moves ? ALIGNED : operands[i].align) - 1))
            return 0;
    }
    return 1;
}

/* Is the innermost dimension a run, or one element, for every operand? */
static int runs_inside(const nl_loop *l, const nl_loop_operand *operands) {
    for (int i = 0; i < l->operands; i++) {
        int64_t stride = l->strides[i][l->ndim - 1];
        if (stride != 0 && stride != operands[i].itemsize)
            return 0;
    }
    return 1;
}

static int fits_32(const nl_loop *l) {
    if (l->count > INT32_MAX)
        return 0;
    for (int i = 0; i < l->operands; i++) {
        int64_t low = 0, high = 0;
        for (int d = 0; d < l->ndim; d++) {
            int64_t last = l->strides[i][d] * (l->shape[d] - 1);
            *(last < 0 ? &low : &high) += last;
        }
        if (low < INT32_MIN || high > INT32_MAX)
            return 0;
    }
    return 1;
}

/* A dimension, other than the innermost, along which an operand has neighbours, in the same sector
 * or the next one, that jumps along the innermost; -1: there is none. */
static int run_elsewhere(const nl_loop *l, const nl_loop_operand *operands) {
    int inner = l->ndim - 1;
    if (l->shape[inner] < TILE)
        return -1;
    for (int i = 0; i < l->operands; i++) {
        if (operands[i].by_value || magnitude(l->strides[i][inner]) <= SECTOR)
            continue;
        for (int d = 0; d < inner; d++)
            if (l->strides[i][d] != 0 && magnitude(l->strides[i][d]) <= SECTOR &&
                l->shape[d] >= TILE)
                return d;
    }
    return -1;
}

/* Dimension d becomes the one around the innermost. */
static void set_tiled(nl_loop *l, const nl_loop_operand *operands, int d) {
    int to = l->ndim - 2, after = to - d;
    int64_t kept = l->shape[d];
    memmove(&l->shape[d], &l->shape[d + 1], (size_t)after * sizeof kept);
    l->shape[to] = kept;
    l->kind = NL_LOOP_TILED;
    l->dims = padded(to > 0 ? to : 1);
    l->advance = l->across = 0;
    for (int i = 0; i < l->operands; i++) {
        int64_t *strides = l->strides[i], size = operands[i].itemsize;
        kept = strides[d];
        memmove(&strides[d], &strides[d + 1], (size_t)after * sizeof kept);
        strides[to] = kept;
        l->advance |= (uint64_t)(strides[to + 1] == size) << i;
        l->across |= (uint64_t)(strides[to] == size) << i;
    }
}

static int has_rows(const nl_loop *l) {
    return l->kind == NL_LOOP_ROWS || l->kind == NL_LOOP_SHIFTED;
}

/* Runs that are not aligned. Elements of 8 bytes are read as fast one by one as by wide accesses
 * that are shifted, few of 2 or 4 bytes faster, and the function has the registers. */
static nl_loop_kind kind_of_unaligned(const nl_loop *l, const nl_loop_operand *operands) {
    int64_t least = ALIGNED, most = 1;
    for (int i = 0; i < l->operands; i++)
        if (!operands[i].by_value) {
            least = operands[i].itemsize < least ? operands[i].itemsize : least;
            most = operands[i].itemsize > most ? operands[i].itemsize : most;
        }
    if (!fits_32(l))
        return NL_LOOP_SHIFTED;
    if (least == 8 && most == 8)
        return NL_LOOP_SINGLE;
    return least >= 2 && most <= 4 && l->count <= FEW ? NL_LOOP_STRIDED32 : NL_LOOP_SHIFTED;
}

static void choose(nl_loop *l, const nl_loop_operand *operands) {
    int inside = runs_inside(l, operands), aligned = is_aligned(l, operands, 0), d;
    int64_t inner = l->shape[l->ndim - 1];
    l->advance = l->across = 0;
    for (int i = 0; inside && i < l->operands; i++)
        l->advance |= (uint64_t)(l->strides[i][l->ndim - 1] != 0) << i;
    if (inside && aligned &&
        (l->ndim == 1 || (inner >= LONG_ROW && l->count / inner <= INT32_MAX))) {
        int wide = is_aligned(l, operands, 1);
        l->kind = !wide          ? kind_of_unaligned(l, operands)
                  : l->ndim == 1 ? NL_LOOP_FLAT
                                 : NL_LOOP_ROWS;
        l->dims = l->kind == NL_LOOP_FLAT      ? 0
                  : l->ndim > 1 && has_rows(l) ? padded(l->ndim - 1)
                                               : padded(l->ndim);
    } else if (aligned && (d = run_elsewhere(l, operands)) >= 0 &&
               l->count / inner / l->shape[d] <= INT32_MAX) {
        set_tiled(l, operands, d);
    } else {
        l->kind = aligned && fits_32(l) ? NL_LOOP_STRIDED32 : NL_LOOP_STRIDED64;
        l->dims = padded(l->ndim);
    }
}

/* The common case: every operand in memory has the whole shape, in C order without gaps. */
static int is_one_run(const nl_loop_operand *operands, int count, int ndim, const int64_t *shape) {
    for (int i = 0; i < count; i++) {
        const nl_loop_operand *o = &operands[i];
        int64_t expected = o->itemsize;
        if (o->by_value)
            continue;
        if (o->ndim != ndim)
            return 0;
        for (int d = ndim - 1; d >= 0; d--) {
            if (o->shape[d] != shape[d] || (o->strides[d] != expected && shape[d] != 1))
                return 0;
            expected *= shape[d];
        }
    }
    return 1;
}

static void set_one_run(nl_loop *l, const nl_loop_operand *operands, int ndim,
                        const int64_t *shape) {
    l->ndim = 1;
    for (int d = 0; d < ndim; d++)
        l->count *= shape[d];
    l->shape[0] = l->count;
    for (int i = 0; i < l->operands; i++)
        l->strides[i][0] = operands[i].by_value ? 0 : operands[i].itemsize;
}

/* Steps 1 to 4. */
static void simplify(nl_loop *l, const nl_loop_operand *operands, int ndim, const int64_t *shape) {
    int order[NL_MAX_DIMS];
    nl_loop_order(operands, l->operands, ndim, order);
    for (int n = 0; n < ndim; n++) {
        int d = order[n];
        if (shape[d] == 1)
            continue;
        l->shape[l->ndim] = shape[d];
        l->count *= shape[d];
        for (int i = 0; i < l->operands; i++)
            l->strides[i][l->ndim] = stride_along(&operands[i], ndim, d);
        turn_round(l, l->ndim++);
    }
    if (l->ndim == 0)
        set_one_run(l, operands, 0, shape);
    merge(l);
}

void nl_loop_make(nl_loop *l, const nl_loop_operand *operands, int count, int ndim,
                  const int64_t *shape) {
    l->operands = count;
    l->ndim = 0;
    l->count = 1;
    l->by_value = 0;
    for (int i = 0; i < count; i++) {
        l->address[i] = operands[i].address;
        l->by_value |= (uint64_t)(operands[i].by_value != 0) << i;
    }
    if (is_one_run(operands, count, ndim, shape))
        set_one_run(l, operands, ndim, shape);
    else
        simplify(l, operands, ndim, shape);
    choose(l, operands);
}

/* Dimensions that the kernel divides by: all, or those around the rows or tiles. */
static int outer_dims(const nl_loop *l) {
    return l->kind == NL_LOOP_TILED ? l->ndim - 2 : has_rows(l) ? l->ndim - 1 : l->ndim;
}

static int64_t pieces_of(int64_t size, int64_t piece) {
    return (size + piece - 1) / piece;
}

/* The first one of a shifted row may begin before it. */
static int64_t pieces_of_row(const nl_loop *l, int64_t piece) {
    int64_t inner = l->shape[l->ndim - 1];
    return pieces_of(l->kind == NL_LOOP_SHIFTED ? inner + piece - 1 : inner, piece);
}

int64_t nl_loop_threads(const nl_loop *l, int64_t per_thread) {
    int64_t inner = l->shape[l->ndim - 1];
    if (l->kind == NL_LOOP_TILED) {
        int64_t outer = l->shape[l->ndim - 2], tile = per_thread >= 16 ? 64 : 32;
        return l->count / inner / outer * pieces_of(inner, tile) * pieces_of(outer, tile) * BLOCK;
    }
    if (has_rows(l))
        return l->count / inner * pieces_of_row(l, per_thread);
    return pieces_of(l->count, per_thread);
}

size_t nl_loop_size(const nl_loop *l) {
    static const size_t words[] = {2, 4, 4, 5, 1, 1, 1}; /* between slots and shape */
    size_t operands = (size_t)l->operands, dims = (size_t)l->dims;
    size_t steps = l->kind == NL_LOOP_FLAT ? 0 : l->kind == NL_LOOP_TILED ? dims + 2 : dims;
    size_t size = operands * NL_LOOP_SLOT + 8 * words[l->kind] + 16 * dims + 8 * operands * steps;
    return (size + 15) / 16 * 16;
}

static unsigned char *put(unsigned char *at, const void *value) {
    memcpy(at, value, 8);
    return at + 8;
}

/* By the pieces of a row; without a magic number where there are too many of all rows. */
static nl_divider row_divider(const nl_loop *l, int64_t per_thread) {
    if (nl_loop_threads(l, per_thread) > INT32_MAX - BLOCK)
        return (nl_divider){0, 0};
    return nl_divider_make((uint32_t)pieces_of_row(l, per_thread));
}

static unsigned char *put_head(const nl_loop *l, int64_t per_thread, unsigned char *at) {
    int64_t columns = l->shape[l->ndim - 1], rows = l->count / columns;
    if (l->kind == NL_LOOP_TILED) {
        int64_t high = l->shape[l->ndim - 2], tiles = rows / high;
        at = put(put(put(at, &tiles), &columns), &high);
        return put(put(at, &l->advance), &l->across);
    }
    if (has_rows(l)) {
        nl_divider by = row_divider(l, per_thread);
        return put(put(put(put(at, &rows), &columns), &l->advance), &by);
    }
    at = put(at, &l->count);
    return l->kind == NL_LOOP_FLAT ? put(at, &l->advance) : at;
}

void nl_loop_write(const nl_loop *l, int64_t per_thread, unsigned char *block) {
    static const int64_t one = 1, nothing = 0;
    unsigned char *at = block + (size_t)l->operands * NL_LOOP_SLOT;
    int dims = outer_dims(l), before = l->dims - dims;
    int steps = l->kind == NL_LOOP_TILED ? l->dims + 2 : l->dims;
    for (int i = 0; i < l->operands; i++)
        if (!(l->by_value >> i & 1))
            memcpy(block + (size_t)i * NL_LOOP_SLOT, &l->address[i], 8);
    at = put_head(l, per_thread, at);
    if (l->kind == NL_LOOP_FLAT)
        return;
    for (int d = 0; d < l->dims; d++)
        at = put(at, d < before ? &one : &l->shape[d - before]);
    for (int d = 0; d < l->dims; d++) {
        int64_t size = d < before ? 1 : l->shape[d - before];
        nl_divider by = size <= INT32_MAX ? nl_divider_make((uint32_t)size) : (nl_divider){0, 0};
        at = put(at, &by);
    }
    for (int i = 0; i < l->operands; i++)
        for (int d = 0; d < steps; d++)
            at = put(at, d < before ? &nothing : &l->strides[i][d - before]);
}
