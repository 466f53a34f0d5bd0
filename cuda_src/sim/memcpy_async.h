/* sim/memcpy_async: implements asynchronous copies for <cuda/barrier>, <cuda/pipeline>,
 * cuda_pipeline.h and cooperative groups. A copy is executed when it is started; checks treat it as
 * pending until the wait (sim/asynccopy.h). */
#ifndef NUMBALITE_SIM_MEMCPY_ASYNC_H
#define NUMBALITE_SIM_MEMCPY_ASYNC_H

namespace numbalite_sim {

template <class Word>
NUMBALITE_SIM_INLINE void copy_words(void *to, const void *from, size_t count, size_t part, size_t parts,
                                     const void *barrier) {
    size_t most = (count + parts - 1) / parts, first = part * most;
    if (first >= count)
        return;
    Word *target = static_cast<Word *>(to) + first;
    const Word *source = static_cast<const Word *>(from) + first;
    size_t own = count - first < most ? count - first : most;
    asynccopy::begin(target, source, own * sizeof(Word));
    for (size_t i = 0; i < own; i++)
        target[i] = source[i];
    asynccopy::report_copy(target, source, own * sizeof(Word), barrier);
}

/* Copies one of `parts` equal ranges, with the widest words that both addresses and the size
 * allow. */
NUMBALITE_SIM_INLINE void copy_part(void *to, const void *from, size_t size, size_t part, size_t parts,
                                    const void *barrier = nullptr) {
    size_t all = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from) | size;
    if (all % 8 == 0)
        copy_words<unsigned long long>(to, from, size / 8, part, parts, barrier);
    else if (all % 4 == 0)
        copy_words<unsigned>(to, from, size / 4, part, parts, barrier);
    else
        copy_words<unsigned char>(to, from, size, part, parts, barrier);
}

} // namespace numbalite_sim

#ifdef NUMBALITE_SIM_CCCL_H /* which has them */
#include <cuda/barrier>
#else
namespace cuda {

template <size_t alignment> struct aligned_size_t {
    static constexpr size_t align = alignment;
    size_t value;
    explicit constexpr aligned_size_t(size_t size) : value(size) {}
    constexpr operator size_t() const { return value; }
};

/* Makes copies that a barrier or a pipeline tracks, by one thread or by a group. */
template <class Shape, class Sync>
NUMBALITE_SIM_INLINE auto memcpy_async(void *to, const void *from, Shape size, Sync &sync)
    -> decltype(static_cast<void>(static_cast<size_t>(size))) {
    numbalite_sim::copy_part(to, from, size, 0, 1, sync.nl_counted_by());
}
template <class Group, class Shape, class Sync>
NUMBALITE_SIM_INLINE auto memcpy_async(const Group &group, void *to, const void *from, Shape size, Sync &sync)
    -> decltype(static_cast<void>(group.thread_rank())) {
    numbalite_sim::copy_part(to, from, size, group.thread_rank(), group.size(), sync.nl_counted_by());
}

} // namespace cuda
#endif

#endif
