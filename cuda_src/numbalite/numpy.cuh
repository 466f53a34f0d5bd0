/* numpy: defines NumPy's ufuncs for which CUDA's functions and operators have a different meaning.
 *
 *     `np_floor_divide`, `np_remainder`: round down; a division of integers by 0 returns 0.
 *     `np_maximum`, `np_minimum`: the result is NaN if one of the arguments is NaN.
 *     `np_left_shift`, `np_right_shift`: the shift count may be the type's width or larger.
 *     `np_power`: for integers, by multiplications, modulo the type.
 *
 * The arguments have the loop's type. Half precision is computed in float and rounded once. An
 * integer to a negative power is 0 (NumPy raises an exception). */
#ifndef NUMBALITE_NUMPY_CUH
#define NUMBALITE_NUMPY_CUH

#include "numbalite/convert.cuh"

namespace numbalite {

namespace nl_detail {
enum class np_sort { integer, real, half, complex };
template <class T> struct np_sort_of { static constexpr np_sort value = np_sort::integer; };
template <> struct np_sort_of<float> { static constexpr np_sort value = np_sort::real; };
template <> struct np_sort_of<double> { static constexpr np_sort value = np_sort::real; };
#ifdef NUMBALITE_HALF_CUH
template <> struct np_sort_of<float16> { static constexpr np_sort value = np_sort::half; };
#endif
#ifdef NUMBALITE_COMPLEX_CUH
template <class T> struct np_sort_of<complex<T>> {
    static constexpr np_sort value = np_sort::complex;
};
#endif
#ifdef NUMBALITE_DUAL_CUH
template <class T, int N> struct np_sort_of<nl_dual<T, N>> {
    static constexpr np_sort value = np_sort::real;
};
#endif
template <class T> constexpr bool np_is_integer = np_sort_of<T>::value == np_sort::integer;
template <class T> constexpr bool np_is_complex = np_sort_of<T>::value == np_sort::complex;
template <class T> constexpr bool np_is_half = np_sort_of<T>::value == np_sort::half;
template <class T> constexpr bool np_is_signed = T(-1) < T(0);
template <class A, class B> constexpr bool np_same = false;
template <class A> constexpr bool np_same<A, A> = true;

/* Converts a half to float, and returns other types unchanged. */
template <class T> NUMBALITE_FUNCTION auto np_up(const T &x) {
    if constexpr (np_is_half<T>)
        return (float)x;
    else
        return x;
}
/* Returns the absolute value of an integer as an unsigned integer, which is also correct for the
 * smallest integer. */
template <bool IsLong> struct np_unsigned { typedef unsigned int type; };
template <> struct np_unsigned<true> { typedef unsigned long long type; };
template <class T> NUMBALITE_FUNCTION auto np_magnitude(const T &x) {
    typedef typename np_unsigned<(sizeof(T) > 4)>::type U;
    return x < T(0) ? U(0) - U(x) : U(x);
}
} // namespace nl_detail

#define NUMBALITE_NP template <class T> NUMBALITE_FUNCTION

NUMBALITE_NP T np_negative(const T &x) {
    if constexpr (nl_detail::np_is_integer<T>)
        return (T)(0ull - (unsigned long long)x);
    else
        return -x;
}
NUMBALITE_NP T np_floor_divide(const T &x, const T &y) {
    if constexpr (nl_detail::np_is_half<T>) {
        return T(np_floor_divide((float)x, (float)y));
    } else if constexpr (nl_detail::np_is_integer<T>) {
        if (y == T(0))
            return T(0);
        if constexpr (nl_detail::np_is_signed<T>) {
            if (y == T(-1))
                return np_negative(x);
            T q = T(x / y);
            return x % y != 0 && (x < 0) != (y < 0) ? T(q - 1) : q;
        } else {
            return T(x / y);
        }
    } else {
        if (y == T(0))
            return x / y;
        T rest = ::fmod(x, y), quotient = (x - rest) / y;
        if (rest != 0 && (y < 0) != (rest < 0))
            quotient -= T(1);
        if (quotient == 0)
            return ::copysign(T(0), x / y);
        T whole = ::floor(quotient);
        return quotient - whole > T(0.5) ? whole + T(1) : whole;
    }
}
NUMBALITE_NP T np_remainder(const T &x, const T &y) {
    if constexpr (nl_detail::np_is_half<T>) {
        return T(np_remainder((float)x, (float)y));
    } else if constexpr (nl_detail::np_is_integer<T>) {
        if (y == T(0))
            return T(0);
        if constexpr (nl_detail::np_is_signed<T>) {
            if (y == T(-1))
                return T(0);
            T rest = T(x % y);
            return rest != 0 && (rest < 0) != (y < 0) ? T(rest + y) : rest;
        } else {
            return T(x % y);
        }
    } else {
        T rest = ::fmod(x, y);
        if (y == 0)
            return rest;
        if (rest == 0)
            return ::copysign(T(0), y);
        return (y < 0) != (rest < 0) ? rest + y : rest;
    }
}
NUMBALITE_NP T np_fmod(const T &x, const T &y) {
    if constexpr (nl_detail::np_is_half<T>) {
        return T(::fmod((float)x, (float)y));
    } else if constexpr (nl_detail::np_is_integer<T>) {
        if (y == T(0) || (nl_detail::np_is_signed<T> && y == T(-1)))
            return T(0);
        return T(x % y);
    } else {
        return ::fmod(x, y);
    }
}
namespace nl_detail {
/* Returns x to the power n for n = 2, 3 or 4. The rounding errors of the products are computed by
 * fma (the error-free product of Dekker, 1971) and added, so that the result is as accurate as that
 * of pow. */
template <class T> NUMBALITE_FUNCTION T np_small_power(T x, int n) {
    const T square = x * x, rest = ::fma(x, x, -square);
    if (n == 2)
        return square;
    const T factor = n == 3 ? x : square, high = square * factor;
    if (high == T(0) || high - high != T(0)) /* -for 0.0, infinity or NaN, no rounding error is
                                              * added */
        return high;
    const T low = ::fma(square, factor, -high);
    return high + (low + (n == 3 ? rest * x : 2 * (rest * square)));
}
} /* namespace nl_detail */

/* Returns a product that compilers do not fuse with a later sum. */
NUMBALITE_NP auto np_rounded_product(const T &x, const T &y) {
    if constexpr (nl_detail::np_is_half<T>)
        return T(__fmul_rn((float)x, (float)y));
    else if constexpr (nl_detail::np_same<T, float>)
        return __fmul_rn(x, y);
    else if constexpr (nl_detail::np_same<T, double>)
        return __dmul_rn(x, y);
    else
        return x * y;
}

NUMBALITE_NP T np_power(const T &x, const T &y) {
    if constexpr (nl_detail::np_is_half<T>) {
        const float base = (float)x, exponent = (float)y;
        return exponent == 3 ? T(base * base * base) : T(::pow(base, exponent));
    } else if constexpr (nl_detail::np_is_integer<T>) {
        if (y < T(0))
            return x == T(1) ? T(1) : x == T(-1) ? (y & 1 ? x : T(1)) : T(0);
        typedef typename nl_detail::np_unsigned<(sizeof(T) > 4)>::type word;
        word base = (word)x, result = 1;
        if (y == T(3)) /* a special case, because this formula runs at memory bandwidth, unlike the
                        * loop */
            return (T)(base * base * base);
        for (word n = (word)y; n; n >>= 1, base *= base)
            if (n & 1)
                result *= base;
        return (T)result;
    } else if constexpr (nl_detail::np_is_complex<T>) {
        return pow(x, y);
    } else if constexpr (nl_detail::np_same<T, float> || nl_detail::np_same<T, double>) {
        return y == 2 || y == 3 || y == 4 ? nl_detail::np_small_power(x, (int)y) : ::pow(x, y);
    } else { /* for a dual, repeated products would lose the derivative with respect to y */
        return ::pow(x, y);
    }
}

/* Returns a < b; complex numbers are ordered by real parts, then by imaginary parts. int64 and
 * uint64 are compared by value. */
template <class A, class B> NUMBALITE_FUNCTION bool np_less(const A &x, const B &y) {
    if constexpr (nl_detail::np_is_complex<A>)
        return (x.re < y.re && x.im == x.im && y.im == y.im) || (x.re == y.re && x.im < y.im);
    else if constexpr (nl_detail::np_same<A, B>)
        return x < y;
    else if constexpr (nl_detail::np_is_signed<A>)
        return x < A(0) || (B)x < y;
    else
        return y >= B(0) && x < (A)y;
}
template <class A, class B> NUMBALITE_FUNCTION bool np_equal(const A &x, const B &y) {
    if constexpr (nl_detail::np_same<A, B>)
        return x == y;
    else if constexpr (nl_detail::np_is_signed<A>)
        return x >= A(0) && (B)x == y;
    else
        return y >= B(0) && x == (A)y;
}
template <class A, class B> NUMBALITE_FUNCTION bool np_less_equal(const A &x, const B &y) {
    if constexpr (nl_detail::np_same<A, B> && !nl_detail::np_is_complex<A>)
        return x <= y;
    else
        return np_less(x, y) || np_equal(x, y);
}
NUMBALITE_NP T np_maximum(const T &x, const T &y) {
    return np_less_equal(y, x) || x != x ? x : y;
}
NUMBALITE_NP T np_minimum(const T &x, const T &y) {
    return np_less_equal(x, y) || x != x ? x : y;
}
NUMBALITE_NP T np_fmax(const T &x, const T &y) {
    return np_less_equal(y, x) || y != y ? x : y;
}
NUMBALITE_NP T np_fmin(const T &x, const T &y) {
    return np_less_equal(x, y) || y != y ? x : y;
}
NUMBALITE_NP T np_reciprocal(const T &x) {
    if constexpr (nl_detail::np_is_integer<T>) {
        return x == T(0) ? T(0) : T(T(1) / x);
    } else if constexpr (nl_detail::np_is_complex<T>) {
        if (::fabs(x.im) <= ::fabs(x.re)) {
            auto ratio = x.im / x.re, size = x.re + x.im * ratio;
            return T(1 / size, -ratio / size);
        }
        auto ratio = x.re / x.im, size = x.re * ratio + x.im;
        return T(ratio / size, -1 / size);
    } else {
        return T(1) / x;
    }
}
NUMBALITE_NP auto np_absolute(const T &x) {
    if constexpr (nl_detail::np_is_complex<T>)
        return abs(x);
    else if constexpr (nl_detail::np_is_integer<T>)
        return x < T(0) ? np_negative(x) : x;
    else
        return T(::fabs(nl_detail::np_up(x)));
}
NUMBALITE_NP T np_conjugate(const T &x) {
    if constexpr (nl_detail::np_is_complex<T>)
        return T(x.re, -x.im);
    else
        return x;
}
NUMBALITE_NP T np_heaviside(const T &x, const T &at_zero) {
    return x != x ? x : x == T(0) ? at_zero : x < T(0) ? T(0) : T(1);
}

/* Integers are returned unchanged. */
#define NUMBALITE_NP_ROUND(name, function) \
    NUMBALITE_NP T name(const T &x) { \
        if constexpr (nl_detail::np_is_integer<T>) \
            return x; \
        else \
            return T(::function(nl_detail::np_up(x))); \
    }
NUMBALITE_NP_ROUND(np_floor, floor)
NUMBALITE_NP_ROUND(np_ceil, ceil)
NUMBALITE_NP_ROUND(np_trunc, trunc)
NUMBALITE_NP_ROUND(np_real_rint, rint)
#undef NUMBALITE_NP_ROUND
NUMBALITE_NP T np_rint(const T &x) {
    if constexpr (nl_detail::np_is_complex<T>)
        return T(::rint(x.re), ::rint(x.im));
    else
        return np_real_rint(x);
}

/* Defines functions that call CUDA's functions of two real numbers. */
#define NUMBALITE_NP_PAIR(name, function) \
    NUMBALITE_NP T name(const T &x, const T &y) { \
        return T(::function(nl_detail::np_up(x), nl_detail::np_up(y))); \
    }
NUMBALITE_NP_PAIR(np_arctan2, atan2)
NUMBALITE_NP_PAIR(np_hypot, hypot)
NUMBALITE_NP_PAIR(np_copysign, copysign)
#undef NUMBALITE_NP_PAIR

/* also for half precision */
#define NUMBALITE_NP_ONE(name, function) \
    NUMBALITE_NP T name(const T &x) { \
        if constexpr (nl_detail::np_is_complex<T>) \
            return function(x); \
        else \
            return T(::function(nl_detail::np_up(x))); \
    }
NUMBALITE_NP_ONE(np_arcsinh, asinh)
NUMBALITE_NP_ONE(np_arccosh, acosh)
NUMBALITE_NP_ONE(np_arctanh, atanh)
#undef NUMBALITE_NP_ONE

NUMBALITE_NP T np_logaddexp(const T &x, const T &y) {
    auto a = nl_detail::np_up(x), b = nl_detail::np_up(y), d = a - b;
    typedef decltype(d) R;
    if (a == b)
        return T(a + R(0.69314718055994530942));
    return T(d > 0 ? a + ::log1p(::exp(-d)) : d <= 0 ? b + ::log1p(::exp(d)) : d);
}
NUMBALITE_NP T np_logaddexp2(const T &x, const T &y) {
    auto a = nl_detail::np_up(x), b = nl_detail::np_up(y), d = a - b;
    typedef decltype(d) R;
    constexpr R log2_e = R(1.44269504088896340736);
    if (a == b)
        return T(a + R(1));
    return T(d > 0    ? a + log2_e * ::log1p(::exp2(-d))
             : d <= 0 ? b + log2_e * ::log1p(::exp2(d))
                      : d);
}
NUMBALITE_NP T np_degrees(const T &x) {
    auto a = nl_detail::np_up(x);
    return T(a * decltype(a)(180.0 / 3.14159265358979323846));
}
NUMBALITE_NP T np_radians(const T &x) {
    auto a = nl_detail::np_up(x);
    return T(a * decltype(a)(3.14159265358979323846 / 180.0));
}

/* ---- exponents, fractions and neighbours ---- */

template <class T, class I> NUMBALITE_FUNCTION T np_ldexp(const T &x, const I &exponent) {
    int e = exponent > I(9999) ? 9999 : exponent < I(-9999) ? -9999 : (int)exponent;
    return T(::ldexp(nl_detail::np_up(x), e));
}
NUMBALITE_NP T np_mantissa(const T &x) {
    int exponent;
    return T(::frexp(nl_detail::np_up(x), &exponent));
}
NUMBALITE_NP int np_exponent(const T &x) {
    int exponent = 0;
    auto a = nl_detail::np_up(x);
    if (a - a == 0) /* a is finite: the exponent of infinity is unspecified in C */
        ::frexp(a, &exponent);
    return exponent;
}
NUMBALITE_NP T np_fraction(const T &x) {
    auto a = nl_detail::np_up(x), whole = ::trunc(a);
    auto rest = a == whole ? decltype(a)(0) : a - whole;
    return T(::copysign(rest, a));
}
NUMBALITE_NP T np_nextafter(const T &x, const T &y) {
    if constexpr (nl_detail::np_is_half<T>) {
        float a = x, b = y;
        if (a != a || b != b)
            return T(a + b);
        if (a == b)
            return x;
        if (a == 0)
            return T(::copysign(5.9604644775390625e-8f, b));
        unsigned short bits;
        memcpy(&bits, &x, 2);
        bits += (a < b) == (a > 0) ? 1 : -1;
        T next;
        memcpy(&next, &bits, 2);
        return next;
    } else {
        return ::nextafter(x, y);
    }
}
/* For half precision, NumPy returns the distance to the next larger number; for other types, the
 * distance to the neighbour farther from zero. */
NUMBALITE_NP T np_spacing(const T &x) {
    auto a = nl_detail::np_up(x);
    typedef decltype(a) R;
    R infinity = R(1) / R(0);
    if (a - a != 0)
        return T(infinity - infinity);
    if constexpr (nl_detail::np_is_half<T>)
        return T((R)np_nextafter(x, T(infinity)) - a);
    else
        return np_nextafter(x, a < 0 ? -infinity : infinity) - x;
}

/* ---- integers and their bits ---- */

NUMBALITE_NP unsigned char np_bitwise_count(const T &x) {
    return __popcll(nl_detail::np_magnitude(x));
}

NUMBALITE_NP T np_invert(const T &x) {
    if constexpr (nl_detail::np_same<T, bool>)
        return !x;
    else
        return T(~x);
}
NUMBALITE_NP T np_left_shift(const T &x, const T &y) {
    return (unsigned long long)y < 8 * sizeof(T) ? T((unsigned long long)x << y) : T(0);
}
NUMBALITE_NP T np_right_shift(const T &x, const T &y) {
    return (unsigned long long)y < 8 * sizeof(T) ? T(x >> y) : x < T(0) ? T(-1) : T(0);
}
NUMBALITE_NP T np_gcd(const T &x, const T &y) {
    auto a = nl_detail::np_magnitude(x), b = nl_detail::np_magnitude(y);
    while (b != 0) {
        auto rest = a % b;
        a = b;
        b = rest;
    }
    return T(a);
}
NUMBALITE_NP T np_lcm(const T &x, const T &y) {
    auto a = nl_detail::np_magnitude(x), b = nl_detail::np_magnitude(y);
    auto divisor = nl_detail::np_magnitude(np_gcd(x, y));
    return divisor == 0 ? T(0) : T(a / divisor * b);
}

/* ---- predicates ---- */

NUMBALITE_NP bool np_true(const T &x) {
    return nl_convert<bool>(x);
}
NUMBALITE_NP bool np_isnan(const T &x) {
    return x != x;
}
NUMBALITE_NP bool np_isfinite(const T &x) {
    if constexpr (nl_detail::np_is_integer<T>)
        return true;
    else if constexpr (nl_detail::np_is_complex<T>)
        return np_isfinite(x.re) && np_isfinite(x.im);
    else
        return nl_detail::np_up(x) - nl_detail::np_up(x) == 0;
}
NUMBALITE_NP bool np_isinf(const T &x) {
    if constexpr (nl_detail::np_is_complex<T>)
        return np_isinf(x.re) || np_isinf(x.im);
    else
        return !np_isfinite(x) && x == x;
}
NUMBALITE_NP T np_sign(const T &x) {
    if constexpr (nl_detail::np_is_complex<T>) {
        auto size = abs(x);
        bool re = np_isinf(x.re), im = np_isinf(x.im);
        if (np_isinf(size) && !(re && im)) /* returns the argument moved by the smallest step in the
                                            * direction of the infinite part */
            return re ? T(np_sign(x.re), 0) : T(0, np_sign(x.im));
        return size == 0 ? T(0) : T(x.re / size, x.im / size);
    } else {
        return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
    }
}
NUMBALITE_NP bool np_signbit(const T &x) {
    auto a = nl_detail::np_up(x);
    return ::copysign(decltype(a)(1), a) < 0;
}

/* Computes the logarithmic derivative of the gamma function, for scipy.special: from 10 on by the
 * asymptotic series (DLMF 5.11.2), whose seven terms have an error of 4e-17; by the recurrence
 * (5.5.2) for smaller numbers, and by the reflection (5.5.4) for negative numbers. At 0 the result
 * is an infinity with the opposite sign of the zero; at the other poles it is NaN. */
NUMBALITE_NP T np_digamma(const T &given) {
    T x = given, result = 0;
    if (x == 0)
        return -1 / x;
    if (x < 0) {
        T rest = x - ::rint(x);
        if (!(rest < 0 || rest > 0)) /* a pole, or -infinity */
            return (x - x) / (x - x);
        result = -T(3.14159265358979323846) / ::tan(T(3.14159265358979323846) * rest);
        x = 1 - x;
    }
    for (; x < 10; x += 1)
        result -= 1 / x;
    T s = 1 / x, q = s * s;
    T series =
        T(1. / 12) -
        q * (T(1. / 120) -
             q * (T(1. / 252) -
                  q * (T(1. / 240) - q * (T(1. / 132) - q * (T(691. / 32760) - q * T(1. / 12))))));
    return result + (::log(x) - s / 2 - q * series);
}
#undef NUMBALITE_NP

} // namespace numbalite
#endif
