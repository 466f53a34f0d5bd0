/* select: selects elements of an array, in order, in one pass.
 *
 * Elements are selected by a function or by a mask. A block has a tile of 32 * K elements for each
 * of its warps; lookback.cuh computes how many were selected before. The plan is that of
 * reduce.cuh: all dimensions of the array and the mask are reduced dimensions; the one kept
 * dimension describes the output.
 *
 *     VALUES   the selected elements
 *     PLACES   their indices: one for each dimension; `output` of a dimension is the offset of its index,
 *              `output` of the kept dimension the stride between elements
 *     HALVES   the selected elements from the front, the others from the back in reverse
 *     SPREAD   overwrites the selected elements with others, in order; the kept dimension has their number,
 *              and they are repeated if more elements are selected
 *     COVER    overwrites each selected element with the other that has the same index: no
 * look-back */
#ifndef NUMBALITE_SELECT_CUH
#define NUMBALITE_SELECT_CUH

#include "numbalite/lookback.cuh"

namespace numbalite {
namespace nl_reduce {

enum selection { VALUES, PLACES, HALVES, SPREAD, COVER };

struct add_counts {
    NUMBALITE_FUNCTION int64 operator()(int64 a, int64 b) const { return a + b; }
};

/* The number of selected elements in earlier tiles, for all lanes of a warp; the last tile stores
 * the total in *count. */
NUMBALITE_FUNCTION int64 chosen_before(const plan &p, void *memory, int64 tile, int64 own,
                                       int64 *count) {
    int64 before = 0;
    if (p.parts > 1) {
        tile_states<int64> all = {(nl_status *)memory + 1, statuses_of_line(p.parts)};
        maybe<int64> m = before_tile(all, 0, tile, p.parts, own, add_counts());
        before = m.has ? m.value : 0;
    }
    if (tile == p.parts - 1 && laneid() == 0)
        *count = before + own;
    return before;
}

NUMBALITE_FUNCTION offsets element_of(const plan &p, int64 i) {
    if (p.reduced == 1) {
        offsets at = {i * p.dims[p.kept].input, i * p.dims[p.kept].where};
        return at;
    }
    return offsets_of(p, i);
}

NUMBALITE_FUNCTION int64 remainder(int64 i, int64 of) {
    return i < of ? i : of == 1 ? 0 : i - quotient(i, of) * of;
}

/* Writes the indices of element i to the output. */
NUMBALITE_FUNCTION void put_place(const plan &p, int64 i, char *to) {
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
    int64 tile = What != COVER && p.parts > 1 ? next_ticket((nl_status *)memory) : blockIdx.x;
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
            chosen[k] = *((const bool *)where + element_of(p, i).where);
    }
    if (!Masked || moves) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            int64 i = first + k * 32;
            if (What == HALVES ? i < p.length : chosen[k])
                item[k] = *(const S *)((const char *)input + element_of(p, i).input);
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
            int64 found = chosen_before(p, memory, tile, sum, count);
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
        else if (What == PLACES)
            put_place(p, i, to);
        else
            *(S *)((char *)input + element_of(p, i).input) =
                ((const S *)out)[remainder(What == SPREAD ? at : i, result.length)];
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
