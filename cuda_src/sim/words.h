/* sim/words: the words of CUDA that mean the same on the simulator and on the CPU itself, over what
 * sim/thread.h or host/thread.h has of the thread that runs. threadIdx & co. are macros over functions
 * that return copies: nothing can write to them, as in CUDA. */
#ifndef NUMBALITE_SIM_WORDS_H
#define NUMBALITE_SIM_WORDS_H

#define threadIdx (::numbalite_sim::thread_index())
#define blockIdx (::numbalite_sim::block_index())
#define blockDim (::numbalite_sim::block_dim())
#define gridDim (::numbalite_sim::grid_dim())

/* A variable, since sources have local variables, parameters and members of this name. It is no constant expression, as
 * in CUDA, and yet known to the optimiser: nothing writes to what it refers to. */
namespace numbalite_sim {
static int warp_size = 32;
} // namespace numbalite_sim
static const int &warpSize = numbalite_sim::warp_size;

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
