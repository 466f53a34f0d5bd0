/* cpu: functions that exist only on the CPU (jit, and ufuncs with target cpu), in addition to those
 * shared with kernels.
 *
 *     `random_uniform()`, `random_uniform(low, high)`: a number in [0, 1) or [low, high).
 *     `random_normal()`: mean 0, standard deviation 1; or `random_normal(mean, deviation)`.
 *     `random_seed(n)`: restarts the thread's sequence of numbers.
 *     `parallel_for(n, [&](int64 i) { ... })`: runs iterations in parallel on several threads.
 *
 * Each thread has its own xoroshiro128+ generator. The generator is seeded with the time when it
 * draws its first number, unless random_seed, or numbalite.seed in Python, was called. The
 * functions are templates, so that a user's function with the same name is preferred. */
#ifndef NUMBALITE_CPU_CUH
#define NUMBALITE_CPU_CUH

#include "numbalite/random.cuh"

namespace numbalite {
namespace nl_detail {

template <class... T> struct cpu_only { static constexpr bool value = false; };

#ifdef NUMBALITE_HOST
/* The address of the thread's state is constant, so the compiler may call nl_state only once in a
 * function. */
__attribute__((const, noinline)) static xoroshiro128p_state &random_state() {
    return *(xoroshiro128p_state *)numbalite_sim::ops->random();
}

template <class Body>
static void run_parallel_range(char *const *data, long long count, const long long *,
                               const void *body) {
    long long first = (long long)(__INTPTR_TYPE__)data[0];
    for (long long i = first; i < first + count; ++i)
        (*(const Body *)body)((int64)i);
}
#endif

} // namespace nl_detail

#ifdef NUMBALITE_HOST

template <class... None> NUMBALITE_FUNCTION double random_uniform() {
    return xoroshiro128p_uniform_float64(nl_detail::random_state());
}
template <class Low, class High> NUMBALITE_FUNCTION double random_uniform(Low low, High high) {
    return (double)low + ((double)high - (double)low) * random_uniform();
}
/* Unlike the functions that reproduce numba's sequences, this function computes in double. */
template <class... None> NUMBALITE_FUNCTION double random_normal() {
    double u = 1.0 - random_uniform(), v = random_uniform();
    return ::sqrt(-2.0 * ::log(u)) * ::cos(6.283185307179586 * v);
}
template <class Mean, class Deviation>
NUMBALITE_FUNCTION double random_normal(Mean mean, Deviation deviation) {
    return (double)mean + (double)deviation * random_normal();
}
template <class Seed> NUMBALITE_FUNCTION void random_seed(Seed seed) {
    init_xoroshiro128p_state(nl_detail::random_state(), (uint64)seed);
}

template <class Body> inline void parallel_for(int64 n, const Body &body) {
#ifndef NUMBALITE_SERIAL
    char *const data[1] = {0};
    const long long stride = 1;
    /* nanoseconds per iteration: high enough that the loop is always shared among threads */
    const float cost = 1e6f;
    unsigned bits;
    __builtin_memcpy(&bits, &cost, sizeof bits);
    if (numbalite_sim::ops->parallel(nl_detail::run_parallel_range<Body>, 1, data, n, &stride,
                                     &body, &bits) < 0)
        numbalite_sim::ops->leave();
#else
    for (int64 i = 0; i < n; ++i)
        body(i);
#endif
}

#else

#define NUMBALITE_CPU_ONLY(result, name, instead) \
    template <class... T> NUMBALITE_FUNCTION result name(const T &...) { \
        static_assert(nl_detail::cpu_only<T...>::value, \
                      #name " is for functions on the CPU (jit): " instead); \
        return result(); \
    }
NUMBALITE_CPU_ONLY(double, random_uniform,
                   "in a kernel, pass xoroshiro128p states and call xoroshiro128p_uniform_float64")
NUMBALITE_CPU_ONLY(double, random_normal,
                   "in a kernel, pass xoroshiro128p states and call xoroshiro128p_normal_float64")
NUMBALITE_CPU_ONLY(void, random_seed, "see cuda.random.create_xoroshiro128p_states")
NUMBALITE_CPU_ONLY(void, parallel_for, "a kernel is parallel by its grid")
#undef NUMBALITE_CPU_ONLY

#endif

} // namespace numbalite

#endif
