/* short_sort: sorts rows that fit into a block, in one launch, by a bitonic network in shared
 * memory (Batcher 1968).
 *
 * A block takes `together` rows, each in `width` places, a power of two; what is behind a row's end
 * comes last. Keys that are equal are compared by their places, so that the order is stable. As
 * long as partners are within 64 places, a warp has them for itself and waits for no other. */
#ifndef NUMBALITE_SHORT_SORT_CUH
#define NUMBALITE_SHORT_SORT_CUH

#include "numbalite/order.cuh"

namespace numbalite {
namespace nl_sort {

/* Places in a block: shorts.py has them, too. */
template <class K> struct short_rows {
    enum {
        places = sizeof(typename K::key) <= 8    ? 4096
                 : sizeof(typename K::key) <= 16 ? 2048
                                                 : 1024
    };
};

/* Exchanges pairs `apart` from each other, in runs that go up and down by turns. */
template <class K>
NUMBALITE_FUNCTION void exchange(typename K::key *keys, uint16 *order, unsigned count,
                                 unsigned width, unsigned run, unsigned apart) {
    for (unsigned p = threadIdx.x; p < count / 2; p += blockDim.x) {
        unsigned a = 2 * p - (p & (apart - 1)), b = a + apart;
        bool up = !(a & (width - 1) & run);
        typename K::key x = keys[a], y = keys[b];
        uint16 i = order[a], j = order[b];
        bool wrong = K::less(y, x) || (!K::less(x, y) && j < i);
        if (wrong == up) {
            keys[a] = y;
            keys[b] = x;
            order[a] = j;
            order[b] = i;
        }
    }
}

template <class K>
NUMBALITE_FUNCTION void sort_network(typename K::key *keys, uint16 *order, unsigned count,
                                     unsigned width) {
    for (unsigned run = 2; run <= width; run *= 2)
        for (unsigned apart = run / 2; apart > 0; apart /= 2) {
            exchange<K>(keys, order, count, width, run, apart);
            unsigned next = apart > 1 ? apart / 2 : run;
            if (next > 32 || apart > 32)
                __syncthreads();
            else
                __syncwarp();
        }
    __syncthreads();
}

} // namespace nl_sort
} // namespace numbalite

/* Sorts rows of n <= width elements; `to` and `places_to` (the places that the elements had) may be
 * null; `to` may be `from`. Blocks have a multiple of 32 threads. */
template <class K>
__global__ void __launch_bounds__(1024)
    nl_sort_short(const void *from, void *to, long long *places_to, unsigned long long rows,
                  unsigned n, unsigned width, unsigned together, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    constexpr unsigned most = short_rows<K>::places, held = most / 1024 < 2 ? 2 : most / 1024;
    __shared__ typename K::key keys[most];
    __shared__ uint16 order[most];
    uint64 first = (uint64)blockIdx.x * together;
    unsigned count = together * width;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
        uint64 row = first + i / width;
        unsigned place = i & (width - 1);
        bool is_there = place < n && row < rows;
        keys[i] = is_there ? ordered<K>(((const item *)from)[row * n + place], flip) : K::last();
        order[i] = (uint16)place;
    }
    __syncthreads();
    sort_network<K>(keys, order, count, width);
    /* Elements are read again, since keys do not tell them: all of them before the first is
     * written. */
    item items[held];
#pragma unroll
    for (unsigned k = 0; k < held; ++k) {
        unsigned i = threadIdx.x + k * blockDim.x;
        uint64 row = first + i / width;
        if (to && i < count && (i & (width - 1)) < n && row < rows)
            items[k] = ((const item *)from)[row * n + order[i]];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < held; ++k) {
        unsigned i = threadIdx.x + k * blockDim.x, place = i & (width - 1);
        uint64 row = first + i / width;
        if (i < count && place < n && row < rows) {
            if (to)
                ((item *)to)[row * n + place] = items[k];
            if (places_to)
                places_to[row * n + place] = order[i];
        }
    }
}

#endif
