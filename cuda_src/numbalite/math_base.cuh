/* math_base: how math.cuh adds to a function of CUDA, and the constants of <math.h>.
 *
 * Each NUMBALITE_MATH_... adds overloads for one function, in namespace numbalite. One costs the
 * compiler a tenth of a millisecond, so a generated source takes those that it names
 * (numbalite/parts.py). */
#ifndef NUMBALITE_MATH_BASE_CUH
#define NUMBALITE_MATH_BASE_CUH

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

/* f of an integer. */
#define NUMBALITE_MATH_INTEGER(f) \
    template <class T> NUMBALITE_FUNCTION nl_detail::double_of_integer<T> f(T x) { \
        return ::f((double)x); \
    }

/* f of two numbers of any types, done in the common one. */
#define NUMBALITE_MATH_MIXED(f, common) \
    template <class A, class B, class R = nl_detail::common<A, B>> \
    NUMBALITE_FUNCTION R f(A a, B b) { \
        return ::f((R)a, (R)b); \
    }

} // namespace numbalite

#endif
