/* sim/convert: conversions between integers and floating-point numbers, with the results of a GPU.
 *
 * A conversion to an integer rounds, then saturates. A NaN is converted to 0 for float to 32 bits,
 * and to the top bit if either type has 64 bits. A cast in a kernel has the same result if the
 * compiler is of the clang family (numbalite/compilers/sim/irpatch.py). */
#ifndef NUMBALITE_SIM_CONVERT_H
#define NUMBALITE_SIM_CONVERT_H

namespace numbalite_sim {

/* The argument must be integral, infinite, or NaN. The bounds are powers of two, which are exact in
 * any floating-point type. */
template <class I, class F> NUMBALITE_SIM_INLINE I saturated(F x) {
    constexpr bool is_signed = static_cast<I>(-1) < static_cast<I>(0);
    constexpr int digits = 8 * sizeof(I) - is_signed;
    constexpr F above = static_cast<F>(1ull << (digits - 1)) * 2;
    constexpr I largest = static_cast<I>(~0ull >> (64 - digits));
    constexpr I smallest = static_cast<I>(-1) < static_cast<I>(0) ? -largest - 1 : 0;
    constexpr I for_nan =
        sizeof(F) + sizeof(I) == 8 ? 0 : static_cast<I>(1ull << (8 * sizeof(I) - 1));
    constexpr F below = is_signed ? -above : static_cast<F>(0);
    return x >= above ? largest : x > below ? static_cast<I>(x) : x == x ? smallest : for_nan;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_TO_INT(F, from, I, to, s) \
    NUMBALITE_SIM_INLINE I __##from##2##to##_rn(F x) { \
        return numbalite_sim::saturated<I>(__builtin_rint##s(x)); \
    } \
    NUMBALITE_SIM_INLINE I __##from##2##to##_rz(F x) { \
        return numbalite_sim::saturated<I>(__builtin_trunc##s(x)); \
    } \
    NUMBALITE_SIM_INLINE I __##from##2##to##_ru(F x) { \
        return numbalite_sim::saturated<I>(__builtin_ceil##s(x)); \
    } \
    NUMBALITE_SIM_INLINE I __##from##2##to##_rd(F x) { \
        return numbalite_sim::saturated<I>(__builtin_floor##s(x)); \
    }
NUMBALITE_SIM_TO_INT(float, float, int, int, f)
NUMBALITE_SIM_TO_INT(float, float, unsigned, uint, f)
NUMBALITE_SIM_TO_INT(float, float, long long, ll, f)
NUMBALITE_SIM_TO_INT(float, float, unsigned long long, ull, f)
NUMBALITE_SIM_TO_INT(double, double, int, int, )
NUMBALITE_SIM_TO_INT(double, double, unsigned, uint, )
NUMBALITE_SIM_TO_INT(double, double, long long, ll, )
NUMBALITE_SIM_TO_INT(double, double, unsigned long long, ull, )
#undef NUMBALITE_SIM_TO_INT

/* Defines conversions that may be inexact, in each rounding mode. Without AVX-512, a uint64 is
 * converted to double by a subtraction, which returns -0 for 0 when rounding down, so 0 is handled
 * separately. */
#define NUMBALITE_SIM_NARROW(From, T, name, mode) \
    inline NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) T name(From a) { \
        if (a == 0) \
            return static_cast<T>(a); \
        volatile From x = a; \
        fesetround(numbalite_sim::mode); \
        volatile T result = static_cast<T>(x); \
        fesetround(numbalite_sim::to_nearest); \
        return result; \
    }
#define NUMBALITE_SIM_FROM(From, T, name) \
    NUMBALITE_SIM_INLINE T name##_rn(From x) { \
        return static_cast<T>(x); \
    } \
    NUMBALITE_SIM_NARROW(From, T, name##_rz, to_zero) \
    NUMBALITE_SIM_NARROW(From, T, name##_ru, up) \
    NUMBALITE_SIM_NARROW(From, T, name##_rd, down)
NUMBALITE_SIM_FROM(int, float, __int2float)
NUMBALITE_SIM_FROM(unsigned, float, __uint2float)
NUMBALITE_SIM_FROM(long long, float, __ll2float)
NUMBALITE_SIM_FROM(unsigned long long, float, __ull2float)
NUMBALITE_SIM_FROM(long long, double, __ll2double)
NUMBALITE_SIM_FROM(unsigned long long, double, __ull2double)
NUMBALITE_SIM_FROM(double, float, __double2float)
#undef NUMBALITE_SIM_FROM
#undef NUMBALITE_SIM_NARROW

NUMBALITE_SIM_INLINE double __int2double_rn(int x) {
    return x;
}
NUMBALITE_SIM_INLINE double __uint2double_rn(unsigned x) {
    return x;
}

/* Defines conversions with the rounding mode as an argument; the last three conversions are
 * exact. */
NUMBALITE_SIM_BY_MODE(int, double2int, (double x, cudaRoundMode mode = cudaRoundZero), __double2int, (x))
NUMBALITE_SIM_BY_MODE(unsigned, double2uint, (double x, cudaRoundMode mode = cudaRoundZero), __double2uint, (x))
NUMBALITE_SIM_BY_MODE(long long, double2ll, (double x, cudaRoundMode mode = cudaRoundZero), __double2ll, (x))
NUMBALITE_SIM_BY_MODE(unsigned long long, double2ull, (double x, cudaRoundMode mode = cudaRoundZero), __double2ull, (x))
NUMBALITE_SIM_BY_MODE(double, ll2double, (long long x, cudaRoundMode mode = cudaRoundNearest), __ll2double, (x))
NUMBALITE_SIM_BY_MODE(double, ull2double, (unsigned long long x, cudaRoundMode mode = cudaRoundNearest), __ull2double,
                      (x))
#undef NUMBALITE_SIM_BY_MODE
NUMBALITE_SIM_YIELDING double int2double(int x, cudaRoundMode = cudaRoundNearest) {
    return x;
}
NUMBALITE_SIM_YIELDING double uint2double(unsigned x, cudaRoundMode = cudaRoundNearest) {
    return x;
}
NUMBALITE_SIM_YIELDING double float2double(float x, cudaRoundMode = cudaRoundNearest) {
    return static_cast<double>(x);
}

#endif
