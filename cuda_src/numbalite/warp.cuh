/* warp: the lanes of a warp, with numba.cuda's names; shuffles of any type that can be copied
 * bytewise.
 *
 *     laneid()  warpid()  lanemask_lt()
 *     shfl_sync(mask, value, lane)  shfl_up_sync(mask, value, delta)  shfl_down_sync  shfl_xor_sync
 *     match_any_sync(mask, value)  eq_sync(mask, predicate) */
#ifndef NUMBALITE_WARP_CUH
#define NUMBALITE_WARP_CUH

#ifdef NUMBALITE_HOST /* code for the CPU has no grid */
#include "host/nogrid.h"
#else

#include "numbalite.cuh"
#include "numbalite/site.cuh"

namespace numbalite {

/* Returns the linear index of the thread in its block; x varies fastest. */
NUMBALITE_FUNCTION unsigned int thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

NUMBALITE_FUNCTION int laneid() {
#ifdef NUMBALITE_SIM
    return (int)(thread_rank() & 31);
#else
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return (int)lane;
#endif
}

/* Returns the index of the warp in its block. */
NUMBALITE_FUNCTION int warpid() {
    return (int)(thread_rank() / 32);
}

/* Returns the mask of the lanes below the thread's lane. */
NUMBALITE_FUNCTION unsigned int lanemask_lt() {
    return (1u << laneid()) - 1;
}

namespace nl_detail {
/* Applies `exchange` to each 32-bit word of a value. */
template <class T, class Exchange>
NUMBALITE_FUNCTION T exchange_words(const T &value, Exchange exchange) {
    constexpr int count = (sizeof(T) + 3) / 4;
    unsigned int words[count] = {};
    memcpy(words, &value, sizeof(T));
    for (int k = 0; k < count; ++k)
        words[k] = exchange(words[k]);
    T result = value;
    memcpy(&result, words, sizeof(T));
    return result;
}
} // namespace nl_detail

#define NUMBALITE_SHUFFLE(name, Argument) \
    template <class T> \
    NUMBALITE_FUNCTION T name(unsigned int mask, T value, Argument argument, \
                              int width = 32 NUMBALITE_AND_SITE) { \
        return nl_detail::exchange_words(value, [=](unsigned int word) { \
            return __##name(mask, word, argument, width NUMBALITE_AND_HERE); \
        }); \
    }
NUMBALITE_SHUFFLE(shfl_sync, int)
NUMBALITE_SHUFFLE(shfl_up_sync, unsigned int)
NUMBALITE_SHUFFLE(shfl_down_sync, unsigned int)
NUMBALITE_SHUFFLE(shfl_xor_sync, int)
#undef NUMBALITE_SHUFFLE

template <class T>
NUMBALITE_FUNCTION unsigned int match_any_sync(unsigned int mask, T value NUMBALITE_AND_SITE) {
    unsigned int same = mask;
    nl_detail::exchange_words(value, [&](unsigned int word) {
        same &= __match_any_sync(mask, word NUMBALITE_AND_HERE);
        return word;
    });
    return same;
}

/* Returns whether all lanes of the mask have the same value. */
NUMBALITE_FUNCTION bool eq_sync(unsigned int mask, bool predicate NUMBALITE_AND_SITE) {
    unsigned int yes = __ballot_sync(mask, predicate NUMBALITE_AND_HERE);
    return yes == 0 || yes == mask;
}

} // namespace numbalite

#endif
#endif
