/* merge_sort: a stable sort of rows with a user's comparison function, for elements of any type.
 *
 * Tiles that fit in shared memory are sorted by a bitonic network; equal elements are compared by
 * their positions. Then runs are merged, which doubles their length each time: a thread writes a
 * few neighbouring elements, and finds by bisection which elements of the two runs precede them
 * (Green, McColl and Bader, "GPU merge path", 2012).
 *
 * The original positions of the elements in the row may be moved together with the elements. */
#ifndef NUMBALITE_MERGE_SORT_CUH
#define NUMBALITE_MERGE_SORT_CUH

#include "numbalite.cuh"

namespace numbalite {
namespace nl_merge {

enum { EACH = 4 }; /* number of elements per thread in a merge, which must match merge.py */

template <class T> struct element {
    T value;
    NUMBALITE_FUNCTION void set(const T &x, uint64) { value = x; }
};
template <class T> struct placed {
    T value;
    int64 place;
    NUMBALITE_FUNCTION void set(const T &x, uint64 at) {
        value = x;
        place = (int64)at;
    }
};

/* Makes one step of the bitonic network. Elements from index `valid` on are ordered last. */
template <class E, class Less>
NUMBALITE_FUNCTION void compare_and_exchange(E *items, uint16 *order, unsigned width, unsigned valid,
                                 unsigned run, unsigned apart, Less less) {
    for (unsigned p = threadIdx.x; p < width / 2; p += blockDim.x) {
        unsigned a = 2 * p - (p & (apart - 1)), b = a + apart;
        uint16 i = order[a], j = order[b];
        bool wrong;
        if (i >= valid || j >= valid)
            wrong = j < i;
        else if (less(items[b].value, items[a].value))
            wrong = true;
        else
            wrong = j < i && !less(items[a].value, items[b].value);
        if (wrong == !(a & run)) {
            E x = items[a];
            items[a] = items[b];
            items[b] = x;
            order[a] = j;
            order[b] = i;
        }
    }
}

/* Sorts each tile of `width` elements, a power of two, by one block; a row has `tiles` tiles. */
template <class E, class T, int Width, class Less>
NUMBALITE_FUNCTION void sort_tiles(const T *from, E *to, uint64 n, uint64 tiles, Less less) {
    __shared__ __align__(16) unsigned char raw[Width * sizeof(E)];
    __shared__ uint16 order[Width];
    E *items = (E *)raw;
    uint64 row = blockIdx.x / tiles, begin = (blockIdx.x - row * tiles) * Width;
    unsigned valid = n - begin < Width ? (unsigned)(n - begin) : Width;
    for (unsigned i = threadIdx.x; i < Width; i += blockDim.x) {
        if (i < valid)
            items[i].set(from[row * n + begin + i], begin + i);
        order[i] = (uint16)i;
    }
    __syncthreads();
    for (unsigned run = 2; run <= Width; run *= 2)
        for (unsigned apart = run / 2; apart > 0; apart /= 2) {
            compare_and_exchange(items, order, Width, valid, run == Width ? 0 : run, apart, less);
            __syncthreads();
        }
    for (unsigned i = threadIdx.x; i < valid; i += blockDim.x)
        to[row * n + begin + i] = items[i];
}

/* Merges runs of `length`; `threads` threads per row. */
template <class E, class Less>
NUMBALITE_FUNCTION void merge_runs(const E *from, E *to, uint64 rows, uint64 n, uint64 threads,
                                   uint64 length, Less less) {
    uint64 thread = (uint64)blockIdx.x * blockDim.x + threadIdx.x, row = thread / threads;
    if (row >= rows)
        return;
    uint64 out = (thread - row * threads) * EACH, begin = out / (2 * length) * (2 * length);
    from += row * n;
    to += row * n;
    uint64 middle = begin + length < n ? begin + length : n;
    uint64 end = middle + length < n ? middle + length : n;
    const E *a = from + begin, *b = from + middle;
    uint64 of_a = middle - begin, of_b = end - middle, before = out - begin;
    uint64 low = before > of_b ? before - of_b : 0, high = before < of_a ? before : of_a;
    while (low < high) {
        uint64 i = low + (high - low) / 2;
        if (!less(b[before - 1 - i].value, a[i].value))
            low = i + 1;
        else
            high = i;
    }
    uint64 i = low, j = before - low;
    for (int k = 0; k < EACH && out + k < end; ++k) {
        bool is_a = j >= of_b || (i < of_a && !less(b[j].value, a[i].value));
        to[out + k] = is_a ? a[i++] : b[j++];
    }
}

/* Writes the original positions of the sorted elements. */
template <class E> NUMBALITE_FUNCTION void write_positions(const E *from, int64 *places, uint64 count) {
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        places[i] = from[i].place;
}

} // namespace nl_merge
} // namespace numbalite

#endif
