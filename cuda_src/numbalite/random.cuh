/* random: the xoroshiro128+ generator of numba.cuda.random, with the same sequences.
 *
 *     float u = xoroshiro128p_uniform_float32(states, i);
 *
 * `states` is an array of, or a pointer to, states (any type with 64-bit members s0 and s1). With
 * one argument, the functions accept a state itself: a kernel that draws many numbers is faster
 * with a copy (`auto s = states[i]`, and `states[i] = s` at the end). The generator is by Blackman
 * and Vigna.
 *
 * Uniform numbers are in [0, 1). numba's float32 numbers are rounded up to 1 once in 2^25 times;
 * this header returns the largest number less than 1 instead. A normal number is one of the two
 * numbers of a Box-Muller pair. */
#ifndef NUMBALITE_RANDOM_CUH
#define NUMBALITE_RANDOM_CUH

#include "numbalite.cuh"

namespace numbalite {

struct xoroshiro128p_state {
    uint64 s0, s1;
};

namespace nl_detail {
NUMBALITE_FUNCTION uint64 rotate_left(uint64 x, int k) {
    return (x << k) | (x >> (64 - k));
}
} // namespace nl_detail

/* The next 64 random bits. */
template <class State> NUMBALITE_FUNCTION uint64 xoroshiro128p_next(State &state) {
    uint64 a = state.s0, b = state.s1;
    uint64 result = a + b;
    b ^= a;
    state.s0 = nl_detail::rotate_left(a, 55) ^ b ^ (b << 14);
    state.s1 = nl_detail::rotate_left(b, 36);
    return result;
}

template <class State> NUMBALITE_FUNCTION double xoroshiro128p_uniform_float64(State &state) {
    return (double)(xoroshiro128p_next(state) >> 11) * 1.1102230246251565e-16; /* 2^-53 */
}

template <class State> NUMBALITE_FUNCTION float xoroshiro128p_uniform_float32(State &state) {
    /* rounded only once: numba computes the same number through a double, with twice as many
     * conversions */
    float u = (float)(xoroshiro128p_next(state) >> 11) * 1.1102230246251565e-16f; /* 2^-53 */
    return ::fminf(u, 0.99999994f);
}

template <class State> NUMBALITE_FUNCTION float xoroshiro128p_normal_float32(State &state) {
    float u = xoroshiro128p_uniform_float32(state);
    float v = xoroshiro128p_uniform_float32(state);
    return ::sqrtf(-2.0f * ::logf(u)) * ::cosf(6.2831855f * v);
}

/* Returns a normal number, computed from two float32 uniform numbers as in numba. */
template <class State> NUMBALITE_FUNCTION double xoroshiro128p_normal_float64(State &state) {
    float u = xoroshiro128p_uniform_float32(state);
    float v = xoroshiro128p_uniform_float32(state);
    return ::sqrt(-2.0 * ::logf(u)) * ::cos(6.283185307179586 * v);
}

/* Advances the state by a number of steps, which a polynomial represents: bit b of (low, high) is
 * the coefficient of x^b. */
template <class State>
NUMBALITE_FUNCTION void xoroshiro128p_advance(State &state, uint64 low, uint64 high) {
    uint64 a = 0, b = 0;
    for (int k = 0; k < 128; ++k) {
        if ((k < 64 ? low >> k : high >> (k - 64)) & 1) {
            a ^= state.s0;
            b ^= state.s1;
        }
        xoroshiro128p_next(state);
    }
    state.s0 = a;
    state.s1 = b;
}

/* Advances the state by 2^64 steps. */
template <class State> NUMBALITE_FUNCTION void xoroshiro128p_jump(State &state) {
    xoroshiro128p_advance(state, 0xbeac0467eba5facbull, 0xd86b048b86aa9922ull);
}

/* Computes the state for a seed by one round of splitmix64, whose result is used for both halves,
 * as in numba. */
template <class State> NUMBALITE_FUNCTION void init_xoroshiro128p_state(State &state, uint64 seed) {
    uint64 z = seed + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    state.s0 = state.s1 = z;
}

/* Defines the same functions with an array, or a pointer, and an index. */
#define NUMBALITE_INDEXED(type, name) \
    template <class States> \
    NUMBALITE_FUNCTION type name(States &&states, nl_detail::index index) { \
        return name(states[index]); \
    }
NUMBALITE_INDEXED(uint64, xoroshiro128p_next)
NUMBALITE_INDEXED(float, xoroshiro128p_uniform_float32)
NUMBALITE_INDEXED(double, xoroshiro128p_uniform_float64)
NUMBALITE_INDEXED(float, xoroshiro128p_normal_float32)
NUMBALITE_INDEXED(double, xoroshiro128p_normal_float64)
NUMBALITE_INDEXED(void, xoroshiro128p_jump)
#undef NUMBALITE_INDEXED
template <class States>
NUMBALITE_FUNCTION void init_xoroshiro128p_state(States &&states, nl_detail::index index,
                                                 uint64 seed) {
    init_xoroshiro128p_state(states[index], seed);
}

} // namespace numbalite

#endif
