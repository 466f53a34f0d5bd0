/* Names that a helper of the tests mentions; no test of a block calls them. */
#ifndef SUITE_DEVICE_RADIX_SORT_H
#define SUITE_DEVICE_RADIX_SORT_H
namespace cub {
struct DeviceRadixSort {
    template <class... A> static cudaError_t SortKeys(A &&...);
    template <class... A> static cudaError_t SortKeysDescending(A &&...);
    template <class... A> static cudaError_t SortPairs(A &&...);
    template <class... A> static cudaError_t SortPairsDescending(A &&...);
};
} // namespace cub
#endif
