/* host/thread: replaces sim/thread.h on CPU targets, which have no grid. */
#ifndef NUMBALITE_HOST_THREAD_H
#define NUMBALITE_HOST_THREAD_H

#define NUMBALITE_HOST_NO_GRID(what) \
    NUMBALITE_SIM_CANNOT(what " needs a grid of threads, and code for the CPU runs without one: " \
                              "use it in kernels (cuda.jit) or with the target cuda")

namespace numbalite_sim {

static const nl_host_ops *ops;

/* The simulator calls spin where a thread may wait for another thread; on the CPU it does
 * nothing. */
NUMBALITE_SIM_INLINE void spin(const char *, int) {}

NUMBALITE_HOST_NO_GRID("threadIdx") uint3 thread_index();
NUMBALITE_HOST_NO_GRID("blockIdx") uint3 block_index();
NUMBALITE_HOST_NO_GRID("blockDim") dim3 block_dim();
NUMBALITE_HOST_NO_GRID("gridDim") dim3 grid_dim();
NUMBALITE_HOST_NO_GRID("the lane of a thread") unsigned lane();
template <class Array> NUMBALITE_HOST_NO_GRID("__shared__ memory") Array &dynamic_shared();

NUMBALITE_SIM_INLINE unsigned long long globaltimer() {
    return ops->globaltimer();
}
[[noreturn]] inline __attribute__((noinline, cold)) void fault(int status, const char *message,
                                                               const char *file, int line) {
    nl_host_fault what = {message, file, line, status, nullptr, 0};
    ops->fault(&what);
}

/* Sets the scope of atomics and fences, which only the simulator's checks use. */
struct narrow_scope {
    NUMBALITE_SIM_INLINE explicit narrow_scope(bool) {}
    NUMBALITE_SIM_INLINE ~narrow_scope() {}
};

} // namespace numbalite_sim

NUMBALITE_HOST_NO_GRID("__syncthreads()") void __syncthreads();
NUMBALITE_HOST_NO_GRID("__syncthreads_count()") int __syncthreads_count(int);
NUMBALITE_HOST_NO_GRID("__syncthreads_and()") int __syncthreads_and(int);
NUMBALITE_HOST_NO_GRID("__syncthreads_or()") int __syncthreads_or(int);
NUMBALITE_HOST_NO_GRID("__syncwarp()") void __syncwarp(unsigned = 0);
NUMBALITE_HOST_NO_GRID("__activemask()") unsigned __activemask();
NUMBALITE_HOST_NO_GRID("__ballot_sync()") unsigned __ballot_sync(unsigned, int);
NUMBALITE_HOST_NO_GRID("__any_sync()") int __any_sync(unsigned, int);
NUMBALITE_HOST_NO_GRID("__all_sync()") int __all_sync(unsigned, int);
#define NUMBALITE_HOST_NO_SHUFFLE(name) \
    template <class... Arguments> NUMBALITE_HOST_NO_GRID(#name "()") int name(Arguments...);
NUMBALITE_HOST_NO_SHUFFLE(__shfl_sync)
NUMBALITE_HOST_NO_SHUFFLE(__shfl_up_sync)
NUMBALITE_HOST_NO_SHUFFLE(__shfl_down_sync)
NUMBALITE_HOST_NO_SHUFFLE(__shfl_xor_sync)
NUMBALITE_HOST_NO_SHUFFLE(__match_any_sync)
NUMBALITE_HOST_NO_SHUFFLE(__match_all_sync)
NUMBALITE_HOST_NO_SHUFFLE(__reduce_add_sync)
NUMBALITE_HOST_NO_SHUFFLE(__reduce_min_sync)
NUMBALITE_HOST_NO_SHUFFLE(__reduce_max_sync)
NUMBALITE_HOST_NO_SHUFFLE(__reduce_and_sync)
NUMBALITE_HOST_NO_SHUFFLE(__reduce_or_sync)
NUMBALITE_HOST_NO_SHUFFLE(__reduce_xor_sync)
#undef NUMBALITE_HOST_NO_SHUFFLE
#define NUMBALITE_SIM_SHUFFLES(T)

/* Declares the index types of numbalite/index.cuh; nogrid.h declares the other names of that
 * header. */
namespace numbalite {
template <int N> NUMBALITE_HOST_NO_GRID("grid()") long long grid();
template <int N> NUMBALITE_HOST_NO_GRID("gridsize()") long long gridsize();
} // namespace numbalite

NUMBALITE_SIM_INLINE void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
NUMBALITE_SIM_INLINE void __threadfence_block() {
    __threadfence();
}
NUMBALITE_SIM_INLINE void __threadfence_system() {
    __threadfence();
}
NUMBALITE_SIM_INLINE void __nanosleep(unsigned) {}

#endif
