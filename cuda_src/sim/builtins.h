/* sim/builtins: CUDA builtins that are the same on the simulator and for CPU targets, based on
 * sim/thread.h or host/thread.h. threadIdx etc. are macros that call functions, which return
 * copies: as in CUDA, they cannot be assigned to. */
#ifndef NUMBALITE_SIM_BUILTINS_H
#define NUMBALITE_SIM_BUILTINS_H

#define threadIdx (::numbalite_sim::thread_index())
#define blockIdx (::numbalite_sim::block_index())
#define blockDim (::numbalite_sim::block_dim())
#define gridDim (::numbalite_sim::grid_dim())

/* warpSize is a variable, not a macro, because sources have local variables, parameters and members
 * of this name. As in CUDA, warpSize is not a constant expression, but the optimizer uses its
 * value, because no code writes to warpSize. */
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

/* This macro does not depend on NDEBUG, which is only read after the prelude: hostoptions.py and
 * include/assert.h handle NDEBUG. */
#define assert(...) \
    (static_cast<bool>(__VA_ARGS__) \
         ? static_cast<void>(0) \
         : ::numbalite_sim::fault(710, "Assertion `" #__VA_ARGS__ "` failed.", __FILE__, \
                                  __LINE__))

#if !defined(NUMBALITE_SIM_CLANG)
#define __builtin_assume(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#endif

#endif
