/* sim/memcpy_async: cuda::memcpy_async and what it takes, which <cuda/barrier> and <cuda/pipeline> have both.
 * The simulator has none of it: where it is used is an error. */
#ifndef NUMBALITE_SIM_MEMCPY_ASYNC_H
#define NUMBALITE_SIM_MEMCPY_ASYNC_H

namespace cuda {
template <size_t alignment> struct aligned_size_t {
    static constexpr size_t align = alignment;
    size_t value;
    explicit constexpr aligned_size_t(size_t size) : value(size) {}
    constexpr operator size_t() const { return value; }
};
template <class... Arguments>
NUMBALITE_SIM_CANNOT("cuda::memcpy_async cannot run on the CPU simulator")
void memcpy_async(Arguments &&...);
} // namespace cuda

#endif
