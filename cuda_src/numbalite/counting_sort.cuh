/* counting_sort: sorts rows of 1-byte elements. nl_radix_count (radix.cuh) counts the elements of
 * each value; then each result is computed from its position and these counts. The elements are
 * read once and written once, so the target may be the source. */
#ifndef NUMBALITE_COUNTING_SORT_CUH
#define NUMBALITE_COUNTING_SORT_CUH

#include "numbalite/radix.cuh"

namespace numbalite {
namespace nl_sort {

/* Returns the digit of the element at a position of the sorted row. ends[d] is the number of
 * elements with digits up to d. */
template <class Count>
NUMBALITE_FUNCTION unsigned digit_at(const Count *ends, uint64 position) {
    unsigned low = 0, high = DIGITS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (ends[middle] > position)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

} // namespace nl_sort
} // namespace numbalite

/* Writes the sorted rows of n elements. `work` has the same layout as for nl_radix_count. `blocks`
 * blocks write one row, in units of 16 bytes; bytes of a unit outside the row are not written. */
template <class Count, int Threads>
__global__ void __launch_bounds__(Threads)
    nl_write_counted(void *to, unsigned long long n, unsigned blocks, unsigned long long flip,
                     const void *work) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    __shared__ Count ends[DIGITS], of_warps[DIGITS / 32];
    uint64 row = blockIdx.x / blocks, step = (uint64)blocks * Threads * 16;
    Count own = 0;
    if (threadIdx.x < DIGITS)
        own = ((const Count *)work)[TICKETS + row * DIGITS + threadIdx.x];
    Count before = digits_before(own, of_warps);
    if (threadIdx.x < DIGITS)
        ends[threadIdx.x] = before + own;
    __syncthreads();
    unsigned char *target = (unsigned char *)to + row * n;
    unsigned lead = (unsigned)(uint64)target & 15; /* number of bytes in the first 16-byte unit that
                                                    * precede the row */
    uint64 piece = ((uint64)(blockIdx.x - row * blocks) * Threads + threadIdx.x) * 16;
    for (; piece < n + lead; piece += step) {
        uint64 begin = piece < lead ? 0 : piece - lead, end = piece + 16 - lead;
        if (end > n)
            end = n;
        unsigned digit = digit_at(ends, begin);
        bool is_whole = end - begin == 16;
        if (is_whole && ends[digit] >= end) {
            unsigned word = (digit ^ (unsigned char)flip) * 0x01010101u;
            *(uint4 *)(target + begin) = make_uint4(word, word, word, word);
            continue;
        }
        for (uint64 i = begin; i < end; ++i) {
            while (ends[digit] <= i)
                ++digit;
            target[i] = (unsigned char)(digit ^ flip);
        }
    }
}

#endif
