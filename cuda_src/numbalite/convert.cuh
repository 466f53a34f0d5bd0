/* convert: conversions between NumPy's types, with the results of NumPy's casts.
 *
 * `nl_convert<To>(x)` returns the result of a C cast, with these exceptions: a conversion to bool
 * tests for nonzero; complex to real returns the real part; floating-point numbers are converted to
 * narrow integers through wider ones, as on the CPU, so that -1.0f becomes 255 as a uint8. Include
 * this after half.cuh and complex.cuh if they are used. */
#ifndef NUMBALITE_CONVERT_CUH
#define NUMBALITE_CONVERT_CUH

#include "numbalite.cuh"

namespace numbalite {

namespace nl_detail {

template <class A, class B> struct is_same_type {
    enum { value = false };
};
template <class A> struct is_same_type<A, A> {
    enum { value = true };
};

/* The class of a type: integer (including bool and enumerations), float or double, half,
 * complex. */
enum cast_kind { integer_kind, real_kind, half_kind, complex_kind };
template <class T> struct cast_kind_of {
    enum { value = integer_kind };
};
template <> struct cast_kind_of<float> {
    enum { value = real_kind };
};
template <> struct cast_kind_of<double> {
    enum { value = real_kind };
};
#ifdef NUMBALITE_HALF_CUH
template <> struct cast_kind_of<float16> {
    enum { value = half_kind };
};
#endif
#ifdef NUMBALITE_COMPLEX_CUH
template <class T> struct cast_kind_of<complex<T>> {
    enum { value = complex_kind };
};
#endif

/* The intermediate integer type in a conversion from floating point to the integer type T. */
template <bool IsNarrow, class T> struct way { typedef int type; };
template <class T> struct way<false, T> { typedef T type; };
template <> struct way<false, unsigned int> { typedef long long type; };

} // namespace nl_detail

template <class To, class From> NUMBALITE_FUNCTION To nl_convert(const From &x) {
    using namespace nl_detail;
    constexpr int to = cast_kind_of<To>::value;
    constexpr int from = cast_kind_of<From>::value;
    if constexpr (is_same_type<To, From>::value)
        return x;
    else if constexpr (from == complex_kind && to == complex_kind)
        return To(x);
    else if constexpr (from == complex_kind && is_same_type<To, bool>::value)
        return x.re != 0 || x.im != 0;
    else if constexpr (from == complex_kind)
        return nl_convert<To>(x.re);
    else if constexpr (to == complex_kind)
        return To(nl_convert<typename To::value_type>(x));
    else if constexpr (from == half_kind)
        return nl_convert<To>((float)x);
    else if constexpr (to == half_kind && from == real_kind)
        return To(x);
    else if constexpr (to == half_kind && sizeof(From) < 4)
        return To((int)x);
    else if constexpr (to == half_kind && sizeof(From) == 8)
        return (From)-1 < (From)0 ? To((long long)x) : To((unsigned long long)x);
    else if constexpr (to == half_kind)
        return (From)-1 < (From)0 ? To((int)x) : To((unsigned int)x);
    else if constexpr (is_same_type<To, bool>::value)
        return x != From(0);
    else if constexpr (from == real_kind && to == integer_kind)
        return (To)(typename nl_detail::way<(sizeof(To) < 4), To>::type) x;
    else
        return (To)x;
}

} // namespace numbalite

#endif
