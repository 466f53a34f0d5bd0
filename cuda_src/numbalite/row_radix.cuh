/* row_radix: sorts rows that fit in a block by 8-bit digits of their keys, least significant digit
 * first. Each digit is one pass over registers and shared memory: every warp ranks its elements
 * among the elements with the same digit (radix.cuh), then the elements move to their new
 * positions. A pass is skipped if all keys have the same digit. The sort is stable. */
#ifndef NUMBALITE_ROW_RADIX_CUH
#define NUMBALITE_ROW_RADIX_CUH

#include "numbalite/radix.cuh"

namespace numbalite {
namespace nl_sort {

/* The original positions of the elements, which are moved with the elements; empty if Has is
 * false. */
template <bool Has, int Items> struct row_places {
    uint16 places[Items];
    uint16 *shared;
    NUMBALITE_FUNCTION row_places(void *memory, unsigned mine) : shared((uint16 *)memory) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            places[i] = (uint16)(mine + 32 * i);
    }
    NUMBALITE_FUNCTION void store(int i, unsigned at) { shared[at] = places[i]; }
    NUMBALITE_FUNCTION void load(int i, unsigned at) { places[i] = shared[at]; }
    NUMBALITE_FUNCTION void write(int i, int64 *to) { *to = places[i]; }
};
template <int Items> struct row_places<false, Items> {
    NUMBALITE_FUNCTION row_places(void *, unsigned) {}
    NUMBALITE_FUNCTION void store(int, unsigned) {}
    NUMBALITE_FUNCTION void load(int, unsigned) {}
    NUMBALITE_FUNCTION void write(int, int64 *) {}
};

/* Replaces counts[warp][digit] by the position of the warp's first element with this digit. Returns
 * whether all `n` keys have the same digit. The `absent` positions past the row's end are counted
 * with the digit 255. */
template <int Warps>
NUMBALITE_FUNCTION bool compute_digit_positions(unsigned *counts, unsigned *sums, unsigned n,
                                            unsigned absent) {
    unsigned digit = threadIdx.x, sum = 0;
    if (digit < DIGITS)
        for (int w = 0; w < Warps; ++w) {
            unsigned count = counts[w * DIGITS + digit];
            counts[w * DIGITS + digit] = sum;
            sum += count;
        }
    unsigned keys = digit == DIGITS - 1 ? sum - absent : sum;
    bool is_one = __syncthreads_or(digit < DIGITS && keys == n);
    unsigned first = digits_before(sum, sums);
    if (digit < DIGITS)
        for (int w = 0; w < Warps; ++w)
            counts[w * DIGITS + digit] += first;
    __syncthreads();
    return is_one;
}

} // namespace nl_sort
} // namespace numbalite

/* Sorts rows of n <= Threads * Items elements, one row per block; `to` may be `from` or null.
 * `places_to` receives the original positions, and is only used if Places is true. The launch needs
 * max(32 * Threads, Threads * Items * sizeof(item)) bytes of shared memory, and 2 * Threads * Items
 * for the positions. */
template <class K, bool Places, int Threads, int Items, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    nl_sort_row(const void *from, void *to, long long *places_to, unsigned n,
                unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    constexpr int WARPS = Threads / 32;
    constexpr unsigned TILE = Threads * Items;
    __shared__ unsigned sums[DIGITS / 32];
    unsigned *counts = (unsigned *)block_memory();
    item *sorted = (item *)block_memory();
    unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32, mine = warp * 32 * Items + lane;
    unsigned *counts_of_warp = counts + warp * DIGITS;
    const uint64 row = (uint64)blockIdx.x * n;
    constexpr size_t bytes =
        TILE * sizeof(item) > WARPS * DIGITS * 4 ? TILE * sizeof(item) : WARPS * DIGITS * 4;
    row_places<Places, Items> places(block_memory() + bytes, mine);
    item items[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i)
        items[i] = ((const item *)from)[row + min(mine + 32 * i, n - 1)];
#pragma unroll 1
    for (int place = 0; place < (int)K::places; ++place) {
        unsigned at[Items];
        /* Returns the digit of item i, or 255 past the row's end. A condition for each item would
         * need more predicate registers than the GPU has, which ptxas does not always compile
         * correctly. */
        auto digit_of = [&](int i) {
            const int left = (int)(n - 1) - (int)(mine + 32 * i);
            return K::digit(ordered<K>(items[i], flip), place) | ((unsigned)(left >> 31) & 255);
        };
        for (unsigned digit = lane; digit < DIGITS; digit += 32)
            counts_of_warp[digit] = 0;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < Items; ++i) {
            unsigned digit = digit_of(i);
            at[i] = take_output_position(counts_of_warp + digit, find_lanes_with_digit(digit), lane);
        }
        __syncthreads();
        if (compute_digit_positions<WARPS>(counts, sums, n, TILE - n))
            continue;
#pragma unroll
        for (int i = 0; i < Items; ++i)
            at[i] += counts_of_warp[digit_of(i)];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < Items; ++i) {
            sorted[at[i]] = items[i];
            places.store(i, at[i]);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < Items; ++i) {
            items[i] = sorted[mine + 32 * i];
            places.load(i, mine + 32 * i);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < Items; ++i)
        if (mine + 32 * i < n) {
            if (to)
                ((item *)to)[row + mine + 32 * i] = items[i];
            if (Places)
                places.write(i, (int64 *)places_to + row + mine + 32 * i);
        }
}

#endif
