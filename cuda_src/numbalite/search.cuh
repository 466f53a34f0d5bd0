/* search: binary search in a sorted array, in the order of order.cuh: searchsorted and isin. */
#ifndef NUMBALITE_SEARCH_CUH
#define NUMBALITE_SEARCH_CUH

#include "numbalite/order.cuh"

namespace numbalite {
namespace nl_sort {

/* Returns how many of the n elements are less than `wanted`, or, with `right`, less than or equal
 * to it. I is an unsigned type that can represent n; 32-bit arithmetic needs half the
 * instructions. */
template <class K, class I>
NUMBALITE_FUNCTION I bound_of(const void *sorted, const long long *sorter, I n,
                              const typename K::key &wanted, bool right, unsigned long long flip) {
    I begin = 0, end = n;
    while (begin < end) {
        const I middle = begin + (end - begin) / 2;
        const uint64 place = sorter ? (uint64)sorter[middle] : middle;
        const typename K::key key = ordered<K>(((const typename K::item *)sorted)[place], flip);
        if (right ? !K::less(wanted, key) : K::less(key, wanted))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}
template <class K>
NUMBALITE_FUNCTION uint64 bound_of_any(const void *sorted, const long long *sorter, uint64 n,
                                       const typename K::key &wanted, bool right,
                                       unsigned long long flip) {
    if (n < 1ull << 31)
        return bound_of<K>(sorted, sorter, (unsigned int)n, wanted, right, flip);
    return bound_of<K>(sorted, sorter, n, wanted, right, flip);
}

} // namespace nl_sort
} // namespace numbalite

/* For each of m values, counts the n elements that are less than it, or, with `right`, less than or
 * equal to it. `sorter` contains the elements' indices in sorted order, or is null. */
template <class K>
__global__ void __launch_bounds__(256)
    nl_search(const void *sorted, const long long *sorter, const void *values, long long *found,
              unsigned long long n, unsigned long long m, int right, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 j = (uint64)blockIdx.x * blockDim.x + threadIdx.x; j < m; j += step) {
        const typename K::key wanted = ordered<K>(((const typename K::item *)values)[j], flip);
        found[j] = (long long)bound_of_any<K>(sorted, sorter, n, wanted, right, flip);
    }
}

/* For each of m values, stores whether it is one of the n elements; with `inverts`, whether it is
 * none of them. */
template <class K>
__global__ void __launch_bounds__(256)
    nl_contains(const void *sorted, const void *values, bool *found, unsigned long long n,
                unsigned long long m, int inverts, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 j = (uint64)blockIdx.x * blockDim.x + threadIdx.x; j < m; j += step) {
        const typename K::key wanted = ordered<K>(((const item *)values)[j], flip);
        const uint64 at = bound_of_any<K>(sorted, nullptr, n, wanted, false, flip);
        const bool there = at < n && !K::less(wanted, ordered<K>(((const item *)sorted)[at], flip));
        found[j] = there != (inverts != 0);
    }
}

#endif
