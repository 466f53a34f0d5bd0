/* search: searches a sorted array by bisection, in the order of order.cuh, for searchsorted and
 * isin. */
#ifndef NUMBALITE_SEARCH_CUH
#define NUMBALITE_SEARCH_CUH

#include "numbalite/order.cuh"

namespace numbalite {
namespace nl_sort {

enum { TABLE = 1024 }; /* must match searching.py */

/* The sorted keys of an array in device memory. `sorter` contains the elements' indices in sorted
 * order, or is null. */
template <class K> struct sorted_array {
    const typename K::item *items;
    const long long *sorter;
    uint64 flip;

    NUMBALITE_FUNCTION typename K::key operator[](uint64 i) const {
        return ordered<K>(items[sorter ? (uint64)sorter[i] : i], flip);
    }
};

/* Returns how many of n sorted keys are less than `wanted`, or, if `right` is set, less than or
 * equal to it. I is an unsigned type that can represent n; with 32-bit types, the search needs half
 * the instructions. */
template <class K, class Keys, class I>
NUMBALITE_FUNCTION I search_bound(const Keys &keys, I n, const typename K::key &wanted, bool right) {
    I begin = 0, end = n;
    while (begin < end) {
        const I middle = begin + (end - begin) / 2;
        const typename K::key key = keys[middle];
        if (right ? !K::less(wanted, key) : K::less(key, wanted))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Copies up to TABLE keys to shared memory, which is faster to read and contains already converted
 * keys. */
template <class K>
NUMBALITE_FUNCTION void fill_search_table(typename K::key *table, const sorted_array<K> &array, uint64 n) {
    if (n > TABLE)
        return;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        table[i] = array[i];
    __syncthreads();
}

/* Calls search_bound on the copy in shared memory if the array fits in it. */
template <class K>
NUMBALITE_FUNCTION uint64 search_bound_staged(const typename K::key *table, const sorted_array<K> &array,
                                   uint64 n, const typename K::key &wanted, bool right) {
    if (n <= TABLE)
        return search_bound<K>(table, (unsigned int)n, wanted, right);
    if (n < 1ull << 31)
        return search_bound<K>(array, (unsigned int)n, wanted, right);
    return search_bound<K>(array, n, wanted, right);
}

} // namespace nl_sort
} // namespace numbalite

/* For each of m values, counts the n elements that are less than it, or, if `right` is set, less
 * than or equal to it. `sorter` contains the elements' indices in sorted order, or is null. */
template <class K>
__global__ void __launch_bounds__(256)
    nl_search(const void *sorted, const long long *sorter, const void *values, long long *found,
              unsigned long long n, unsigned long long m, int right, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    __shared__ typename K::key table[TABLE];
    const sorted_array<K> array = {(const item *)sorted, sorter, flip};
    fill_search_table<K>(table, array, n);
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 j = (uint64)blockIdx.x * blockDim.x + threadIdx.x; j < m; j += step) {
        const typename K::key wanted = ordered<K>(((const item *)values)[j], flip);
        found[j] = (long long)search_bound_staged<K>(table, array, n, wanted, right);
    }
}

/* For each of m values, stores whether it is one of the n elements; if `inverts` is set, stores the
 * negation. */
template <class K>
__global__ void __launch_bounds__(256)
    nl_contains(const void *sorted, const void *values, bool *found, unsigned long long n,
                unsigned long long m, int inverts, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    __shared__ typename K::key table[TABLE];
    const sorted_array<K> array = {(const item *)sorted, nullptr, flip};
    fill_search_table<K>(table, array, n);
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 j = (uint64)blockIdx.x * blockDim.x + threadIdx.x; j < m; j += step) {
        const typename K::key wanted = ordered<K>(((const item *)values)[j], flip);
        const uint64 at = search_bound_staged<K>(table, array, n, wanted, false);
        const bool there = at < n && !K::less(wanted, n <= TABLE ? table[at] : array[at]);
        found[j] = there != (inverts != 0);
    }
}

#endif
