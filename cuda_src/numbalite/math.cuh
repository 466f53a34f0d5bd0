/* math: what <cmath> adds for numbers of other or mixed types, which NVRTC leaves ambiguous.
 *
 *     sqrt(n), sin(n)...: of an integer, as a double          max(x, 0), min(i, n), pow(x, 0.5),
 * hypot(x, 1)...: of two types, in the type that x + y has (a double where that is an integer; not
 * so min and max)
 *
 * Where CUDA has the function for exactly these types, that one is taken; NVRTC 12.0 and 12.1 fail
 * to link theirs of pow(x, n) with an integer n. And the constants of <math.h>. */
#ifndef NUMBALITE_MATH_CUH
#define NUMBALITE_MATH_CUH

#include "numbalite.cuh"

#ifndef INFINITY
#ifdef __has_builtin
#if __has_builtin(__builtin_bit_cast)
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
#endif
#endif
#ifndef INFINITY /* NVRTC 12.0: not for the initial values of variables */
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL ((double)INFINITY)
#define HUGE_VALF INFINITY
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif

namespace numbalite {

namespace nl_detail {
template <class T> struct is_number {
    static constexpr bool value = !(__is_class(T) || __is_union(T) || __is_enum(T));
};
template <class T, bool Number = is_number<T>::value> struct number {};
template <class T> struct number<T, true> { typedef T type; };
/* The type of a * b, for numbers (pointers have no product). */
template <class A, class B>
using product = decltype(typename number<A>::type() * typename number<B>::type());

/* double for integers. */
template <class T, bool Integer = ((T)0.5 == (T)0)> struct floating { typedef double type; };
template <class T> struct floating<T, false> { typedef T type; };
template <class T, bool Integer = ((T)0.5 == (T)0)> struct only_integer {};
template <class T> struct only_integer<T, true> { typedef double type; };
template <class T> using double_of_integer = typename only_integer<product<T, T>>::type;
template <class A, class B> using floating_of = typename floating<product<A, B>>::type;
} // namespace nl_detail

#define NUMBALITE_1(f) \
    template <class T> NUMBALITE_FUNCTION nl_detail::double_of_integer<T> f(T x) { \
        return ::f((double)x); \
    }
NUMBALITE_1(sqrt)
NUMBALITE_1(rsqrt)
NUMBALITE_1(cbrt)
NUMBALITE_1(sin)
NUMBALITE_1(cos)
NUMBALITE_1(tan)
NUMBALITE_1(asin)
NUMBALITE_1(acos)
NUMBALITE_1(atan)
NUMBALITE_1(sinh)
NUMBALITE_1(cosh)
NUMBALITE_1(tanh)
NUMBALITE_1(asinh)
NUMBALITE_1(acosh)
NUMBALITE_1(atanh)
NUMBALITE_1(exp)
NUMBALITE_1(exp2)
NUMBALITE_1(exp10)
NUMBALITE_1(expm1)
NUMBALITE_1(log)
NUMBALITE_1(log2)
NUMBALITE_1(log10)
NUMBALITE_1(log1p)
NUMBALITE_1(erf)
NUMBALITE_1(erfc)
NUMBALITE_1(tgamma)
NUMBALITE_1(lgamma)
NUMBALITE_1(ceil)
NUMBALITE_1(floor)
NUMBALITE_1(trunc)
NUMBALITE_1(round)
NUMBALITE_1(rint)
NUMBALITE_1(fabs)
#undef NUMBALITE_1

#define NUMBALITE_2(f, type) \
    template <class A, class B, class R = type<A, B>> NUMBALITE_FUNCTION R f(A a, B b) { \
        return ::f((R)a, (R)b); \
    }
NUMBALITE_2(min, nl_detail::product)
NUMBALITE_2(max, nl_detail::product)
NUMBALITE_2(pow, nl_detail::floating_of)
NUMBALITE_2(atan2, nl_detail::floating_of)
NUMBALITE_2(hypot, nl_detail::floating_of)
NUMBALITE_2(fmod, nl_detail::floating_of)
NUMBALITE_2(remainder, nl_detail::floating_of)
NUMBALITE_2(fmin, nl_detail::floating_of)
NUMBALITE_2(fmax, nl_detail::floating_of)
NUMBALITE_2(fdim, nl_detail::floating_of)
NUMBALITE_2(copysign, nl_detail::floating_of)
#undef NUMBALITE_2

} // namespace numbalite

#endif
