/* cuda_pipeline_primitives.h: asynchronous copies of a thread, implemented by
 * sim/memcpy_async.h. */
#pragma once
#include "sim/memcpy_async.h"

/* Copies 4, 8 or 16 bytes. The last `zeros` bytes of the source are not read; the corresponding
 * bytes of the destination are set to 0. */
NUMBALITE_SIM_INLINE void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0,
                                                  NUMBALITE_SIM_SITE) {
    if (size != 4 && size != 8 && size != 16)
        numbalite_sim::fault(719, "__pipeline_memcpy_async copies 4, 8 or 16 bytes", file, line);
    if ((reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from)) % size)
        numbalite_sim::fault(716, "__pipeline_memcpy_async: an address is no multiple of the size", file, line);
    for (size_t i = size - zeros; i < size; ++i)
        static_cast<char *>(to)[i] = 0;
    numbalite_sim::copy_part(to, from, size - zeros, 0, 1);
}
NUMBALITE_SIM_INLINE void __pipeline_commit() {
    numbalite_sim::asynccopy::commit();
}
NUMBALITE_SIM_INLINE void __pipeline_wait_prior(size_t groups) {
    numbalite_sim::asynccopy::wait(static_cast<unsigned>(groups));
}
template <class Barrier> NUMBALITE_SIM_INLINE void __pipeline_arrive_on(Barrier *barrier) {
    numbalite_sim::asynccopy::bind_to_barrier(barrier);
}
