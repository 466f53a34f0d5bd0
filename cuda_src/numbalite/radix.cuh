/* radix: sorts rows of any length by 8-bit digits of their keys, least significant digit first
 * (Adinolfi and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022).
 *
 * nl_radix_count reads the keys once and counts the digits at all digit positions. Then one
 * nl_radix_pass for each digit position reads each element once and writes it once. A block
 * processes a tile of a row. Each warp ranks its elements among the elements with the same digit.
 * The counts of earlier tiles are read from `state`, where each tile first stores its own count of
 * a digit and later the sum with all earlier tiles (the first tile stores the digit's base plus its
 * count). Flags in the highest two bits of a stored value mark whether it is the tile's own count
 * or the sum. Tiles are assigned in order (`ticket`), so a block waits only for blocks that have
 * started.
 *
 * Values may be moved together with the keys. If values are moved but `values_from` is null, the
 * values are the positions in the row. */
#ifndef NUMBALITE_RADIX_CUH
#define NUMBALITE_RADIX_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/each_element.cuh"
#include "numbalite/order.cuh"
#include "numbalite/warp.cuh"

namespace numbalite {
namespace nl_sort {

enum { DIGITS = 256, TICKETS = 32 }; /* these constants must match radix.py */

struct no_value {};

/* Returns a mask of the lanes with the same digit as the calling lane, by one vote for each bit:
 * the result of a vote is inverted if the calling lane's bit is 0. The function is written in PTX,
 * which compiles to three instructions per bit; __ballot_sync compiles to seven. */
NUMBALITE_FUNCTION unsigned find_lanes_with_digit(unsigned digit) {
#ifdef NUMBALITE_SIM
    return __match_any_sync(0xffffffffu, digit);
#else
    unsigned same = 0xffffffffu;
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        unsigned votes;
        asm volatile("{\n"
                     " .reg .pred set;\n"
                     " .reg .b32 own;\n"
                     " shl.b32 own, %1, %2;\n"
                     " setp.lt.s32 set, own, 0;\n"
                     " vote.sync.ballot.b32 %0, set, 0xffffffff;\n"
                     " @!set not.b32 %0, %0;\n"
                     "}"
                     : "=r"(votes)
                     : "r"(digit), "r"(31 - bit));
        same &= votes;
    }
    return same;
#endif
}

/* Assigns an output position to each lane: returns `*next`, the next free position of the lane's
 * digit, plus the lane's rank among the lanes of the mask `same`. Advances `*next`. All lanes of a
 * warp must call this function. */
NUMBALITE_FUNCTION unsigned take_output_position(unsigned *next, unsigned same, unsigned lane) {
    unsigned place = *next + __popc(same & ((1u << lane) - 1));
    __syncwarp();
    if (!(same >> lane >> 1)) /* true for the last lane with this digit */
        *next = place + 1;
    __syncwarp();
    return place;
}

/* Computes the exclusive prefix sum over the digits: thread d passes the value of digit d; the
 * arguments of threads from 256 on are ignored. All threads of the block must call this
 * function. */
template <class T> NUMBALITE_FUNCTION T digits_before(T own, T *of_warps) {
    unsigned thread = threadIdx.x, lane = thread & 31;
    T sum = own;
    if (thread < DIGITS) {
        for (unsigned step = 1; step < 32; step *= 2) {
            T left = shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step)
                sum += left;
        }
        if (lane == 31)
            of_warps[thread / 32] = sum;
    }
    __syncthreads();
    T before = sum - own;
    if (thread < DIGITS)
        for (unsigned warp = 0; warp < thread / 32; ++warp)
            before += of_warps[warp];
    __syncthreads();
    return before;
}

template <class Count> struct flags {
    static constexpr int shift = 8 * sizeof(Count) - 2;
    static constexpr Count own = (Count)1 << shift, all = (Count)2 << shift, number = own - 1;
};

/* Returns the sum of one digit's counts in the `tiles` earlier tiles, which store their counts in
 * `mine[-256]`, `mine[-512]`... Several counts are loaded concurrently, because a load has a long
 * latency. The search ends at a tile that has published its sum with all earlier tiles, as the
 * first tile always does. */
template <class Count>
NUMBALITE_FUNCTION Count sum_earlier_tiles(const volatile Count *mine, unsigned tiles) {
    constexpr unsigned window = 4;
    Count sum = 0;
    for (;; mine -= window * DIGITS, tiles -= window) {
        Count found[window];
#pragma unroll
        for (unsigned k = 0; k < window; ++k)
            if (k < tiles)
                found[k] = mine[-(int)((k + 1) * DIGITS)];
#pragma unroll
        for (unsigned k = 0; k < window; ++k) {
            while (!(found[k] >> flags<Count>::shift))
                found[k] = mine[-(int)((k + 1) * DIGITS)];
            sum += found[k] & flags<Count>::number;
            if (found[k] & flags<Count>::all)
                return sum;
        }
    }
}

/* The values of type V that are moved with the keys; empty if V is no_value. The values are loaded
 * late, because the registers cannot hold items and values at the same time. */
template <class V, int Items> struct carried {
    V values[Items];
    V *shared;
    V *to;
    int64 *places_to;
    NUMBALITE_FUNCTION carried(void *memory, V *to, int64 *places_to, uint64 row)
        : shared((V *)memory), to(to + row), places_to(places_to ? places_to + row : nullptr) {}
    NUMBALITE_FUNCTION void load(const V *from, uint64 row, uint64 begin, unsigned mine,
                                 unsigned valid) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            values[i] = from ? from[row + begin + min(mine + 32 * i, valid - 1)]
                             : (V)(begin + mine + 32 * i);
    }
    NUMBALITE_FUNCTION void scatter(const unsigned *places) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            shared[places[i]] = values[i];
    }
    template <class Count> NUMBALITE_FUNCTION void write(unsigned place, Count target) {
        V value = shared[place];
        if (places_to)
            places_to[target] = (int64)value;
        else
            to[target] = value;
    }
};
template <int Items> struct carried<no_value, Items> {
    NUMBALITE_FUNCTION carried(void *, no_value *, int64 *, uint64) {}
    NUMBALITE_FUNCTION void load(const no_value *, uint64, uint64, unsigned, unsigned) {}
    NUMBALITE_FUNCTION void scatter(const unsigned *) {}
    template <class Count> NUMBALITE_FUNCTION void write(unsigned, Count) {}
};

template <class Count> struct tile_memory {
    Count base[DIGITS], of_warps[DIGITS / 32];
    unsigned sums[DIGITS / 32], ticket, gap;
};

/* Sorts one tile by one digit. `memory` contains counts[warp][digit]; later items[TILE] overwrite
 * the counts, followed by values[TILE]. */
template <class K, class V, class Count, int Threads, int Items>
NUMBALITE_FUNCTION void
sort_tile_by_digit(tile_memory<Count> &s, unsigned char *memory, const typename K::item *from,
     typename K::item *to, const V *values_from, V *values_to, int64 *places_to, uint64 n,
     unsigned tiles, int place, uint64 flip, const Count *totals, Count *state, unsigned *ticket) {
    constexpr unsigned TILE = Threads * Items;
    constexpr int WARPS = Threads / 32;
    typedef typename K::item item;
    unsigned thread = threadIdx.x, warp = thread / 32, lane = thread & 31;
    unsigned *counts = (unsigned *)memory, *counts_of_warp = counts + warp * DIGITS;
    item *sorted = (item *)memory;
    if (thread == 0)
        s.ticket = atomicAdd(ticket, 1u);
    for (unsigned digit = lane; digit < DIGITS; digit += 32)
        counts_of_warp[digit] = 0;
    __syncthreads();
    unsigned number = s.ticket, line = number / tiles, tile = number - line * tiles;
    uint64 row = line * n, begin = (uint64)tile * TILE;
    unsigned valid = n - begin < TILE ? (unsigned)(n - begin) : TILE;
    /* index of the thread's first element; its next elements are 32 apart */
    unsigned mine = warp * 32 * Items + lane;
    item items[Items];
    from += row + begin;
    /* the last element is repeated past the end of the row: these copies are ranked last among the
     * elements with their digit, and are not written */
    unsigned absent = TILE - valid, repeated = DIGITS;
    auto digit_of = [&](const item &x) { return K::digit(K::flipped(K::of(x), flip), place); };
    if (!absent) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            items[i] = from[mine + 32 * i];
    } else {
        repeated = digit_of(from[valid - 1]);
#pragma unroll
        for (int i = 0; i < Items; ++i)
            items[i] = from[min(mine + 32 * i, valid - 1)];
    }
    /* counts the digits before ranking, because later tiles wait only for the counts */
#pragma unroll
    for (int i = 0; i < Items; ++i)
        atomicAdd(counts_of_warp + digit_of(items[i]), 1u);
    __syncthreads();
    unsigned sum = 0;
    Count own = 0;
    volatile Count *left = state + ((uint64)number * DIGITS + thread);
    if (thread < DIGITS) {
        for (int w = 0; w < WARPS; ++w)
            sum += counts[w * DIGITS + thread];
        own = thread == repeated ? sum - absent : sum;
        if (tile > 0)
            *left = flags<Count>::own | own;
    }
    unsigned first = digits_before(sum, s.sums);
    Count base = 0;
    if (tile == 0) {
        totals += (uint64)line * K::places * DIGITS + (uint64)place * DIGITS;
        base = digits_before(thread < DIGITS ? totals[thread] : (Count)0, s.of_warps);
        if (thread < DIGITS)
            *left = flags<Count>::all | (base + own);
    }
    if (thread < DIGITS) {
        unsigned next = first;
        for (int w = 0; w < WARPS; ++w) {
            unsigned count = counts[w * DIGITS + thread];
            counts[w * DIGITS + thread] = next;
            next += count;
        }
    }
    __syncthreads();
    unsigned places[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) {
        unsigned digit = digit_of(items[i]);
        places[i] = take_output_position(counts_of_warp + digit, find_lanes_with_digit(digit), lane);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Items; ++i)
        sorted[places[i]] = items[i];
    carried<V, Items> values(sorted + TILE, values_to, places_to, row);
    values.load(values_from, row, begin, mine, valid);
    if (thread < DIGITS) {
        if (tile > 0) {
            base = sum_earlier_tiles<Count>(left, tile);
            *left = flags<Count>::all | (base + own);
        }
        s.base[thread] = base - first;
        if (thread == repeated)
            s.gap = first + (unsigned)own;
    }
    values.scatter(places);
    __syncthreads();
    if (to)
        to += row;
    auto write = [&](unsigned j) {
        item x = sorted[j];
        Count target = s.base[digit_of(x)] + j;
        if (to)
            to[target] = x;
        values.write(j, target);
    };
    if (!absent) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            write(thread + Threads * i);
    } else {
        for (unsigned j = thread; j < TILE; j += Threads)
            if (j - s.gap >= absent)
                write(j);
    }
}

} // namespace nl_sort
} // namespace numbalite

/* Counts the digits at all digit positions. `work` must be zero before the launch. `work` contains
 * a ticket for each position (unsigned, in the space of the first 32 Counts),
 * totals[row][position][digit], the number of keys with this digit at this position, and
 * states[position][tile][digit]. `blocks` blocks count one row. */
template <class K, class Count, int Threads, int Apart>
__global__ void __launch_bounds__(Threads)
    nl_radix_count(const void *from, unsigned long long n, unsigned blocks, unsigned long long flip,
                   void *work) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    constexpr unsigned bins = K::places * DIGITS;
    unsigned *counts =
        /* [position][digit][Apart]: `Apart` copies of the counts reduce conflicts between lanes */
        (unsigned *)numbalite::block_memory();
    for (unsigned i = threadIdx.x; i < bins * Apart; i += Threads)
        counts[i] = 0;
    __syncthreads();
    uint64 row = blockIdx.x / blocks, step = (uint64)blocks * Threads;
    const typename K::item *x = (const typename K::item *)from + row * n;
    unsigned *mine = counts + threadIdx.x % Apart;
    uint64 thread = (uint64)(blockIdx.x - row * blocks) * Threads + threadIdx.x;
    nl_walk::each_element<2>(x, n, thread, step, [&](const typename K::item &item, uint64) {
        typename K::key key = K::flipped(K::of(item), flip);
#pragma unroll
        for (int place = 0; place < (int)K::places; ++place)
            atomicAdd(mine + K::digit(key, place) * Apart + place * (int)DIGITS * Apart, 1u);
    });
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bins; bin += Threads) {
        Count sum = 0;
        /* each lane begins with another copy, so that the lanes access different banks */
        for (unsigned k = 0; k < Apart; ++k)
            sum += counts[bin * Apart + (bin + k) % Apart];
        if (sum)
            atomicAdd((Count *)work + TICKETS + row * bins + bin, sum);
    }
}

/* Sorts by the digit at position `place`. `to` may be null in the last pass if only the values are
 * needed. If `places_to` is not null, the values are written to `places_to` as int64, not to
 * `values_to`. */
template <class K, class V, class Count, int Threads, int Items, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    nl_radix_pass(const void *from, void *to, const void *values_from, void *values_to,
                  long long *places_to, unsigned long long n, unsigned tiles, int place,
                  unsigned long long flip, void *work) {
    using namespace numbalite::nl_sort;
    __shared__ tile_memory<Count> s;
    Count *totals = (Count *)work + TICKETS, *state = totals;
    state += (numbalite::uint64)(gridDim.x / tiles * K::places) * DIGITS;
    state += (numbalite::uint64)gridDim.x * place * DIGITS;
    sort_tile_by_digit<K, V, Count, Threads, Items>(s, numbalite::block_memory(), (const typename K::item *)from,
                                      (typename K::item *)to, (const V *)values_from,
                                      (V *)values_to, (numbalite::int64 *)places_to, n, tiles,
                                      place, flip, totals, state, (unsigned *)work + place);
}

#endif
