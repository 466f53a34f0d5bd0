/* search: searchsorted: insertion positions in a sorted array, in the order of order.cuh. */
#ifndef NUMBALITE_SEARCH_CUH
#define NUMBALITE_SEARCH_CUH

#include "numbalite/order.cuh"

/* For each of m values: the number of the n elements that precede it, or, with `right`, that do not
 * follow it. `sorter` contains the elements' indices in sorted order, or is null. */
template <class K>
__global__ void __launch_bounds__(256)
    nl_search(const void *sorted, const long long *sorter, const void *values, long long *found,
              unsigned long long n, unsigned long long m, int right, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 j = (uint64)blockIdx.x * blockDim.x + threadIdx.x; j < m; j += step) {
        typename K::key wanted = ordered<K>(((const item *)values)[j], flip);
        uint64 begin = 0, end = n;
        while (begin < end) {
            uint64 middle = begin + (end - begin) / 2;
            uint64 place = sorter ? (uint64)sorter[middle] : middle;
            typename K::key key = ordered<K>(((const item *)sorted)[place], flip);
            if (right ? !K::less(wanted, key) : K::less(key, wanted))
                begin = middle + 1;
            else
                end = middle;
        }
        found[j] = (long long)begin;
    }
}

#endif
