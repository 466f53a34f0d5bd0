/* math_base: macros by which math.cuh adds overloads to CUDA's functions.
 *
 * Each NUMBALITE_MATH_... macro adds overloads for one function, in the namespace numbalite. Each
 * macro costs a tenth of a millisecond of compile time, so a generated source uses only the macros
 * of functions that the source mentions (numbalite/cxx/devicelib.py). */
#ifndef NUMBALITE_MATH_BASE_CUH
#define NUMBALITE_MATH_BASE_CUH

#include "numbalite.cuh"
#include "numbalite/math_constants.cuh"

namespace numbalite {

namespace nl_detail {
template <class T> struct is_number {
    static constexpr bool value = !(__is_class(T) || __is_union(T) || __is_enum(T));
};
template <class T, bool Number = is_number<T>::value> struct number {};
template <class T> struct number<T, true> { typedef T type; };
/* The type of a * b, for numbers only (pointers have no product). */
template <class A, class B>
using product = decltype(typename number<A>::type() * typename number<B>::type());

/* floating<T>::type is double for an integer type T, else T. */
template <class T, bool Integer = ((T)0.5 == (T)0)> struct floating { typedef double type; };
template <class T> struct floating<T, false> { typedef T type; };
template <class T, bool Integer = ((T)0.5 == (T)0)> struct only_integer {};
template <class T> struct only_integer<T, true> { typedef double type; };
template <class T> using double_of_integer = typename only_integer<product<T, T>>::type;
template <class A, class B> using floating_of = typename floating<product<A, B>>::type;
} // namespace nl_detail

/* Defines f for integers, which are converted to double. */
#define NUMBALITE_MATH_INTEGER(f) \
    template <class T> NUMBALITE_FUNCTION nl_detail::double_of_integer<T> f(T x) { \
        return ::f((double)x); \
    }

/* Defines f for two numbers of any types, which are converted to their common type. */
#define NUMBALITE_MATH_MIXED(f, common) \
    template <class A, class B, class R = nl_detail::common<A, B>> \
    NUMBALITE_FUNCTION R f(A a, B b) { \
        return ::f((R)a, (R)b); \
    }

} // namespace numbalite

#endif
