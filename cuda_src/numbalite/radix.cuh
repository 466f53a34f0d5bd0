/* radix: sorts rows of any length by their keys' digits of 8 bits, from the last to the first
 * (Adinolfi and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022).
 *
 * nl_radix_count reads the keys once and counts the digits of all places. Then there is one
 * nl_radix_pass for each place: it reads each element once and writes it once. A block takes a tile
 * of a row: every warp ranks its elements among those with the same digit; the counts of the tiles
 * before it are looked up in `state`, where each tile leaves its own, and soon the sum with all
 * before it (the digit's base for the first tile), marked by flags in the highest two bits. Tiles
 * are taken in order (`ticket`), so what a block waits for is running or done.
 *
 * With the keys may travel values; without given ones (`values_from` null) these are the places in
 * the row. */
#ifndef NUMBALITE_RADIX_CUH
#define NUMBALITE_RADIX_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/order.cuh"
#include "numbalite/warp.cuh"

namespace numbalite {
namespace nl_sort {

enum { DIGITS = 256, TICKETS = 32 }; /* radix.py has them, too */

struct no_value {};

/* The lanes whose digits are equal: a vote for each bit, turned round where the lane's own bit is
 * 0. In PTX, which becomes three instructions for a bit, where __ballot_sync becomes seven. */
NUMBALITE_FUNCTION unsigned same_digit(unsigned digit) {
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
                     " and.b32 own, %1, %2;\n"
                     " setp.ne.u32 set, own, 0;\n"
                     " vote.sync.ballot.b32 %0, set, 0xffffffff;\n"
                     " @!set not.b32 %0, %0;\n"
                     "}"
                     : "=r"(votes)
                     : "r"(digit), "r"(1u << bit));
        same &= votes;
    }
    return same;
#endif
}

/* A place for each lane, counted by `next` of its digit. */
NUMBALITE_FUNCTION unsigned take_place(unsigned *next, unsigned same, unsigned lane) {
    unsigned place = *next + __popc(same & ((1u << lane) - 1));
    __syncwarp();
    if (!(same >> lane >> 1)) /* the last lane with this digit */
        *next = place + 1;
    __syncwarp();
    return place;
}

/* The sum of the values of the digits before the thread's own: the first 256 threads have one each.
 * All of the block take part. */
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

/* The sum of the counts of a digit in the `tiles` before, which these leave in `mine[-256]`,
 * `mine[-512]`... A few are read at once, since each read takes long; the first tile always knows
 * all. */
template <class Count>
NUMBALITE_FUNCTION Count look_back(const volatile Count *mine, unsigned tiles) {
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

/* Values travel in V; no_value has none. They are loaded late: registers do not hold items and
 * values at once. */
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

/* `memory` holds the counts[warp][digit], then items[TILE] in their place, and behind these the
 * values[TILE]. */
template <class K, class V, class Count, int Threads, int Items>
NUMBALITE_FUNCTION void
pass(tile_memory<Count> &s, unsigned char *memory, const typename K::item *from,
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
    unsigned mine = warp * 32 * Items + lane; /* then in steps of 32 */
    item items[Items];
    from += row + begin;
    /* Behind the row's end its last element is repeated: the places of these come last among its
     * digit's. */
    unsigned absent = TILE - valid, repeated = DIGITS;
    auto digit_of = [&](const item &x) { return K::digit(K::turned(K::of(x), flip), place); };
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
    /* Counted before they are ranked: the tiles behind wait for the counts alone. */
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
        places[i] = take_place(counts_of_warp + digit, same_digit(digit), lane);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Items; ++i)
        sorted[places[i]] = items[i];
    carried<V, Items> values(sorted + TILE, values_to, places_to, row);
    values.load(values_from, row, begin, mine, valid);
    if (thread < DIGITS) {
        if (tile > 0) {
            base = look_back<Count>(left, tile);
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

/* `work` begins as zeros: a ticket for each place, the totals[row][place][digit] of the keys with
 * this digit there, and the states[place][tile][digit]. All are of type Count, but the tickets, of
 * which the first 32 places have room. `blocks` blocks count a row. */
template <class K, class Count, int Threads, int Apart>
__global__ void __launch_bounds__(Threads)
    nl_radix_count(const void *from, unsigned long long n, unsigned blocks, unsigned long long flip,
                   void *work) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    constexpr unsigned bins = K::places * DIGITS;
    constexpr int ahead = 8;
    unsigned *counts =
        (unsigned *)numbalite::block_memory(); /* [place][digit][Apart]: lanes have them apart */
    for (unsigned i = threadIdx.x; i < bins * Apart; i += Threads)
        counts[i] = 0;
    __syncthreads();
    uint64 row = blockIdx.x / blocks, step = (uint64)blocks * Threads;
    const typename K::item *x = (const typename K::item *)from + row * n;
    unsigned *mine = counts + threadIdx.x % Apart;
    auto count = [&](const typename K::item &item) {
        typename K::key key = K::turned(K::of(item), flip);
#pragma unroll
        for (int place = 0; place < (int)K::places; ++place)
            atomicAdd(mine + K::digit(key, place) * Apart + place * (int)DIGITS * Apart, 1u);
    };
    uint64 i = (uint64)(blockIdx.x - row * blocks) * Threads + threadIdx.x;
    for (; i + (ahead - 1) * step < n; i += ahead * step) {
        typename K::item items[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            items[k] = x[i + k * step];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            count(items[k]);
    }
    for (; i < n; i += step)
        count(x[i]);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bins; bin += Threads) {
        Count sum = 0;
        for (unsigned k = 0; k < Apart; ++k) /* each lane begins elsewhere: the banks differ */
            sum += counts[bin * Apart + (bin + k) % Apart];
        if (sum)
            atomicAdd((Count *)work + TICKETS + row * bins + bin, sum);
    }
}

/* One place. `to` may be null in the last pass, if only values are wanted; `places_to` (int64)
 * takes the values in the place of `values_to`. */
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
    pass<K, V, Count, Threads, Items>(s, numbalite::block_memory(), (const typename K::item *)from,
                                      (typename K::item *)to, (const V *)values_from,
                                      (V *)values_to, (numbalite::int64 *)places_to, n, tiles,
                                      place, flip, totals, state, (unsigned *)work + place);
}

#endif
