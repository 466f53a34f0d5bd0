/* dual: numbers with derivatives (forward-mode automatic differentiation).
 *
 *     `nl_dual<T, N>`: a value and its derivatives in N directions; T may itself be a dual.
 *     `nl_seed<D>(x, i)`: the value x, with the derivative 1 in direction i.
 *     `nl_real(d)`: the value without derivatives.
 *
 * Code that is compiled with nl_dual<float, 1> for float computes f(x) and f'(x) in one pass
 * (A. Griewank, A. Walther: Evaluating Derivatives, 2008, chapter 3). Conversions from numbers are
 * implicit and have the derivative 0. A dual does not convert to float or double, so that code that
 * would lose a derivative does not compile. An explicit conversion to an integer is allowed:
 * its derivative is 0.
 *
 * Where a function has no derivative, these values are used: 0 for abs(x) at 0, the mean of the
 * derivatives of x and y for max(x, y) and min(x, y) at x == y, and 0 for functions that round. */
#ifndef NUMBALITE_DUAL_CUH
#define NUMBALITE_DUAL_CUH

#include "numbalite/convert.cuh"

namespace numbalite {

template <class T, int N> struct nl_dual;

namespace nl_detail {
template <class T> struct is_dual { static constexpr bool value = false; };
template <class T, int N> struct is_dual<nl_dual<T, N>> { static constexpr bool value = true; };

/* if_number<T, U>::type is U if T is a built-in number type; otherwise it does not exist, which
 * excludes a template from overload resolution. */
template <class T, class U, bool IsClass = __is_class(T) || __is_enum(T) || __is_union(T)>
struct if_number {
    typedef U type;
};
template <class T, class U> struct if_number<T, U, true> {};
template <class U> struct if_number<void, U, false> {};
template <class V, class U> struct if_number<V *, U, false> {};

/* if_integer<T, U>::type is U if T is a built-in integer type, like if_number. */
template <class T, class U, bool IsInteger = (T(0.5) == T(0))> struct if_integer {
    typedef U type;
};
template <class T, class U> struct if_integer<T, U, false> {};

/* dual_sum<A, B>::type is the type of a + b if at least one of them is a dual and the other one a
 * dual or a number; otherwise it does not exist. */
template <class A, class B> struct dual_sum {};
template <class A, class B> struct number_sum { typedef decltype(A() + B()) type; };
template <class T, int N, class U> struct number_sum<nl_dual<T, N>, U> {
    typedef nl_dual<typename number_sum<T, U>::type, N> type;
};
template <class T, class U, int N> struct number_sum<U, nl_dual<T, N>> {
    typedef nl_dual<typename number_sum<U, T>::type, N> type;
};
template <class T, class U, int N> struct number_sum<nl_dual<T, N>, nl_dual<U, N>> {
    typedef nl_dual<typename number_sum<T, U>::type, N> type;
};
template <class D, class U, class = int> struct sum_with_number {};
template <class D, class U>
struct sum_with_number<D, U, typename if_number<U, int>::type> : number_sum<D, U> {};
template <class T, int N, class U>
struct dual_sum<nl_dual<T, N>, U> : sum_with_number<nl_dual<T, N>, U> {};
template <class U, class T, int N>
struct dual_sum<U, nl_dual<T, N>> : sum_with_number<nl_dual<T, N>, U> {};
template <class T, class U, int N> struct dual_sum<nl_dual<T, N>, nl_dual<U, N>> {
    typedef typename number_sum<nl_dual<T, N>, nl_dual<U, N>>::type type;
};

/* single<D>::type: the dual D with float instead of its number type. */
template <class T> struct single { typedef float type; };
template <class T, int N> struct single<nl_dual<T, N>> {
    typedef nl_dual<typename single<T>::type, N> type;
};

/* nl_convert handles a dual as a floating-point number. */
template <class T, int N> struct cast_kind_of<nl_dual<T, N>> {
    enum { value = real_kind };
};

/* The address of a dual, which converts only to a pointer to the dual: a conversion to a pointer to
 * an integer, which could read the value without its derivative, does not compile. */
template <class D> struct dual_address {
    D *pointer;
    NUMBALITE_FUNCTION constexpr operator D *() const { return pointer; }
    NUMBALITE_FUNCTION constexpr operator const D *() const { return pointer; }
    operator void *() const = delete;
    operator const void *() const = delete;
    NUMBALITE_FUNCTION constexpr D &operator*() const { return *pointer; }
    NUMBALITE_FUNCTION constexpr D *operator->() const { return pointer; }
};
} // namespace nl_detail

template <class T> NUMBALITE_FUNCTION constexpr T nl_real(const T &x) {
    return x;
}
template <class T, int N> NUMBALITE_FUNCTION constexpr auto nl_real(const nl_dual<T, N> &x) {
    return nl_real(x.value);
}

template <class T, int N> struct nl_dual {
    typedef T value_type;
    T value, tangent[N];

    /* The constructor is not trivial, so that a union with a dual does not compile. */
    NUMBALITE_FUNCTION constexpr nl_dual() : value(), tangent() {}
    NUMBALITE_FUNCTION constexpr nl_dual(const T &value) : value(value), tangent() {}
    template <class U, class = typename nl_detail::if_number<U, U>::type>
    NUMBALITE_FUNCTION constexpr nl_dual(const U &value) : value(T(value)), tangent() {}
    template <class U>
    NUMBALITE_FUNCTION constexpr nl_dual(const nl_dual<U, N> &x) : value(T(x.value)), tangent() {
        for (int i = 0; i < N; i++)
            tangent[i] = T(x.tangent[i]);
    }
    NUMBALITE_FUNCTION constexpr nl_dual(const T &value, const T &first) : value(value), tangent() {
        tangent[0] = first;
    }

    template <class I, class = typename nl_detail::if_number<I, I>::type,
              class = typename nl_detail::if_integer<I, I>::type>
    NUMBALITE_FUNCTION constexpr explicit operator I() const {
        return (I)nl_real(value);
    }

    NUMBALITE_FUNCTION constexpr nl_detail::dual_address<nl_dual> operator&() {
        return {__builtin_addressof(*this)};
    }

#define NUMBALITE_ASSIGN(op) \
    template <class U> NUMBALITE_FUNCTION constexpr nl_dual &operator op##=(const U &x) { \
        return *this = *this op x; \
    }
    NUMBALITE_ASSIGN(+)
    NUMBALITE_ASSIGN(-)
    NUMBALITE_ASSIGN(*)
    NUMBALITE_ASSIGN(/)
#undef NUMBALITE_ASSIGN
    NUMBALITE_FUNCTION constexpr nl_dual &operator++() {
        return *this += 1;
    }
    NUMBALITE_FUNCTION constexpr nl_dual &operator--() {
        return *this -= 1;
    }
    NUMBALITE_FUNCTION constexpr nl_dual operator++(int) {
        nl_dual before = *this;
        *this += 1;
        return before;
    }
    NUMBALITE_FUNCTION constexpr nl_dual operator--(int) {
        nl_dual before = *this;
        *this -= 1;
        return before;
    }
};

template <class D, class T> NUMBALITE_FUNCTION constexpr D nl_seed(const T &x, int direction) {
    D result = x;
    result.tangent[direction] = typename D::value_type(1);
    return result;
}

namespace nl_detail {
/* Returns the value of an operand, a dual or a number, converted to T. */
template <class T, class U, int N> NUMBALITE_FUNCTION constexpr T convert_operand_value(const nl_dual<U, N> &x) {
    return T(x.value);
}
template <class T, class U, class = typename if_number<U, U>::type>
NUMBALITE_FUNCTION constexpr T convert_operand_value(const U &x) {
    return T(x);
}

/* Adds the slope times the derivatives of the operand x to the derivatives of `sum` (the chain
 * rule). A number has no derivatives, so nothing is added. */
template <class T, int N, class U>
NUMBALITE_FUNCTION constexpr void add(nl_dual<T, N> &sum, const nl_dual<U, N> &x, const T &slope) {
    for (int i = 0; i < N; i++)
        sum.tangent[i] = sum.tangent[i] + T(x.tangent[i]) * slope;
}
template <class T, int N, class U, class = typename if_number<U, U>::type>
NUMBALITE_FUNCTION constexpr void add(nl_dual<T, N> &, const U &, const T &) {}

template <class T> NUMBALITE_FUNCTION constexpr bool is_zero(const T &x) {
    return x == 0;
}
template <class T, int N> NUMBALITE_FUNCTION constexpr bool is_zero(const nl_dual<T, N> &x) {
    for (int i = 0; i < N; i++)
        if (!is_zero(x.tangent[i]))
            return false;
    return is_zero(x.value);
}
/* Adds derivatives like `add`, but a derivative that is 0 adds 0, even if the slope is infinite or
 * NaN. */
template <class T, int N, class U>
NUMBALITE_FUNCTION void add_nonzero(nl_dual<T, N> &sum, const nl_dual<U, N> &x, const T &slope) {
    for (int i = 0; i < N; i++)
        if (!is_zero(x.tangent[i]))
            sum.tangent[i] = sum.tangent[i] + T(x.tangent[i]) * slope;
}
template <class T, int N, class U, class = typename if_number<U, U>::type>
NUMBALITE_FUNCTION void add_nonzero(nl_dual<T, N> &, const U &, const T &) {}
} // namespace nl_detail

/* ---- operators ---- */

template <class T, int N>
NUMBALITE_FUNCTION constexpr nl_dual<T, N> operator+(const nl_dual<T, N> &x) {
    return x;
}
template <class T, int N>
NUMBALITE_FUNCTION constexpr nl_dual<T, N> operator-(const nl_dual<T, N> &x) {
    nl_dual<T, N> result(-x.value);
    for (int i = 0; i < N; i++)
        result.tangent[i] = -x.tangent[i];
    return result;
}
template <class T, int N> NUMBALITE_FUNCTION constexpr bool operator!(const nl_dual<T, N> &x) {
    return nl_real(x) == 0;
}

#define NUMBALITE_DUALS \
    template <class A, class B, class R = typename nl_detail::dual_sum<A, B>::type> \
    NUMBALITE_FUNCTION
/* Defines an operator. by_a and by_b are its partial derivatives with respect to a and b,
 * expressions of the values x and y and the result z. */
#define NUMBALITE_OPERATOR(op, by_a, by_b) \
    NUMBALITE_DUALS constexpr R operator op(const A &a, const B &b) { \
        typedef typename R::value_type T; \
        const T x = nl_detail::convert_operand_value<T>(a), y = nl_detail::convert_operand_value<T>(b), z = x op y; \
        R result(z); \
        nl_detail::add(result, a, T(by_a)); \
        nl_detail::add(result, b, T(by_b)); \
        return result; \
    }
NUMBALITE_OPERATOR(+, 1, 1)
NUMBALITE_OPERATOR(-, 1, -1)
NUMBALITE_OPERATOR(*, y, x)
NUMBALITE_OPERATOR(/, T(1) / y, -z / y)
#undef NUMBALITE_OPERATOR

#define NUMBALITE_COMPARISON(op) \
    template <class A, class B, class R = typename nl_detail::dual_sum<A, B>::type> \
    NUMBALITE_FUNCTION constexpr bool operator op(const A &a, const B &b) { \
        return nl_real(a) op nl_real(b); \
    }
NUMBALITE_COMPARISON(<)
NUMBALITE_COMPARISON(<=)
NUMBALITE_COMPARISON(>)
NUMBALITE_COMPARISON(>=)
NUMBALITE_COMPARISON(==)
NUMBALITE_COMPARISON(!=)
#undef NUMBALITE_COMPARISON

/* ---- functions of one number ---- */

/* Declares CUDA's functions in this namespace, whose own functions would hide them. */
#define NUMBALITE_REAL \
    using ::sqrt; \
    using ::rsqrt; \
    using ::cbrt; \
    using ::sin; \
    using ::cos; \
    using ::sinpi; \
    using ::cospi; \
    using ::sinh; \
    using ::cosh; \
    using ::exp; \
    using ::log; \
    using ::log1p; \
    using ::pow; \
    using ::floor; \
    using ::trunc; \
    using ::rint; \
    using ::copysign; \
    using ::hypot;

/* Defines f for duals. `slope` is the derivative of f, an expression of x and y = f(x). `f_f` is
 * C's name of f for floats. */
#define NUMBALITE_UNARY(f, f_f, slope) \
    template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> f(const nl_dual<T, N> &a) { \
        NUMBALITE_REAL \
        using ::f; \
        const T x = a.value, y = f(x); \
        nl_dual<T, N> result(y); \
        nl_detail::add(result, a, T(slope)); \
        return result; \
    } \
    NUMBALITE_SINGLE(f, f_f)
#define NUMBALITE_SINGLE(f, f_f) \
    template <class T, int N> \
    NUMBALITE_FUNCTION typename nl_detail::single<nl_dual<T, N>>::type f_f( \
        const nl_dual<T, N> &a) { \
        return f(typename nl_detail::single<nl_dual<T, N>>::type(a)); \
    }

namespace nl_detail {
constexpr double PI = 3.14159265358979323846, LN2 = 0.69314718055994530942,
                 LN10 = 2.30258509299404568402, TWO_BY_SQRT_PI = 1.12837916709551257390,
                 SQRT_2_PI = 2.50662827463100050242;
template <class T> NUMBALITE_FUNCTION T square(const T &x) {
    return x * x;
}
template <class T> NUMBALITE_FUNCTION T sign(const T &x) {
    return T((x > 0) - (x < 0));
}
/* digamma(x) = log(x) - 1/(2x) - sum B_2k / (2k x^2k) for large x, the recurrence for small x and
 * the reflection for negative x (M. Abramowitz, I. A. Stegun, 6.3.5, 6.3.7 and 6.3.18). */
template <class T> NUMBALITE_FUNCTION T digamma(T x) {
    NUMBALITE_REAL
    T result(0);
    if (x < 0.5) {
        result = T(-PI) * cospi(x) / sinpi(x);
        x = T(1) - x;
    }
    for (int i = 0; i < 10 && x < 10; i++) {
        result = result - T(1) / x;
        x = x + T(1);
    }
    const T s = T(1) / (x * x);
    const T tail =
        s * (T(1 / 12.0) -
             s * (T(1 / 120.0) - s * (T(1 / 252.0) - s * (T(1 / 240.0) - s * T(1 / 132.0)))));
    return result + log(x) - T(0.5) / x - tail;
}
} // namespace nl_detail

NUMBALITE_UNARY(sqrt, sqrtf, T(0.5) / y)
NUMBALITE_UNARY(rsqrt, rsqrtf, T(-0.5) * y / x)
NUMBALITE_UNARY(cbrt, cbrtf, T(1) / (T(3) * y * y))
NUMBALITE_UNARY(rcbrt, rcbrtf, T(-1 / 3.0) * y / x)
NUMBALITE_UNARY(sin, sinf, cos(x))
NUMBALITE_UNARY(cos, cosf, -sin(x))
NUMBALITE_UNARY(tan, tanf, T(1) + y * y)
NUMBALITE_UNARY(sinpi, sinpif, T(nl_detail::PI) * cospi(x))
NUMBALITE_UNARY(cospi, cospif, -T(nl_detail::PI) * sinpi(x))
NUMBALITE_UNARY(asin, asinf, rsqrt((T(1) - x) * (T(1) + x)))
NUMBALITE_UNARY(acos, acosf, -rsqrt((T(1) - x) * (T(1) + x)))
NUMBALITE_UNARY(atan, atanf, T(1) / (T(1) + x * x))
NUMBALITE_UNARY(sinh, sinhf, cosh(x))
NUMBALITE_UNARY(cosh, coshf, sinh(x))
NUMBALITE_UNARY(tanh, tanhf, (T(1) - y) * (T(1) + y))
NUMBALITE_UNARY(asinh, asinhf, T(1) / hypot(x, T(1)))
NUMBALITE_UNARY(acosh, acoshf, rsqrt((x - T(1)) * (x + T(1))))
NUMBALITE_UNARY(atanh, atanhf, T(1) / ((T(1) - x) * (T(1) + x)))
NUMBALITE_UNARY(exp, expf, y)
NUMBALITE_UNARY(exp2, exp2f, T(nl_detail::LN2) * y)
NUMBALITE_UNARY(exp10, exp10f, T(nl_detail::LN10) * y)
NUMBALITE_UNARY(expm1, expm1f, y + T(1))
NUMBALITE_UNARY(log, logf, T(1) / x)
NUMBALITE_UNARY(log2, log2f, T(1 / nl_detail::LN2) / x)
NUMBALITE_UNARY(log10, log10f, T(1 / nl_detail::LN10) / x)
NUMBALITE_UNARY(log1p, log1pf, T(1) / (T(1) + x))
NUMBALITE_UNARY(erf, erff, T(nl_detail::TWO_BY_SQRT_PI) * exp(-x * x))
NUMBALITE_UNARY(erfc, erfcf, T(-nl_detail::TWO_BY_SQRT_PI) * exp(-x * x))
NUMBALITE_UNARY(erfcx, erfcxf, T(2) * x * y - T(nl_detail::TWO_BY_SQRT_PI))
NUMBALITE_UNARY(erfinv, erfinvf, exp(y *y) / T(nl_detail::TWO_BY_SQRT_PI))
NUMBALITE_UNARY(erfcinv, erfcinvf, -exp(y *y) / T(nl_detail::TWO_BY_SQRT_PI))
NUMBALITE_UNARY(normcdf, normcdff, exp(T(-0.5) * x * x) / T(nl_detail::SQRT_2_PI))
NUMBALITE_UNARY(normcdfinv, normcdfinvf, T(nl_detail::SQRT_2_PI) * exp(T(0.5) * y * y))
NUMBALITE_UNARY(lgamma, lgammaf, nl_detail::digamma(x))
NUMBALITE_UNARY(tgamma, tgammaf, y *nl_detail::digamma(x))
NUMBALITE_UNARY(fabs, fabsf, nl_detail::sign(x))
/* The Bessel functions: J0' = -J1, J1' = J0 - J1 / x, and the same for Y; I0' = I1, I1' = I0 - I1 /
 * x. */
template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> j1(const nl_dual<T, N> &a);
template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> y1(const nl_dual<T, N> &a);
template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> cyl_bessel_i1(const nl_dual<T, N> &a);
#define NUMBALITE_BESSEL(f, f_f, slope) \
    template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> f(const nl_dual<T, N> &a) { \
        using ::j0; \
        using ::j1; \
        using ::y0; \
        using ::y1; \
        using ::cyl_bessel_i0; \
        using ::cyl_bessel_i1; \
        const T x = a.value, y = T(f(x)); \
        nl_dual<T, N> result(y); \
        nl_detail::add(result, a, T(slope)); \
        return result; \
    } \
    NUMBALITE_SINGLE(f, f_f)
NUMBALITE_BESSEL(j0, j0f, -j1(x))
NUMBALITE_BESSEL(y0, y0f, -y1(x))
NUMBALITE_BESSEL(j1, j1f, x == 0 ? T(0.5) : T(j0(x)) - y / x)
NUMBALITE_BESSEL(y1, y1f, T(y0(x)) - y / x)
NUMBALITE_BESSEL(cyl_bessel_i0, cyl_bessel_i0f, cyl_bessel_i1(x))
NUMBALITE_BESSEL(cyl_bessel_i1, cyl_bessel_i1f, x == 0 ? T(0.5) : T(cyl_bessel_i0(x)) - y / x)
#undef NUMBALITE_BESSEL
/* The derivative of a Bessel function of order n: 2 Jn' = J(n-1) - J(n+1), and the same for Y. CUDA
 * has no Bessel functions of negative order. */
#define NUMBALITE_BESSEL(f, f_f) \
    template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> f(int n, const nl_dual<T, N> &a) { \
        using ::f; \
        const T x = a.value; \
        nl_dual<T, N> result(T(f(n, x))); \
        const T next = T(f(n + 1, x)); \
        nl_detail::add(result, a, n ? (T(f(n - 1, x)) - next) * T(0.5) : -next); \
        return result; \
    } \
    template <class T, int N> \
    NUMBALITE_FUNCTION typename nl_detail::single<nl_dual<T, N>>::type f_f( \
        int n, const nl_dual<T, N> &a) { \
        return f(n, typename nl_detail::single<nl_dual<T, N>>::type(a)); \
    }
NUMBALITE_BESSEL(jn, jnf)
NUMBALITE_BESSEL(yn, ynf)
#undef NUMBALITE_BESSEL

/* Defines functions that round: their derivative is 0. */
#define NUMBALITE_STEP(f, f_f) \
    template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> f(const nl_dual<T, N> &a) { \
        using ::f; \
        return nl_dual<T, N>(f(a.value)); \
    } \
    NUMBALITE_SINGLE(f, f_f)
NUMBALITE_STEP(floor, floorf)
NUMBALITE_STEP(ceil, ceilf)
NUMBALITE_STEP(trunc, truncf)
NUMBALITE_STEP(round, roundf)
NUMBALITE_STEP(rint, rintf)
NUMBALITE_STEP(nearbyint, nearbyintf)
#undef NUMBALITE_STEP

template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> abs(const nl_dual<T, N> &a) {
    return fabs(a);
}
#define NUMBALITE_TEST(f) \
    template <class T, int N> NUMBALITE_FUNCTION bool f(const nl_dual<T, N> &a) { \
        using ::f; \
        return f(nl_real(a)); \
    }
NUMBALITE_TEST(isnan)
NUMBALITE_TEST(isinf)
NUMBALITE_TEST(isfinite)
NUMBALITE_TEST(signbit)
#undef NUMBALITE_TEST

/* ---- functions of two numbers ---- */

/* Defines f for duals. by_a and by_b are its partial derivatives, expressions of the values x
 * and y and of the result z. */
#define NUMBALITE_BINARY(f, f_f, by_a, by_b) \
    NUMBALITE_DUALS R f(const A &a, const B &b) { \
        NUMBALITE_REAL \
        using ::f; \
        typedef typename R::value_type T; \
        const T x = nl_detail::convert_operand_value<T>(a), y = nl_detail::convert_operand_value<T>(b), z = f(x, y); \
        R result(z); \
        nl_detail::add(result, a, T(by_a)); \
        nl_detail::add(result, b, T(by_b)); \
        return result; \
    } \
    NUMBALITE_BINARY_SINGLE(f, f_f)
#define NUMBALITE_BINARY_SINGLE(f, f_f) \
    NUMBALITE_DUALS typename nl_detail::single<R>::type f_f(const A &a, const B &b) { \
        typedef typename nl_detail::single<R>::type S; \
        return f(S(a), S(b)); \
    }
namespace nl_detail {
/* Returns the derivative of max: 1 for the larger number, or 0.5 for both numbers if they are
 * equal. A NaN has the share 0. */
template <class T> NUMBALITE_FUNCTION T share_of_larger(const T &x, const T &y) {
    return T(x > y || y != y ? 1.0 : x == y ? 0.5 : 0.0);
}
} // namespace nl_detail
NUMBALITE_BINARY(fmax, fmaxf, nl_detail::share_of_larger(x, y), nl_detail::share_of_larger(y, x))
NUMBALITE_BINARY(fmin, fminf, nl_detail::share_of_larger(-x, -y),
                 nl_detail::share_of_larger(-y, -x))
NUMBALITE_BINARY(fdim, fdimf, x > y ? 1 : 0, x > y ? -1 : 0)
NUMBALITE_BINARY(fmod, fmodf, 1, -trunc(x / y))
NUMBALITE_BINARY(remainder, remainderf, 1, -rint(x / y))
NUMBALITE_BINARY(copysign, copysignf, nl_detail::sign(x) * copysign(T(1), y), 0)
NUMBALITE_BINARY(atan2, atan2f, y / (x * x + y * y), -x / (x * x + y * y))
NUMBALITE_BINARY(hypot, hypotf, z == 0 ? T(0) : x / z, z == 0 ? T(0) : y / z)
NUMBALITE_BINARY(rhypot, rhypotf, -x *z *z *z, -y *z *z *z)
NUMBALITE_DUALS R max(const A &a, const B &b) {
    return fmax(R(a), R(b));
}
NUMBALITE_DUALS R min(const A &a, const B &b) {
    return fmin(R(a), R(b));
}

/* The derivative with respect to the exponent is log(a) * a^b, which is NaN for negative a.
 * Therefore the term of the exponent is omitted if the derivative of the exponent is 0, for example
 * for a constant. */
NUMBALITE_DUALS R pow(const A &a, const B &b) {
    NUMBALITE_REAL
    typedef typename R::value_type T;
    const T x = nl_detail::convert_operand_value<T>(a), y = nl_detail::convert_operand_value<T>(b), z = pow(x, y);
    R result(z);
    nl_detail::add(result, a, y == 0 ? T(0) : y * pow(x, y - T(1)));
    nl_detail::add_nonzero(result, b, x == 0 && y >= 0 ? T(0) : z * log(x));
    return result;
}
NUMBALITE_BINARY_SINGLE(pow, powf)
template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> ldexp(const nl_dual<T, N> &a, int n) {
    using ::exp2;
    return a * exp2(T(n));
}
template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> scalbn(const nl_dual<T, N> &a, int n) {
    return ldexp(a, n);
}

template <
    class A, class B, class C,
    class R = typename nl_detail::dual_sum<A, typename nl_detail::number_sum<B, C>::type>::type>
NUMBALITE_FUNCTION R fma(const A &a, const B &b, const C &c) {
    return R(a) * R(b) + R(c);
}
template <class A, class B, class C,
          class R = typename nl_detail::single<typename nl_detail::dual_sum<
              A, typename nl_detail::number_sum<B, C>::type>::type>::type>
NUMBALITE_FUNCTION R fmaf(const A &a, const B &b, const C &c) {
    return R(a) * R(b) + R(c);
}

/* Defines the lengths of vectors and their reciprocals. `slope` is the derivative divided by the
 * component, an expression of the result r. */
#define NUMBALITE_NORM(f, f_f, slope) \
    template <class A, class B, class C, \
              class R = typename nl_detail::dual_sum< \
                  A, typename nl_detail::number_sum<B, C>::type>::type> \
    NUMBALITE_FUNCTION R f(const A &a, const B &b, const C &c) { \
        using ::f; \
        typedef typename R::value_type T; \
        const T x = nl_detail::convert_operand_value<T>(a), y = nl_detail::convert_operand_value<T>(b), \
                z = nl_detail::convert_operand_value<T>(c), r = T(f(x, y, z)), s = slope; \
        R result(r); \
        nl_detail::add(result, a, x *s); \
        nl_detail::add(result, b, y *s); \
        nl_detail::add(result, c, z *s); \
        return result; \
    } \
    template <class A, class B, class C, \
              class S = typename nl_detail::single<typename nl_detail::dual_sum< \
                  A, typename nl_detail::number_sum<B, C>::type>::type>::type> \
    NUMBALITE_FUNCTION S f_f(const A &a, const B &b, const C &c) { \
        return f(S(a), S(b), S(c)); \
    }
NUMBALITE_NORM(norm3d, norm3df, r == 0 ? T(0) : T(1) / r)
NUMBALITE_NORM(rnorm3d, rnorm3df, -r *r *r)
#undef NUMBALITE_NORM
#define NUMBALITE_NORM(f, f_f, slope) \
    template <class A, class B, class C, class D, \
              class R = \
                  typename nl_detail::dual_sum<typename nl_detail::number_sum<A, B>::type, \
                                               typename nl_detail::number_sum<C, D>::type>::type> \
    NUMBALITE_FUNCTION R f(const A &a, const B &b, const C &c, const D &d) { \
        using ::f; \
        typedef typename R::value_type T; \
        const T x = nl_detail::convert_operand_value<T>(a), y = nl_detail::convert_operand_value<T>(b), \
                z = nl_detail::convert_operand_value<T>(c), w = nl_detail::convert_operand_value<T>(d), \
                r = T(f(x, y, z, w)), s = slope; \
        R result(r); \
        nl_detail::add(result, a, x *s); \
        nl_detail::add(result, b, y *s); \
        nl_detail::add(result, c, z *s); \
        nl_detail::add(result, d, w *s); \
        return result; \
    } \
    template <class A, class B, class C, class D, \
              class S = typename nl_detail::single<typename nl_detail::dual_sum< \
                  typename nl_detail::number_sum<A, B>::type, \
                  typename nl_detail::number_sum<C, D>::type>::type>::type> \
    NUMBALITE_FUNCTION S f_f(const A &a, const B &b, const C &c, const D &d) { \
        return f(S(a), S(b), S(c), S(d)); \
    }
NUMBALITE_NORM(norm4d, norm4df, r == 0 ? T(0) : T(1) / r)
NUMBALITE_NORM(rnorm4d, rnorm4df, -r *r *r)
#undef NUMBALITE_NORM

#define NUMBALITE_PAIR(f, first, second) \
    template <class T, int N, class U> \
    NUMBALITE_FUNCTION void f(const nl_dual<T, N> &a, nl_dual<U, N> *s, nl_dual<U, N> *c) { \
        *s = first(a); \
        *c = second(a); \
    } \
    template <class T, int N, class D> \
    NUMBALITE_FUNCTION void f(const nl_dual<T, N> &a, nl_detail::dual_address<D> s, \
                              nl_detail::dual_address<D> c) { \
        f(a, s.pointer, c.pointer); \
    }
NUMBALITE_PAIR(sincos, sin, cos)
NUMBALITE_PAIR(sincosf, sinf, cosf)
NUMBALITE_PAIR(sincospi, sinpi, cospi)
NUMBALITE_PAIR(sincospif, sinpif, cospif)

/* ---- Defines CUDA's fast functions: the derivative is that of the exact function. ---- */

#define NUMBALITE_FAST(fast, f) \
    template <class T, int N> \
    NUMBALITE_FUNCTION typename nl_detail::single<nl_dual<T, N>>::type fast( \
        const nl_dual<T, N> &a) { \
        return f(typename nl_detail::single<nl_dual<T, N>>::type(a)); \
    }
NUMBALITE_FAST(__sinf, sin)
NUMBALITE_FAST(__cosf, cos)
NUMBALITE_FAST(__tanf, tan)
NUMBALITE_FAST(__expf, exp)
NUMBALITE_FAST(__exp10f, exp10)
NUMBALITE_FAST(__logf, log)
NUMBALITE_FAST(__log2f, log2)
NUMBALITE_FAST(__log10f, log10)
NUMBALITE_BINARY_SINGLE(pow, __powf)
NUMBALITE_DUALS typename nl_detail::single<R>::type __fdividef(const A &a, const B &b) {
    typedef typename nl_detail::single<R>::type S;
    return S(a) / S(b);
}
template <class T, int N>
NUMBALITE_FUNCTION typename nl_detail::single<nl_dual<T, N>>::type
__saturatef(const nl_dual<T, N> &a) {
    typedef typename nl_detail::single<nl_dual<T, N>>::type S;
    return a > 0 ? a < 1 ? S(a) : S(1) : S(0);
}
NUMBALITE_PAIR(__sincosf, __sinf, __cosf)

/* ---- Python's operators ---- */

namespace py {
template <class T, int N, class B>
NUMBALITE_FUNCTION nl_dual<T, N> floor_div(const nl_dual<T, N> &a, const B &b) {
    typedef nl_dual<T, N> D;
    return floor(a / D(b));
}
template <class T, int N, class B>
NUMBALITE_FUNCTION nl_dual<T, N> floor_mod(const nl_dual<T, N> &a, const B &b) {
    typedef nl_dual<T, N> D;
    return a - floor_div(a, b) * D(b);
}
} // namespace py

/* ---- NumPy's functions (numpy.cuh) ---- */

#define NUMBALITE_NP_UNARY(np_f, f) \
    template <class T, int N> NUMBALITE_FUNCTION nl_dual<T, N> np_f(const nl_dual<T, N> &a) { \
        return f(a); \
    }
NUMBALITE_NP_UNARY(np_arcsinh, asinh)
NUMBALITE_NP_UNARY(np_arccosh, acosh)
NUMBALITE_NP_UNARY(np_arctanh, atanh)
NUMBALITE_NP_UNARY(np_floor, floor)
NUMBALITE_NP_UNARY(np_ceil, ceil)
NUMBALITE_NP_UNARY(np_trunc, trunc)
NUMBALITE_NP_UNARY(np_rint, rint)
NUMBALITE_NP_UNARY(np_absolute, fabs)
#undef NUMBALITE_NP_UNARY

/* For two duals, this overload is a better match than the template of numpy.cuh for any type. */
#define NUMBALITE_NP_BINARY(np_f, value) \
    template <class T, int N> \
    NUMBALITE_FUNCTION nl_dual<T, N> np_f(const nl_dual<T, N> &a, const nl_dual<T, N> &b) { \
        return value; \
    } \
    NUMBALITE_DUALS R np_f(const A &a, const B &b) { \
        return np_f(R(a), R(b)); \
    }
namespace nl_detail {
/* log(e^x + e^y) without overflow. */
template <class T> NUMBALITE_FUNCTION T log_of_sum(const T &x, const T &y) {
    NUMBALITE_REAL
    const T larger = x > y ? x : y, smaller = x > y ? y : x;
    return x == y ? x + T(LN2) : larger + log1p(exp(smaller - larger));
}
template <class T, int N>
NUMBALITE_FUNCTION nl_dual<T, N> log_of_sum(const nl_dual<T, N> &a, const nl_dual<T, N> &b) {
    NUMBALITE_REAL
    const T x = a.value, y = b.value, z = log_of_sum(x, y);
    nl_dual<T, N> result(z);
    add(result, a, T(exp(x - z)));
    add(result, b, T(exp(y - z)));
    return result;
}
} // namespace nl_detail
NUMBALITE_NP_BINARY(np_power, pow(a, b))
NUMBALITE_NP_BINARY(np_fmod, fmod(a, b))
NUMBALITE_NP_BINARY(np_fmax, fmax(a, b))
NUMBALITE_NP_BINARY(np_fmin, fmin(a, b))
NUMBALITE_NP_BINARY(np_hypot, hypot(a, b))
NUMBALITE_NP_BINARY(np_arctan2, atan2(a, b))
NUMBALITE_NP_BINARY(np_copysign, copysign(a, b))
NUMBALITE_NP_BINARY(np_floor_divide, py::floor_div(a, b))
NUMBALITE_NP_BINARY(np_remainder, py::floor_mod(a, b))
NUMBALITE_NP_BINARY(np_maximum, isnan(a) ? a : isnan(b) ? b : fmax(a, b))
NUMBALITE_NP_BINARY(np_minimum, isnan(a) ? a : isnan(b) ? b : fmin(a, b))
NUMBALITE_NP_BINARY(np_logaddexp, nl_detail::log_of_sum(a, b))
NUMBALITE_NP_BINARY(np_logaddexp2,
                    nl_detail::log_of_sum(a *nl_detail::LN2, b *nl_detail::LN2) / nl_detail::LN2)
#undef NUMBALITE_NP_BINARY

#undef NUMBALITE_DUALS
#undef NUMBALITE_REAL
#undef NUMBALITE_UNARY
#undef NUMBALITE_SINGLE
#undef NUMBALITE_BINARY
#undef NUMBALITE_BINARY_SINGLE
#undef NUMBALITE_PAIR
#undef NUMBALITE_FAST

} // namespace numbalite

#endif
