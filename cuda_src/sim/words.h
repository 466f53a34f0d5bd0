/* sim/words: the words of CUDA that mean the same on the simulator and on the CPU itself, over what
 * sim/thread.h or host/thread.h has of the thread that runs. threadIdx & co. are macros over functions
 * that return copies: nothing can write to them, as in CUDA. */
#ifndef NUMBALITE_SIM_WORDS_H
#define NUMBALITE_SIM_WORDS_H

#define threadIdx (::numbalite_sim::thread_index())
#define blockIdx (::numbalite_sim::block_index())
#define blockDim (::numbalite_sim::block_dim())
#define gridDim (::numbalite_sim::grid_dim())
#define warpSize (::numbalite_sim::warp_size())

namespace numbalite_sim {
/* Known to the compiler, and yet no constant expression, as in CUDA. */
NUMBALITE_SIM_PLACE int warp_size() {
    return 32;
}
} // namespace numbalite_sim

NUMBALITE_SIM_OWN long long clock64() {
    return static_cast<long long>(numbalite_sim::ops->clock());
}

[[noreturn]] NUMBALITE_SIM_INLINE void __trap(const char *file = __builtin_FILE(),
                                              int line = __builtin_LINE()) {
    numbalite_sim::fault(719, "trap", file, line);
}
NUMBALITE_SIM_INLINE void __brkpt() {}
NUMBALITE_SIM_INLINE void __prof_trigger(int) {}

/* Without regard to NDEBUG, which comes after the prelude: hostoptions.py and include/assert.h see
 * to it. */
#define assert(...) \
    (static_cast<bool>(__VA_ARGS__) \
         ? static_cast<void>(0) \
         : ::numbalite_sim::fault(710, "Assertion `" #__VA_ARGS__ "` failed.", __FILE__, \
                                  __LINE__))

#if !defined(NUMBALITE_SIM_CLANG)
#define __builtin_assume(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#endif

#endif
