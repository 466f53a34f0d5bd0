/* core/loop: reduces a loop over many dimensions to a loop over few dimensions.
 *
 *   1. Operands are broadcast: a dimension of length 1, and a dimension that an operand lacks, has
 *      stride 0. Loop dimensions of length 1 are removed.
 *   2. Dimensions are sorted by the operands' strides, outermost first.
 *   3. A dimension with a negative stride in an operand and a positive stride in no operand is
 *      reversed.
 *   4. Neighbouring dimensions that are contiguous to each other in every operand are merged.
 *
 * If each operand is then contiguous, or a single element, the kind of the loop is FLAT. If the
 * operands are contiguous only along the innermost dimension, and that dimension is long, the kind
 * is ROWS. Kernels of the kinds FLAT and ROWS load 16 bytes at a time, which requires alignment.
 * Without alignment the kind is SHIFTED or, if single elements are as fast, SINGLE or STRIDED32. If
 * an operand is contiguous along another dimension (a transposed array), the kind is TILED, which
 * loops over both dimensions in tiles. */
#include "core/loop.h"

#include <string.h>

#define ALIGNED 16
#define LONG_ROW \
    64            /* minimum number of elements of a row for kernels that divide indices once per \
                   * row */
#define SECTOR 32 /* bytes of a memory transaction */
#define TILE 32   /* minimum length of both dimensions for TILED */
#define FEW 2097152 /* maximum number of elements for which accesses of one element are as fast */
#define BLOCK \
    256 /* minimum number of threads of a kernel with tiles of 16 rows and columns \
         * (ufunc.cuh) */

static int64_t absolute_value(int64_t value) {
    return value < 0 ? -value : value;
}

nl_divider nl_loop_magic_divisor(uint32_t divisor) {
    uint32_t shift = 0;
    while (((uint64_t)1 << shift) < divisor)
        shift++;
    uint64_t magic = ((((uint64_t)1 << shift) - divisor) << 32) / divisor + 1;
    return (nl_divider){(uint32_t)magic, shift};
}

const char *nl_loop_kind_name(nl_loop_kind kind) {
    static const char *const names[] = {"flat",   "rows",      "shifted",   "tiled",
                                        "single", "strided32", "strided64", "small"};
    return names[kind];
}

/* Returns the stride of an operand along dimension d of the loop. */
static int64_t operand_stride(const nl_loop_operand *o, int ndim, int d) {
    int own = d - (ndim - o->ndim);
    return o->by_value || own < 0 || o->shape[own] == 1 ? 0 : o->strides[own];
}

/* Returns 1 if dimension `outer` belongs inside dimension `inner`, 0 if not, or -1 if no operand
 * has nonzero strides along both dimensions. If operands disagree, C order is kept. */
static int is_dimension_inside(const nl_loop_operand *operands, int count, int ndim, int outer,
                               int inner) {
    int answer = -1;
    for (int i = 0; i < count; i++) {
        int64_t a = absolute_value(operand_stride(&operands[i], ndim, outer));
        int64_t b = absolute_value(operand_stride(&operands[i], ndim, inner));
        if (a == 0 || b == 0)
            continue;
        if (b <= a)
            return 0;
        answer = 1;
    }
    return answer;
}

void nl_loop_sort_dimensions(const nl_loop_operand *operands, int count, int ndim, int *order) {
    int n = 0; /* number of sorted dimensions: order[ndim - n] and the following ones */
    for (int d = ndim - 1; d >= 0; d--) {
        int place = ndim - n;
        for (int i = place; i < ndim; i++) {
            /* before sorting, d is outside of order[i] */
            int inside = is_dimension_inside(operands, count, ndim, d, order[i]);
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

void nl_loop_dense_strides(int ndim, const int64_t *shape, const int *order, int64_t itemsize,
                           int64_t *strides) {
    int64_t stride = itemsize;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        if (shape[order[i]] > 1)
            stride *= shape[order[i]];
    }
}

/* Step 3. */
static void reverse_axis_if_backwards(nl_loop *l, int d) {
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
static void merge_dimensions(nl_loop *l) {
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

static int padded_count(int dims) {
    return dims <= 4 ? dims : dims <= 8 ? 8 : dims <= 16 ? 16 : 32;
}

/* Returns whether the operands' addresses and strides are aligned: to 16 bytes for operands that
 * use vector access, else to the alignment of their elements. */
static int are_operands_aligned(const nl_loop *l, const nl_loop_operand *operands,
                                int moves_inside) {
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

/* Returns whether every operand is contiguous, or one element, along the innermost dimension. */
static int is_innermost_contiguous(const nl_loop *l, const nl_loop_operand *operands) {
    for (int i = 0; i < l->operands; i++) {
        int64_t stride = l->strides[i][l->ndim - 1];
        if (stride != 0 && stride != operands[i].itemsize)
            return 0;
    }
    return 1;
}

static int fits_32_bit_offsets(const nl_loop *l) {
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

/* Returns a dimension, other than the innermost, along which the neighbours of some operand are in
 * the same or the next memory sector, while the operand's innermost stride exceeds a sector.
 * Returns -1 if no dimension has this property. */
static int find_contiguous_dim(const nl_loop *l, const nl_loop_operand *operands) {
    int inner = l->ndim - 1;
    if (l->shape[inner] < TILE)
        return -1;
    for (int i = 0; i < l->operands; i++) {
        if (operands[i].by_value || absolute_value(l->strides[i][inner]) <= SECTOR)
            continue;
        for (int d = 0; d < inner; d++)
            if (l->strides[i][d] != 0 && absolute_value(l->strides[i][d]) <= SECTOR &&
                l->shape[d] >= TILE)
                return d;
    }
    return -1;
}

/* Makes dimension d the second innermost and sets the kind to TILED. */
static void make_tiled(nl_loop *l, const nl_loop_operand *operands, int d) {
    int to = l->ndim - 2, after = to - d;
    int64_t kept = l->shape[d];
    memmove(&l->shape[d], &l->shape[d + 1], (size_t)after * sizeof kept);
    l->shape[to] = kept;
    l->kind = NL_LOOP_TILED;
    l->dims = padded_count(to > 0 ? to : 1);
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

static int is_row_kind(const nl_loop *l) {
    return l->kind == NL_LOOP_ROWS || l->kind == NL_LOOP_SHIFTED;
}

/* Chooses the kind for contiguous operands that are not aligned. For elements of 8 bytes, single
 * loads are as fast as wide loads with a shift. For small arrays of 2- and 4-byte elements, single
 * loads are faster and leave more registers to the function. */
static nl_loop_kind choose_unaligned_kind(const nl_loop *l, const nl_loop_operand *operands) {
    int64_t least = ALIGNED, most = 1;
    for (int i = 0; i < l->operands; i++)
        if (!operands[i].by_value) {
            least = operands[i].itemsize < least ? operands[i].itemsize : least;
            most = operands[i].itemsize > most ? operands[i].itemsize : most;
        }
    if (!fits_32_bit_offsets(l))
        return NL_LOOP_SHIFTED;
    if (least == 8 && most == 8)
        return NL_LOOP_SINGLE;
    return least >= 2 && most <= 4 && l->count <= FEW ? NL_LOOP_STRIDED32 : NL_LOOP_SHIFTED;
}

static void choose_kernel_kind(nl_loop *l, const nl_loop_operand *operands) {
    int inside = is_innermost_contiguous(l, operands),
        aligned = are_operands_aligned(l, operands, 0), d;
    int64_t inner = l->shape[l->ndim - 1];
    l->advance = l->across = 0;
    for (int i = 0; inside && i < l->operands; i++)
        l->advance |= (uint64_t)(l->strides[i][l->ndim - 1] != 0) << i;
    if (inside && aligned &&
        (l->ndim == 1 || (inner >= LONG_ROW && l->count / inner <= INT32_MAX))) {
        int wide = are_operands_aligned(l, operands, 1);
        l->kind = !wide          ? choose_unaligned_kind(l, operands)
                  : l->ndim == 1 ? NL_LOOP_FLAT
                                 : NL_LOOP_ROWS;
        l->dims = l->kind == NL_LOOP_FLAT         ? 0
                  : l->ndim > 1 && is_row_kind(l) ? padded_count(l->ndim - 1)
                                                  : padded_count(l->ndim);
    } else if (aligned && (d = find_contiguous_dim(l, operands)) >= 0 &&
               l->count / inner / l->shape[d] <= INT32_MAX) {
        make_tiled(l, operands, d);
    } else {
        l->kind = aligned && fits_32_bit_offsets(l) ? NL_LOOP_STRIDED32 : NL_LOOP_STRIDED64;
        l->dims = padded_count(l->ndim);
    }
}

/* Returns whether every operand in memory has the loop's shape in C order without gaps, which is
 * the most frequent case. */
static int is_all_contiguous(const nl_loop_operand *operands, int count, int ndim,
                             const int64_t *shape) {
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

static void make_contiguous(nl_loop *l, const nl_loop_operand *operands, int ndim,
                            const int64_t *shape) {
    l->ndim = 1;
    for (int d = 0; d < ndim; d++)
        l->count *= shape[d];
    l->shape[0] = l->count;
    for (int i = 0; i < l->operands; i++)
        l->strides[i][0] = operands[i].by_value ? 0 : operands[i].itemsize;
}

/* Steps 1 to 4. */
static void simplify_dimensions(nl_loop *l, const nl_loop_operand *operands, int ndim,
                                const int64_t *shape) {
    int order[NL_MAX_DIMS];
    nl_loop_sort_dimensions(operands, l->operands, ndim, order);
    for (int n = 0; n < ndim; n++) {
        int d = order[n];
        if (shape[d] == 1)
            continue;
        l->shape[l->ndim] = shape[d];
        l->count *= shape[d];
        for (int i = 0; i < l->operands; i++)
            l->strides[i][l->ndim] = operand_stride(&operands[i], ndim, d);
        reverse_axis_if_backwards(l, l->ndim++);
    }
    if (l->ndim == 0)
        make_contiguous(l, operands, 0, shape);
    merge_dimensions(l);
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
    if (is_all_contiguous(operands, count, ndim, shape))
        make_contiguous(l, operands, ndim, shape);
    else
        simplify_dimensions(l, operands, ndim, shape);
    choose_kernel_kind(l, operands);
}

/* Returns the number of dimensions for which the kernel divides indices: all dimensions, or the
 * dimensions outside of rows or tiles. */
static int count_divided_dims(const nl_loop *l) {
    return l->kind == NL_LOOP_TILED ? l->ndim - 2 : is_row_kind(l) ? l->ndim - 1 : l->ndim;
}

static int64_t divide_up(int64_t size, int64_t piece) {
    return (size + piece - 1) / piece;
}

/* counts one more, because the first vector access of a shifted row may begin before the row */
static int64_t count_row_pieces(const nl_loop *l, int64_t piece) {
    int64_t inner = l->shape[l->ndim - 1];
    return divide_up(l->kind == NL_LOOP_SHIFTED ? inner + piece - 1 : inner, piece);
}

int64_t nl_loop_threads(const nl_loop *l, int64_t per_thread) {
    int64_t inner = l->shape[l->ndim - 1];
    if (l->kind == NL_LOOP_TILED) {
        int64_t outer = l->shape[l->ndim - 2], tile = per_thread >= 16 ? 64 : 32;
        return l->count / inner / outer * divide_up(inner, tile) * divide_up(outer, tile) * BLOCK;
    }
    if (is_row_kind(l))
        return l->count / inner * count_row_pieces(l, per_thread);
    return divide_up(l->count, per_thread);
}

size_t nl_loop_size(const nl_loop *l) {
    static const size_t words[] = {2, 4, 4, 5, 1, 1, 1}; /* between slots and shape */
    size_t operands = (size_t)l->operands, dims = (size_t)l->dims;
    size_t steps = l->kind == NL_LOOP_FLAT ? 0 : l->kind == NL_LOOP_TILED ? dims + 2 : dims;
    size_t size = operands * NL_LOOP_SLOT + 8 * words[l->kind] + 16 * dims + 8 * operands * steps;
    return (size + 15) / 16 * 16;
}

static unsigned char *append_8_bytes(unsigned char *at, const void *value) {
    memcpy(at, value, 8);
    return at + 8;
}

/* Returns the divider for the number of threads of a row; {0, 0} if the total number of threads
 * exceeds 31 bits. */
static nl_divider threads_per_row_divider(const nl_loop *l, int64_t per_thread) {
    if (nl_loop_threads(l, per_thread) > INT32_MAX - BLOCK)
        return (nl_divider){0, 0};
    return nl_loop_magic_divisor((uint32_t)count_row_pieces(l, per_thread));
}

static unsigned char *append_header(const nl_loop *l, int64_t per_thread, unsigned char *at) {
    int64_t columns = l->shape[l->ndim - 1], rows = l->count / columns;
    if (l->kind == NL_LOOP_TILED) {
        int64_t high = l->shape[l->ndim - 2], tiles = rows / high;
        at = append_8_bytes(append_8_bytes(append_8_bytes(at, &tiles), &columns), &high);
        return append_8_bytes(append_8_bytes(at, &l->advance), &l->across);
    }
    if (is_row_kind(l)) {
        nl_divider by = threads_per_row_divider(l, per_thread);
        return append_8_bytes(
            append_8_bytes(append_8_bytes(append_8_bytes(at, &rows), &columns), &l->advance), &by);
    }
    at = append_8_bytes(at, &l->count);
    return l->kind == NL_LOOP_FLAT ? append_8_bytes(at, &l->advance) : at;
}

void nl_loop_write(const nl_loop *l, int64_t per_thread, unsigned char *block) {
    static const int64_t one = 1, nothing = 0;
    unsigned char *at = block + (size_t)l->operands * NL_LOOP_SLOT;
    int dims = count_divided_dims(l), before = l->dims - dims;
    int steps = l->kind == NL_LOOP_TILED ? l->dims + 2 : l->dims;
    for (int i = 0; i < l->operands; i++)
        if (!(l->by_value >> i & 1))
            memcpy(block + (size_t)i * NL_LOOP_SLOT, &l->address[i], 8);
    at = append_header(l, per_thread, at);
    if (l->kind == NL_LOOP_FLAT)
        return;
    for (int d = 0; d < l->dims; d++)
        at = append_8_bytes(at, d < before ? &one : &l->shape[d - before]);
    for (int d = 0; d < l->dims; d++) {
        int64_t size = d < before ? 1 : l->shape[d - before];
        nl_divider by =
            size <= INT32_MAX ? nl_loop_magic_divisor((uint32_t)size) : (nl_divider){0, 0};
        at = append_8_bytes(at, &by);
    }
    for (int i = 0; i < l->operands; i++)
        for (int d = 0; d < steps; d++)
            at = append_8_bytes(at, d < before ? &nothing : &l->strides[i][d - before]);
}
