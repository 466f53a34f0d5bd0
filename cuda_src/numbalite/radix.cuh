/* radix: sorts rows of any length by their keys' digits of 8 bits, from the last to the first (Adinolfi and Merrill,
 * "Onesweep: a faster least significant digit radix sort for GPUs", 2022).
 *
 * nl_radix_count reads the keys once and counts the digits of all places. Then there is one nl_radix_pass for each
 * place: it reads each element once and writes it once. A block takes a tile of a row: every warp ranks its elements
 * among those with the same digit; the counts of the tiles before it are looked up in `state`, where each tile leaves
 * its own, and soon the sum with all before it (the digit's base for the first tile), marked by flags in the highest two
 * bits. Tiles are taken in order (`ticket`), so what a block waits for is running or done.
 *
 * With the keys may travel values; without given ones (`values_from` null) these are the places in the row. */
#ifndef NUMBALITE_RADIX_CUH
#define NUMBALITE_RADIX_CUH

#include "numbalite/order.cuh"
#include "numbalite/warp.cuh"

namespace numbalite {
namespace nl_sort {

enum { DIGITS = 256, TICKETS = 32 }; /* radix.py has them, too */

struct no_value {};

/* The lanes whose digits are equal. */
NUMBALITE_FUNCTION unsigned same_digit(unsigned digit) {
#if defined(NUMBALITE_SIM) || defined(NUMBALITE_RADIX_MATCH)
    return __match_any_sync(0xffffffffu, digit);
#else
    unsigned same = 0xffffffffu;
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        bool set = digit >> bit & 1;
        unsigned votes = __ballot_sync(0xffffffffu, set);
        same &= set ? votes : ~votes;
    }
    return same;
#endif
}

/* The sum of the values of the digits before the thread's own: the first 256 threads have one each. All of the
 * block take part. */
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

/* The sum of the counts of a digit in the `tiles` before, which these leave in `mine[-256]`, `mine[-512]`... A few are
 * read at once, since each read takes long; the first tile always knows all. */
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

/* Values travel in V; no_value has none. */
template <class V, int Threads, int Items> struct carried {
    typedef V type;
    V values[Items];
    NUMBALITE_FUNCTION void load(const V *from, uint64 row, uint64 begin, unsigned place,
                                 unsigned valid) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            if (place + 32 * i < valid)
                values[i] = from ? from[row + begin + place + 32 * i] : (V)(begin + place + 32 * i);
    }
    template <class Count>
    NUMBALITE_FUNCTION void store(V *shared, const unsigned *places, const Count *to, uint64 row,
                                  unsigned valid, V *values_to, int64 *places_to) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < Items; ++i)
            if (places[i] < valid)
                shared[places[i]] = values[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < Items; ++i) {
            unsigned j = threadIdx.x + Threads * i;
            if (j < valid) {
                if (places_to)
                    places_to[row + to[i]] = (int64)shared[j];
                else
                    values_to[row + to[i]] = shared[j];
            }
        }
    }
};
template <int Threads, int Items> struct carried<no_value, Threads, Items> {
    typedef unsigned char type;
    NUMBALITE_FUNCTION void load(const no_value *, uint64, uint64, unsigned, unsigned) {}
    template <class Count>
    NUMBALITE_FUNCTION void store(unsigned char *, const unsigned *, const Count *, uint64, unsigned,
                                  no_value *, int64 *) {}
};

template <class K, class V, class Count, int Threads, int Items> struct tile_memory {
    union {
        unsigned counts[Threads / 32][DIGITS];
        typename K::item items[Threads * Items];
        typename carried<V, Threads, Items>::type values[Threads * Items];
    };
    Count base[DIGITS], of_warps[DIGITS / 32];
    unsigned sums[DIGITS / 32], ticket;
};

template <class K, class V, class Count, int Threads, int Items>
NUMBALITE_FUNCTION void pass(tile_memory<K, V, Count, Threads, Items> &s, const typename K::item *from,
                             typename K::item *to, const V *values_from, V *values_to,
                             int64 *places_to, uint64 n, unsigned tiles, int place, const flips &f,
                             const Count *totals, Count *state, unsigned *ticket) {
    constexpr unsigned TILE = Threads * Items;
    constexpr int WARPS = Threads / 32;
    typedef typename K::item item;
    unsigned thread = threadIdx.x, warp = thread / 32, lane = thread & 31;
    if (thread == 0)
        s.ticket = atomicAdd(ticket, 1u);
    for (unsigned digit = lane; digit < DIGITS; digit += 32)
        s.counts[warp][digit] = 0;
    __syncthreads();
    unsigned number = s.ticket, line = number / tiles, tile = number - line * tiles;
    uint64 row = line * n, begin = (uint64)tile * TILE;
    unsigned valid = n - begin < TILE ? (unsigned)(n - begin) : TILE;
    unsigned mine = warp * 32 * Items + lane; /* then in steps of 32 */
    item items[Items];
    unsigned ranks[Items]; /* and the digits, 16 bits higher */
    from += row + begin;
    if (valid == TILE) {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            items[i] = from[mine + 32 * i];
    } else {
#pragma unroll
        for (int i = 0; i < Items; ++i)
            if (mine + 32 * i < valid)
                items[i] = from[mine + 32 * i];
    }
#pragma unroll
    for (int i = 0; i < Items; ++i) {
        unsigned digit = 255; /* what is not there comes after all that is */
        if (mine + 32 * i < valid)
            digit = K::digit(K::of(items[i], f), place);
        unsigned same = same_digit(digit), lower = __popc(same & ((1u << lane) - 1));
        unsigned before = s.counts[warp][digit];
        __syncwarp();
        if (lower == 0)
            s.counts[warp][digit] = before + __popc(same);
        __syncwarp();
        ranks[i] = digit << 16 | (before + lower);
    }
    __syncthreads();
    unsigned sum = 0;
    Count own = 0;
    volatile Count *left = state + ((uint64)number * DIGITS + thread);
    if (thread < DIGITS) {
        for (int w = 0; w < WARPS; ++w)
            sum += s.counts[w][thread];
        own = thread == 255 ? sum - (TILE - valid) : sum;
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
            unsigned count = s.counts[w][thread];
            s.counts[w][thread] = next;
            next += count;
        }
    }
    __syncthreads();
    unsigned places[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i)
        places[i] = s.counts[warp][ranks[i] >> 16] + (ranks[i] & 0xffff);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Items; ++i)
        if (places[i] < valid)
            s.items[places[i]] = items[i];
    carried<V, Threads, Items> values;
    values.load(values_from, row, begin, mine, valid);
    if (thread < DIGITS) {
        if (tile > 0) {
            base = look_back<Count>(left, tile);
            *left = flags<Count>::all | (base + own);
        }
        s.base[thread] = base - first;
    }
    __syncthreads();
    Count targets[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) {
        unsigned j = thread + Threads * i;
        targets[i] = 0;
        if (j < valid) {
            item x = s.items[j];
            targets[i] = s.base[K::digit(K::of(x, f), place)] + j;
            if (to)
                to[row + targets[i]] = x;
        }
    }
    values.store((typename carried<V, Threads, Items>::type *)s.values, places, targets, row, valid,
                 values_to, places_to);
}

} // namespace nl_sort
} // namespace numbalite

/* `work` begins as zeros: a ticket for each place, the totals[row][place][digit] of the keys with this digit there, and
 * the states[place][tile][digit]. All are of type Count, but the tickets, of which the first 32 places have room.
 * `blocks` blocks count a row. */
template <class K, class Count, int Threads, int Apart>
__global__ void __launch_bounds__(Threads)
    nl_radix_count(const void *from, unsigned long long n, unsigned blocks, unsigned long long sign,
                   unsigned long long bias, unsigned long long reverse, void *work) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    constexpr unsigned bins = K::places * DIGITS;
    constexpr int ahead = 8;
    /* [place][digit][Apart]: lanes have them apart */
#ifdef NUMBALITE_SIM
    unsigned *counts = numbalite_sim::dynamic_shared<unsigned[]>();
#else
    extern __shared__ unsigned counts[];
#endif
    flips f = {sign, bias, reverse};
    for (unsigned i = threadIdx.x; i < bins * Apart; i += Threads)
        counts[i] = 0;
    __syncthreads();
    uint64 row = blockIdx.x / blocks, step = (uint64)blocks * Threads;
    const typename K::item *x = (const typename K::item *)from + row * n;
    unsigned *mine = counts + threadIdx.x % Apart;
    uint64 i = (uint64)(blockIdx.x - row * blocks) * Threads + threadIdx.x;
    for (; i < n; i += ahead * step) {
        typename K::item items[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            if (i + k * step < n)
                items[k] = x[i + k * step];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            if (i + k * step < n) {
                typename K::key key = K::of(items[k], f);
#pragma unroll
                for (int place = 0; place < (int)K::places; ++place)
                    atomicAdd(mine + (place * DIGITS + K::digit(key, place)) * Apart, 1u);
            }
    }
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bins; bin += Threads) {
        Count sum = 0;
        for (int k = 0; k < Apart; ++k)
            sum += counts[bin * Apart + k];
        if (sum)
            atomicAdd((Count *)work + TICKETS + row * bins + bin, sum);
    }
}

/* One place. `to` may be null in the last pass, if only values are wanted; `places_to` (int64) takes the values in
 * the place of `values_to`. */
template <class K, class V, class Count, int Threads, int Items, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    nl_radix_pass(const void *from, void *to, const void *values_from, void *values_to,
                  long long *places_to, unsigned long long n, unsigned tiles, int place,
                  unsigned long long sign, unsigned long long bias, unsigned long long reverse,
                  void *work) {
    using namespace numbalite::nl_sort;
    __shared__ tile_memory<K, V, Count, Threads, Items> s;
    flips f = {sign, bias, reverse};
    Count *totals = (Count *)work + TICKETS, *state = totals;
    state += (numbalite::uint64)(gridDim.x / tiles * K::places) * DIGITS;
    state += (numbalite::uint64)gridDim.x * place * DIGITS;
    pass<K, V, Count, Threads, Items>(s, (const typename K::item *)from, (typename K::item *)to,
                             (const V *)values_from, (V *)values_to, (numbalite::int64 *)places_to,
                             n, tiles, place, f, totals, state, (unsigned *)work + place);
}

#endif
