/* sim/math: declares CUDA's mathematical functions in the global namespace, overloaded for float
 * and double.
 *
 * The overloads are exactly those of NVRTC: calls that are ambiguous for NVRTC (sin(1), fmax(1.0f,
 * 2.0)) are also ambiguous on the simulator. Functions that libm does not have (rsqrt, sinpi,
 * normcdf, Bessel I...) are in math_functions.h. */
#ifndef NUMBALITE_SIM_MATH_H
#define NUMBALITE_SIM_MATH_H

namespace numbalite_sim {

/* Reinterprets the bits of a value as another type of the same size. */
template <class To, class From> NUMBALITE_SIM_INLINE To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits: sizes differ");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_OVERLOAD(name) \
    NUMBALITE_SIM_INLINE float name(float x) { \
        return name##f(x); \
    }
#define NUMBALITE_SIM_OVERLOAD_INT(type, name) \
    NUMBALITE_SIM_INLINE type name(float x) { \
        return name##f(x); \
    }
#define NUMBALITE_SIM_OVERLOAD2(name) \
    NUMBALITE_SIM_INLINE float name(float a, float b) { \
        return name##f(a, b); \
    }

NUMBALITE_SIM_OVERLOAD(sin)
NUMBALITE_SIM_OVERLOAD(cos)
NUMBALITE_SIM_OVERLOAD(tan)
NUMBALITE_SIM_OVERLOAD(asin)
NUMBALITE_SIM_OVERLOAD(acos)
NUMBALITE_SIM_OVERLOAD(atan)
NUMBALITE_SIM_OVERLOAD(sinh)
NUMBALITE_SIM_OVERLOAD(cosh)
NUMBALITE_SIM_OVERLOAD(tanh)
NUMBALITE_SIM_OVERLOAD(asinh)
NUMBALITE_SIM_OVERLOAD(acosh)
NUMBALITE_SIM_OVERLOAD(atanh)
NUMBALITE_SIM_OVERLOAD(exp)
NUMBALITE_SIM_OVERLOAD(exp2)
NUMBALITE_SIM_OVERLOAD(expm1)
NUMBALITE_SIM_OVERLOAD(log)
NUMBALITE_SIM_OVERLOAD(log2)
NUMBALITE_SIM_OVERLOAD(log10)
NUMBALITE_SIM_OVERLOAD(log1p)
NUMBALITE_SIM_OVERLOAD(logb)
NUMBALITE_SIM_OVERLOAD(sqrt)
NUMBALITE_SIM_OVERLOAD(cbrt)
NUMBALITE_SIM_OVERLOAD(erf)
NUMBALITE_SIM_OVERLOAD(erfc)
NUMBALITE_SIM_OVERLOAD(tgamma)
NUMBALITE_SIM_OVERLOAD(lgamma)
NUMBALITE_SIM_OVERLOAD(ceil)
NUMBALITE_SIM_OVERLOAD(floor)
NUMBALITE_SIM_OVERLOAD(trunc)
NUMBALITE_SIM_OVERLOAD(round)
NUMBALITE_SIM_OVERLOAD(rint)
NUMBALITE_SIM_OVERLOAD(nearbyint)
NUMBALITE_SIM_OVERLOAD(fabs)
NUMBALITE_SIM_OVERLOAD(j0)
NUMBALITE_SIM_OVERLOAD(j1)
NUMBALITE_SIM_OVERLOAD(y0)
NUMBALITE_SIM_OVERLOAD(y1)
NUMBALITE_SIM_OVERLOAD2(pow)
NUMBALITE_SIM_OVERLOAD2(atan2)
NUMBALITE_SIM_OVERLOAD2(hypot)
NUMBALITE_SIM_OVERLOAD2(fmod)
NUMBALITE_SIM_OVERLOAD2(remainder)
NUMBALITE_SIM_OVERLOAD2(copysign)
NUMBALITE_SIM_INLINE double copysign(double a, float b) {
    return copysign(a, static_cast<double>(b));
}
NUMBALITE_SIM_INLINE double copysign(float a, double b) {
    return copysign(static_cast<double>(a), b);
}
NUMBALITE_SIM_OVERLOAD2(nextafter)
NUMBALITE_SIM_OVERLOAD2(fdim)
NUMBALITE_SIM_OVERLOAD_INT(int, ilogb)
NUMBALITE_SIM_OVERLOAD_INT(long, lrint)
NUMBALITE_SIM_OVERLOAD_INT(long, lround)
NUMBALITE_SIM_OVERLOAD_INT(long long, llrint)
NUMBALITE_SIM_OVERLOAD_INT(long long, llround)

#ifdef NUMBALITE_HOST
namespace numbalite_sim {
/* Computes x to a small power that is a compile-time constant, with at most four multiplications.
 * */
template <class T> NUMBALITE_SIM_INLINE T power(T x, int n) {
    T two = x * x, four = two * two;
    switch (n) {
    case 0:
        return 1;
    case 1:
        return x;
    case 2:
        return two;
    case 3:
        return two * x;
    case 4:
        return four;
    case 5:
        return four * x;
    case 6:
        return four * two;
    case 7:
        return four * two * x;
    default:
        return four * four;
    }
}
} // namespace numbalite_sim
#define NUMBALITE_SIM_POWER(x, n) \
    if (__builtin_constant_p(n) && (n) >= 0 && (n) <= 8) \
    return numbalite_sim::power(x, n)
#else
#define NUMBALITE_SIM_POWER(x, n)
#endif
NUMBALITE_SIM_INLINE float pow(float x, int n) {
    NUMBALITE_SIM_POWER(x, n);
    return powf(x, static_cast<float>(n));
}
NUMBALITE_SIM_INLINE double pow(double x, int n) {
    NUMBALITE_SIM_POWER(x, n);
    return pow(x, static_cast<double>(n));
}
#undef NUMBALITE_SIM_POWER
NUMBALITE_SIM_INLINE float ldexp(float x, int n) {
    return ldexpf(x, n);
}
NUMBALITE_SIM_INLINE float scalbn(float x, int n) {
    return scalbnf(x, n);
}
NUMBALITE_SIM_INLINE float scalbln(float x, long n) {
    return scalblnf(x, n);
}
NUMBALITE_SIM_INLINE float frexp(float x, int *e) {
    return frexpf(x, e);
}
NUMBALITE_SIM_INLINE float modf(float x, float *whole) {
    return modff(x, whole);
}
NUMBALITE_SIM_INLINE float remquo(float a, float b, int *q) {
    return remquof(a, b, q);
}
NUMBALITE_SIM_INLINE float fma(float a, float b, float c) {
    return fmaf(a, b, c);
}
NUMBALITE_SIM_INLINE float fdividef(float a, float b) {
    return a / b;
}
NUMBALITE_SIM_YIELDING double fdivide(double a, double b) {
    return a / b;
}

/* The smallest integer returns itself. */
NUMBALITE_SIM_INLINE int abs(int x) {
    return x < 0 ? static_cast<int>(0u - static_cast<unsigned>(x)) : x;
}
NUMBALITE_SIM_INLINE long long llabs(long long x) {
    return x < 0 ? static_cast<long long>(0ull - static_cast<unsigned long long>(x)) : x;
}
NUMBALITE_SIM_INLINE long labs(long x) {
    return static_cast<long>(llabs(x));
}
NUMBALITE_SIM_INLINE long abs(long x) {
    return labs(x);
}
NUMBALITE_SIM_INLINE long long abs(long long x) {
    return llabs(x);
}
NUMBALITE_SIM_INLINE float abs(float x) {
    return fabsf(x);
}
NUMBALITE_SIM_INLINE double abs(double x) {
    return fabs(x);
}

/* ---- Minimum and maximum: if one argument is NaN, the result is the other argument; +0 is greater
 * than -0 ---- */

namespace numbalite_sim {
template <class I, class F> NUMBALITE_SIM_INLINE F greater(F a, F b) {
    F r = a > b ? a : b;
    r = a == b ? bits<F>(static_cast<I>(bits<I>(a) & bits<I>(b))) : r;
    return b != b ? a : a != a ? b : r;
}
template <class I, class F> NUMBALITE_SIM_INLINE F lesser(F a, F b) {
    F r = a < b ? a : b;
    r = a == b ? bits<F>(static_cast<I>(bits<I>(a) | bits<I>(b))) : r;
    return b != b ? a : a != a ? b : r;
}
} // namespace numbalite_sim

NUMBALITE_SIM_INLINE float fmaxf(float a, float b) {
    return numbalite_sim::greater<int>(a, b);
}
NUMBALITE_SIM_INLINE float fminf(float a, float b) {
    return numbalite_sim::lesser<int>(a, b);
}
NUMBALITE_SIM_INLINE double fmax(double a, double b) {
    return numbalite_sim::greater<long long>(a, b);
}
NUMBALITE_SIM_INLINE double fmin(double a, double b) {
    return numbalite_sim::lesser<long long>(a, b);
}
NUMBALITE_SIM_OVERLOAD2(fmax)
NUMBALITE_SIM_OVERLOAD2(fmin)

#define NUMBALITE_SIM_MINMAX(A, B, type) \
    NUMBALITE_SIM_YIELDING constexpr type max(A a, B b) { \
        return static_cast<type>(a) > static_cast<type>(b) ? static_cast<type>(a) \
                                                           : static_cast<type>(b); \
    } \
    NUMBALITE_SIM_YIELDING constexpr type min(A a, B b) { \
        return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(a) \
                                                           : static_cast<type>(b); \
    }
NUMBALITE_SIM_MINMAX(int, int, int)
NUMBALITE_SIM_MINMAX(unsigned, unsigned, unsigned)
NUMBALITE_SIM_MINMAX(int, unsigned, unsigned)
NUMBALITE_SIM_MINMAX(unsigned, int, unsigned)
NUMBALITE_SIM_MINMAX(long, long, long)
NUMBALITE_SIM_MINMAX(unsigned long, unsigned long, unsigned long)
NUMBALITE_SIM_MINMAX(long, unsigned long, unsigned long)
NUMBALITE_SIM_MINMAX(unsigned long, long, unsigned long)
NUMBALITE_SIM_MINMAX(long long, long long, long long)
NUMBALITE_SIM_MINMAX(unsigned long long, unsigned long long, unsigned long long)
NUMBALITE_SIM_MINMAX(long long, unsigned long long, unsigned long long)
NUMBALITE_SIM_MINMAX(unsigned long long, long long, unsigned long long)
#undef NUMBALITE_SIM_MINMAX
NUMBALITE_SIM_YIELDING float max(float a, float b) {
    return fmaxf(a, b);
}
NUMBALITE_SIM_YIELDING float min(float a, float b) {
    return fminf(a, b);
}
NUMBALITE_SIM_YIELDING double max(double a, double b) {
    return fmax(a, b);
}
NUMBALITE_SIM_YIELDING double min(double a, double b) {
    return fmin(a, b);
}
NUMBALITE_SIM_YIELDING double max(float a, double b) {
    return fmax(static_cast<double>(a), b);
}
NUMBALITE_SIM_YIELDING double min(float a, double b) {
    return fmin(static_cast<double>(a), b);
}
NUMBALITE_SIM_YIELDING double max(double a, float b) {
    return fmax(a, static_cast<double>(b));
}
NUMBALITE_SIM_YIELDING double min(double a, float b) {
    return fmin(a, static_cast<double>(b));
}

#define NUMBALITE_SIM_NAMED(type, prefix) \
    NUMBALITE_SIM_INLINE constexpr type prefix##max(type a, type b) { \
        return a > b ? a : b; \
    } \
    NUMBALITE_SIM_INLINE constexpr type prefix##min(type a, type b) { \
        return a < b ? a : b; \
    }
NUMBALITE_SIM_NAMED(unsigned, u)
NUMBALITE_SIM_NAMED(long long, ll)
NUMBALITE_SIM_NAMED(unsigned long long, ull)
#undef NUMBALITE_SIM_NAMED

/* ---- classification ---- */

#define NUMBALITE_SIM_TEST(name, T, function) \
    NUMBALITE_SIM_INLINE int function(T x) { \
        return __builtin_##name(x) != 0; \
    }
#define NUMBALITE_SIM_TESTS(name, of_float, of_double, old) \
    NUMBALITE_SIM_TEST(name, float, name) \
    NUMBALITE_SIM_TEST(name, double, name) \
    NUMBALITE_SIM_TEST(name, float, of_float) \
    NUMBALITE_SIM_TEST(name, double, of_double) \
    NUMBALITE_SIM_TEST(name, double, old)
NUMBALITE_SIM_TESTS(isnan, __isnanf, __isnand, __isnan)
NUMBALITE_SIM_TESTS(isinf, __isinff, __isinfd, __isinf)
NUMBALITE_SIM_TESTS(isfinite, __finitef, __isfinited, __finite)
NUMBALITE_SIM_TEST(signbit, float, signbit)
NUMBALITE_SIM_TEST(signbit, double, signbit)
NUMBALITE_SIM_TEST(signbit, float, __signbitf)
NUMBALITE_SIM_TEST(signbit, double, __signbit)
#undef NUMBALITE_SIM_TESTS
#undef NUMBALITE_SIM_TEST

#endif
