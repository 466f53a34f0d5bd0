/* permute: generates random permutations, and gathers elements by them
 * (numbalite/random/shuffling.py).
 *
 * Short rows are sorted by random keys: each item has a random 64-bit key, and its rank is its new
 * position. For long rows, a bijection of b-bit integers maps a position i to the item at this
 * position; the bijection is applied again while the result is not less than n. The bijection is a
 * Feistel network of 24 rounds with halves of b / 2 bits (Mitchell, Stokes, Frank and Holmes,
 * "Bandwidth-optimal random shuffling for GPUs", 2022). Thus a few positions of a large permutation
 * can be computed without computing the others. Feistel networks are even permutations, so the
 * first two items are swapped at random to make odd permutations equally likely.
 *
 * Weighted choices without replacement are a race: item i arrives after an exponential time divided
 * by its weight, and the first arrivals are chosen. The first arrivals are found by a bitonic
 * sort. */
#ifndef NUMBALITE_PERMUTE_CUH
#define NUMBALITE_PERMUTE_CUH

#include "numbalite/philox.cuh"

namespace numbalite {
namespace nl_random {

/* SHORT and ITEMS must match shuffling.py. LANES threads compute the rank of one item; a block
 * computes the ranks of ITEMS items at a time. */
enum { SHORT = 1024, ROUNDS = 24, LANES = 8, ITEMS = 256 / LANES };

NUMBALITE_FUNCTION words philox_block_after(uint64 key, uint64 low, uint64 high, uint64 k) {
    return philox::block(key, low + k, high + (low + k < k));
}

/* Computes a bijection of integers of `left` + `right` bits; right is left or left + 1. */
NUMBALITE_FUNCTION uint64 permute_bits(uint64 x, int left, int right, const uint32 *keys) {
    uint64 a = x >> right, b = x & (((uint64)1 << right) - 1);
    for (int round = 0; round < ROUNDS; ++round) {
        uint64 high = __umul64hi(0xd2b74407b1ce6e93ull, a), low = 0xd2b74407b1ce6e93ull * a;
        low = low << (right - left) | b >> left;
        a = (high ^ keys[round] ^ b) & (((uint64)1 << left) - 1);
        b = low & (((uint64)1 << right) - 1);
    }
    return a << right | b;
}

/* An item of the bitonic sort, ordered by key, then by index. */
struct item {
    double key;
    long long index;

    NUMBALITE_FUNCTION bool operator<(const item &other) const {
        return key != other.key ? key < other.key : index < other.index;
    }
};

} // namespace nl_random
} // namespace numbalite

/* For each of `lines` rows of n <= SHORT items, writes the first m items of a permutation; `blocks`
 * blocks process one row: each computes all keys and a part of the ranks. */
extern "C" __global__ void __launch_bounds__(256)
    nl_permute_short(long long *out, unsigned long long lines, int n, int m, unsigned long long key,
                     unsigned long long low, unsigned long long high, unsigned blocks) {
    using namespace numbalite;
    using nl_random::ITEMS;
    using nl_random::LANES;
    __shared__ uint64 keys[nl_random::SHORT];
    const int lane = threadIdx.x % LANES;
    for (uint64 part = blockIdx.x; part < lines * blocks; part += gridDim.x) {
        const uint64 line = part / blocks;
        for (int j = threadIdx.x; j < (n + 1) / 2; j += blockDim.x) {
            uint64 k = line * (nl_random::SHORT / 2) + j;
            nl_random::words w = nl_random::philox_block_after(key, low, high, k);
            keys[2 * j] = nl_random::join_words(w.a, w.b);
            keys[2 * j + 1] = nl_random::join_words(w.c, w.d);
        }
        __syncthreads();
        for (int first = ITEMS * (int)(part % blocks); first < n; first += ITEMS * (int)blocks) {
            const int j = first + threadIdx.x / LANES;
            const uint64 mine = j < n ? keys[j] : 0;
            int rank = 0;
            for (int i = lane; i < n; i += LANES)
                rank += keys[i] < mine || (keys[i] == mine && i < j);
            for (int apart = LANES / 2; apart; apart /= 2)
                rank += __shfl_xor_sync(0xffffffffu, rank, apart);
            if (lane == 0 && j < n && rank < m)
                out[line * m + rank] = j;
        }
        __syncthreads();
    }
}

/* Writes permutations like nl_permute_short, for rows of more than SHORT items; `blocks` blocks
 * process one row. */
extern "C" __global__ void __launch_bounds__(256)
    nl_permute_long(long long *out, unsigned long long lines, unsigned long long n,
                    unsigned long long m, unsigned long long key, unsigned long long low,
                    unsigned long long high, unsigned blocks) {
    using namespace numbalite;
    __shared__ uint32 keys[nl_random::ROUNDS];
    uint64 line = blockIdx.x / blocks;
    if (threadIdx.x < nl_random::ROUNDS / 4) {
        uint64 k = line * (nl_random::ROUNDS / 4) + threadIdx.x;
        nl_random::words w = nl_random::philox_block_after(key, low, high, k);
        uint32 *mine = keys + 4 * threadIdx.x;
        mine[0] = w.a, mine[1] = w.b, mine[2] = w.c, mine[3] = w.d;
    }
    __syncthreads();
    int bits = 64 - __clzll((long long)(n - 1)), left = bits / 2;
    uint64 exchange = keys[0] >> 31; /* a bit that no round uses */
    uint64 step = (uint64)blocks * blockDim.x;
    for (uint64 i = (uint64)(blockIdx.x % blocks) * blockDim.x + threadIdx.x; i < m; i += step) {
        uint64 x = i < 2 ? i ^ exchange : i;
        do
            x = nl_random::permute_bits(x, left, bits - left, keys);
        while (x >= n);
        out[line * m + i] = (long long)x;
    }
}

/* Computes out[o, i, k] = in[o, index[i], k] for i < m; if `apart` is set, each o has its own
 * indices. */
template <class T>
__global__ void __launch_bounds__(256)
    nl_random_take(T *out, const T *in, const long long *index, unsigned long long outer,
                   unsigned long long n, unsigned long long m, unsigned long long inner,
                   int apart) {
    unsigned long long total = outer * m * inner;
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long e = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
         e < total; e += step) {
        unsigned long long k = e % inner, row = e / inner, o = row / m;
        unsigned long long from = (unsigned long long)index[apart ? row : row % m];
        out[e] = in[(o * n + from) * inner + k];
    }
}

/* For each u in [0, 1), finds the item whose interval of the cumulative sums contains it. */
extern "C" __global__ void __launch_bounds__(256)
    nl_random_search(long long *out, const double *u, unsigned long long count, const double *sums,
                     const double *weights, unsigned long long n) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    double all = sums[n - 1];
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
         i < count; i += step) {
        double x = u[i] * all;
        unsigned long long first = 0, last = n - 1;
        while (first < last) {
            unsigned long long middle = first + (last - first) / 2;
            if (sums[middle] > x)
                last = middle;
            else
                first = middle + 1;
        }
        /* rounding can select an item of weight 0: then the next item with a nonzero weight is
         * used */
        while (first + 1 < n && weights[first] == 0)
            ++first;
        while (first > 0 && weights[first] == 0)
            --first;
        out[i] = (long long)first;
    }
}

/* Computes the arrival time of each item; items from index n on never arrive. */
extern "C" __global__ void __launch_bounds__(256)
    nl_random_arrivals(double *times, long long *index, const double *weights, unsigned long long n,
                       unsigned long long padded, unsigned long long key, unsigned long long low,
                       unsigned long long high) {
    using namespace numbalite;
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x; i < padded; i += step) {
        nl_random::words w = nl_random::philox_block_after(key, low, high, i);
        double time = nl_random::exponential_of<double>(nl_random::join_words(w.a, w.b));
        double weight = i < n ? weights[i] : 0.0;
        times[i] = weight > 0.0 ? time / weight : __longlong_as_double(0x7ff0000000000000ll);
        index[i] = (long long)i;
    }
}

/* Makes one step of a bitonic sort of 2^k items: compares items `apart` from each other, in runs of
 * length `run`. */
extern "C" __global__ void __launch_bounds__(256)
    nl_random_sort(double *times, long long *index, unsigned long long count,
                   unsigned long long run, unsigned long long apart) {
    using namespace numbalite;
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 t = (uint64)blockIdx.x * blockDim.x + threadIdx.x; t < count / 2; t += step) {
        uint64 i = 2 * t - (t & (apart - 1)), j = i + apart;
        nl_random::item a = {times[i], index[i]}, b = {times[j], index[j]};
        if ((b < a) == !(i & run)) {
            times[i] = b.key, index[i] = b.index;
            times[j] = a.key, index[j] = a.index;
        }
    }
}

#endif
