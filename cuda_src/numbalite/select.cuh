/* select: selects elements of an array, in order, in one pass.
 *
 * Elements are selected by a function or by a mask. A block has a tile of 32 * K elements for each
 * of its warps; lookback.cuh computes how many elements earlier tiles have selected. The plan is
 * that of reduce.cuh: all dimensions of the array and the mask are reduced dimensions; the one kept
 * dimension describes the output.
 *
 *     VALUES   the selected elements
 *     INDICES  the indices of the selected elements, one for each dimension; `output` of a
 *              dimension is the offset of its index, `output` of the kept dimension the stride
 *              between elements
 *     HALVES   the selected elements from the front, the others from the back in reverse
 *     SPREAD   overwrites the selected elements with others, in order; the kept dimension has their number,
 *              and they are repeated if more elements are selected
 *     COVER    overwrites each selected element with the element of the second array that has the
 *              same index, so no look-back is needed */
#ifndef NUMBALITE_SELECT_CUH
#define NUMBALITE_SELECT_CUH

#include "numbalite/lookback.cuh"

namespace numbalite {
namespace nl_reduce {

enum selection { VALUES, INDICES, HALVES, SPREAD, COVER };

struct add_counts {
    NUMBALITE_FUNCTION int64 operator()(int64 a, int64 b) const { return a + b; }
};

/* Returns the number of selected elements in earlier tiles, for all lanes of a warp; the last tile
 * stores the total in *count. */
NUMBALITE_FUNCTION int64 count_selected_before(const plan &p, void *memory, int64 tile, int64 own,
                                       int64 *count) {
    int64 before = 0;
    if (p.parts > 1) {
        tile_states<int64> all = {(nl_status *)memory + 1, row_status_count(p.parts)};
        maybe<int64> m = before_tile(all, 0, tile, p.parts, own, add_counts());
        before = m.has ? m.value : 0;
    }
    if (tile == p.parts - 1 && laneid() == 0)
        *count = before + own;
    return before;
}

NUMBALITE_FUNCTION offsets offsets_of_element(const plan &p, int64 i) {
    if (p.reduced == 1) {
        offsets at = {i * p.dims[p.kept].input, i * p.dims[p.kept].where};
        return at;
    }
    return element_offsets(p, i);
}

NUMBALITE_FUNCTION int64 remainder(int64 i, int64 of) {
    return i < of ? i : of == 1 ? 0 : i - quotient(i, of) * of;
}

/* Writes the indices of element i to the output. */
NUMBALITE_FUNCTION void write_indices(const plan &p, int64 i, char *to) {
    const dimension *dims = p.dims + p.kept;
#pragma unroll 1
    for (int d = p.reduced - 1; d >= 0; --d) {
        int64 next = d > 0 ? quotient(i, dims[d].length) : 0;
        *(int64 *)(to + dims[d].output) = i - next * dims[d].length;
        i = next;
    }
}

template <class S, int What, bool Masked, int K, class Test>
NUMBALITE_FUNCTION void select(const plan &p, const void *input, const void *where, void *out,
                               void *memory, int64 *count, Test test) {
    __shared__ int of_warps[32];
    __shared__ int64 before;
    constexpr bool moves = What == VALUES || What == HALVES;
    int64 tile = What != COVER && p.parts > 1 ? take_ticket((nl_status *)memory) : blockIdx.x;
    int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int64 first = tile * p.chunk + (int64)warp * K * 32 + lane;
    S item[K];
    bool chosen[K];
    unsigned int of_lanes[K];

#pragma unroll
    for (int k = 0; k < K; ++k) {
        int64 i = first + k * 32;
        chosen[k] = i < p.length;
        if (Masked && chosen[k])
            chosen[k] = *((const bool *)where + offsets_of_element(p, i).where);
    }
    if (!Masked || moves) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            int64 i = first + k * 32;
            if (What == HALVES ? i < p.length : chosen[k])
                item[k] = *(const S *)((const char *)input + offsets_of_element(p, i).input);
        }
    }
    int own = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        if (!Masked && chosen[k])
            chosen[k] = test(item[k]);
        of_lanes[k] = __ballot_sync(ALL, chosen[k]);
        own += __popc(of_lanes[k]);
    }
    int64 place = 0;
    if (What != COVER) {
        if (lane == 0)
            of_warps[warp] = own;
        __syncthreads();
        if (warp == 0) {
            int64 sum = 0;
            for (int w = 0; w < warps; ++w)
                sum += of_warps[w];
            int64 found = count_selected_before(p, memory, tile, sum, count);
            if (lane == 0)
                before = found;
        }
        __syncthreads();
        place = before;
        for (int w = 0; w < warp; ++w)
            place += of_warps[w];
    }

    const dimension &result = p.dims[0];
#pragma unroll
    for (int k = 0; k < K; ++k) {
        int64 i = first + k * 32, at = place + __popc(of_lanes[k] & lanemask_lt());
        place += __popc(of_lanes[k]);
        char *to = (char *)out + at * result.output;
        if (What == HALVES && i < p.length && !chosen[k])
            *(S *)((char *)out + (p.length - 1 - (i - at)) * result.output) = item[k];
        if (!chosen[k])
            continue;
        if (moves)
            *(S *)to = item[k];
        else if (What == INDICES)
            write_indices(p, i, to);
        else
            *(S *)((char *)input + offsets_of_element(p, i).input) =
                ((const S *)out)[remainder(What == SPREAD ? at : i, result.length)];
    }
}

/* Returns a word with the high bit set in each byte that is not 0 in `word`. */
NUMBALITE_FUNCTION unsigned int mark_nonzero_bytes(unsigned int word) {
    return (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
}

/* Loads the mask of 16 elements, of which `left` exist: the high bits of the bytes of `words`. */
NUMBALITE_FUNCTION void load_mask(const unsigned char *mask, int left, unsigned int (&words)[4]) {
    if (left >= 16) {
        const uint4 loaded = *(const uint4 *)mask;
        words[0] = loaded.x, words[1] = loaded.y, words[2] = loaded.z, words[3] = loaded.w;
    } else {
#pragma unroll
        for (int b = 0; b < 16; ++b)
            words[b / 4] = (b % 4 ? words[b / 4] : 0) | (b < left ? (unsigned int)mask[b] << 8 * (b % 4) : 0);
    }
#pragma unroll
    for (int q = 0; q < 4; ++q)
        words[q] = mark_nonzero_bytes(words[q]);
}

/* Selects elements for VALUES, INDICES and SPREAD by a mask that is contiguous and aligned to 16
 * bytes, with K elements per thread, a multiple of 16. A lane loads the mask of 16 elements at
 * once. The block collects the numbers of its selected elements in shared memory, so that
 * neighbouring threads write neighbouring elements. */
template <class S, int What, int K>
NUMBALITE_FUNCTION void select_packed(const plan &p, const void *input, const void *where, void *out,
                                      void *memory, int64 *count) {
    constexpr int PIECES = K / 16, PIECE = 16 * 32;
    __shared__ unsigned short numbers[256 * K]; /* indices in the tile of the selected elements */
    __shared__ int of_warps[32];
    __shared__ int64 before;
    const int64 tile = p.parts > 1 ? take_ticket((nl_status *)memory) : blockIdx.x, base = tile * p.chunk;
    const int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int first = warp * 32 * K + lane * 16;
    const int left = (int)(p.length - base < p.chunk ? p.length - base : p.chunk);
    unsigned int words[PIECES][4];
    unsigned int upto[(PIECES + 1) / 2] = {}; /* two counts of 16 bits each */

#pragma unroll
    for (int j = 0; j < PIECES; ++j) {
        const int at = first + j * PIECE;
        load_mask((const unsigned char *)where + base + at, left - at, words[j]);
        int own = 0;
#pragma unroll
        for (int q = 0; q < 4; ++q)
            own += __popc(words[j][q]);
        upto[j / 2] += (unsigned int)own << 16 * (j % 2);
    }
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
#pragma unroll
        for (int pair = 0; pair < (PIECES + 1) / 2; ++pair) {
            const unsigned int other = __shfl_up_sync(ALL, upto[pair], step);
            upto[pair] += lane >= step ? other : 0;
        }
    int of_pieces[PIECES], of_warp = 0;
#pragma unroll
    for (int j = 0; j < PIECES; ++j) {
        of_pieces[j] = __shfl_sync(ALL, upto[j / 2], 31) >> 16 * (j % 2) & 0xffff;
        of_warp += of_pieces[j];
    }
    if (lane == 0)
        of_warps[warp] = of_warp;
    __syncthreads();
    int place = 0, sum = 0;
    for (int w = 0; w < warps; ++w) {
        place += w < warp ? of_warps[w] : 0;
        sum += of_warps[w];
    }
    if (warp == 0) {
        const int64 found = count_selected_before(p, memory, tile, sum, count);
        if (lane == 0)
            before = found;
    }
#pragma unroll
    for (int j = 0; j < PIECES; ++j) {
        int to = place + (int)(upto[j / 2] >> 16 * (j % 2) & 0xffff);
        place += of_pieces[j];
#pragma unroll
        for (int b = 15; b >= 0; --b)
            if (words[j][b / 4] >> (8 * (b % 4) + 7) & 1)
                numbers[--to] = (unsigned short)(first + j * PIECE + b);
    }
    __syncthreads();
    const int64 step = p.dims[0].output;
    for (int t = threadIdx.x; t < sum; t += blockDim.x) {
        const int64 i = base + numbers[t], at = before + t;
        if (What == VALUES)
            *(S *)((char *)out + at * step) = *(const S *)((const char *)input + offsets_of_element(p, i).input);
        else if (What == INDICES)
            write_indices(p, i, (char *)out + at * step);
        else
            *(S *)((char *)input + offsets_of_element(p, i).input) =
                ((const S *)out)[remainder(at, p.dims[0].length)];
    }
}

/* Reverses the elements after the first `count` of `p.length`, in place. */
template <class S> NUMBALITE_FUNCTION void reverse_rest(const plan &p, void *out, const int64 *count) {
    int64 rest = p.length - *count, i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rest / 2)
        return;
    int64 step = p.dims[0].output;
    S *a = (S *)((char *)out + (*count + i) * step), *b = (S *)((char *)out + (p.length - 1 - i) * step);
    S other = *a;
    *a = *b;
    *b = other;
}

} // namespace nl_reduce
} // namespace numbalite

#endif
