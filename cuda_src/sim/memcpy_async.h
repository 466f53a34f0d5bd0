/* sim/memcpy_async: asynchronous copies, for <cuda/barrier>, <cuda/pipeline>, cuda_pipeline.h and cooperative
 * groups. A copy is made where it is asked for: who reads it without waiting sees what a GPU may show, but a race
 * with the copy is found only between threads. */
#ifndef NUMBALITE_SIM_MEMCPY_ASYNC_H
#define NUMBALITE_SIM_MEMCPY_ASYNC_H

namespace numbalite_sim {

template <class Word>
NUMBALITE_SIM_INLINE void copy_words(void *to, const void *from, size_t count, size_t first, size_t step) {
    for (size_t i = first; i < count; i += step)
        static_cast<Word *>(to)[i] = static_cast<const Word *>(from)[i];
}

/* Every `step`th piece from `first` on, in the widest words that both sides and the size allow. */
NUMBALITE_SIM_INLINE void copy_part(void *to, const void *from, size_t size, size_t first, size_t step) {
    size_t all = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from) | size;
    if (all % 8 == 0)
        copy_words<unsigned long long>(to, from, size / 8, first, step);
    else if (all % 4 == 0)
        copy_words<unsigned>(to, from, size / 4, first, step);
    else
        copy_words<unsigned char>(to, from, size, first, step);
}

} // namespace numbalite_sim

namespace cuda {

template <size_t alignment> struct aligned_size_t {
    static constexpr size_t align = alignment;
    size_t value;
    explicit constexpr aligned_size_t(size_t size) : value(size) {}
    constexpr operator size_t() const { return value; }
};

/* For a barrier or a pipeline, by one thread or by a group. */
template <class Shape, class Sync>
NUMBALITE_SIM_INLINE auto memcpy_async(void *to, const void *from, Shape size, Sync &)
    -> decltype(static_cast<void>(static_cast<size_t>(size))) {
    numbalite_sim::copy_part(to, from, size, 0, 1);
}
template <class Group, class Shape, class Sync>
NUMBALITE_SIM_INLINE auto memcpy_async(const Group &group, void *to, const void *from, Shape size, Sync &)
    -> decltype(static_cast<void>(group.thread_rank())) {
    numbalite_sim::copy_part(to, from, size, group.thread_rank(), group.size());
}

} // namespace cuda

#endif
