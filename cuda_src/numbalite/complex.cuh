/* complex: complex numbers with NumPy's layout (two parts, with the alignment of one part) and
 * C++'s rules.
 *
 * Mixed arithmetic converts as for real numbers: complex64 * double is complex128, and the result
 * can be assigned to a complex64 without a cast. A real operand is not converted to complex, so
 * infinity times z contains no additional NaN. Divisions and functions of complex numbers avoid
 * intermediate overflow. The functions handle infinities and NaNs as in C99; products and quotients
 * have the results of their formulas. */
#ifndef NUMBALITE_COMPLEX_CUH
#define NUMBALITE_COMPLEX_CUH

#include "numbalite.cuh"

namespace numbalite {

template <class T> struct complex {
    typedef T value_type;
    T re, im;

    complex() = default;
    NUMBALITE_FUNCTION constexpr complex(T re, T im = T()) : re(re), im(im) {}
    template <class U>
    NUMBALITE_FUNCTION constexpr complex(const complex<U> &z) : re((T)z.re), im((T)z.im) {}

    NUMBALITE_FUNCTION constexpr T real() const { return re; }
    NUMBALITE_FUNCTION constexpr T imag() const { return im; }
    NUMBALITE_FUNCTION void real(T value) { re = value; }
    NUMBALITE_FUNCTION void imag(T value) { im = value; }

    template <class U> NUMBALITE_FUNCTION complex &operator+=(const U &b) {
        return *this = *this + b;
    }
    template <class U> NUMBALITE_FUNCTION complex &operator-=(const U &b) {
        return *this = *this - b;
    }
    template <class U> NUMBALITE_FUNCTION complex &operator*=(const U &b) {
        return *this = *this * b;
    }
    template <class U> NUMBALITE_FUNCTION complex &operator/=(const U &b) {
        return *this = *this / b;
    }
};

template <class T> using nl_complex = complex<T>;
typedef complex<float> complex64;
typedef complex<double> complex128;

namespace nl_detail {
/* only_real<U>::type is U if U is a real number type; otherwise it does not exist. */
template <class U> struct is_class { static constexpr bool value = __is_class(U); };
template <class U, bool IsClass = is_class<U>::value> struct only_real { typedef U type; };
template <class U> struct only_real<U, true> {};
template <class T, class U> using real_sum = decltype(T() + typename only_real<U>::type());
} // namespace nl_detail

/* ---- arithmetic ---- */

template <class T> NUMBALITE_FUNCTION constexpr complex<T> operator+(const complex<T> &a) {
    return a;
}
template <class T> NUMBALITE_FUNCTION constexpr complex<T> operator-(const complex<T> &a) {
    return complex<T>(-a.re, -a.im);
}

#define NUMBALITE_BOTH \
    template <class T, class U, class R = nl_detail::real_sum<T, U>> NUMBALITE_FUNCTION constexpr
NUMBALITE_BOTH complex<R> operator+(const complex<T> &a, const complex<U> &b) {
    return complex<R>((R)a.re + (R)b.re, (R)a.im + (R)b.im);
}
NUMBALITE_BOTH complex<R> operator-(const complex<T> &a, const complex<U> &b) {
    return complex<R>((R)a.re - (R)b.re, (R)a.im - (R)b.im);
}
NUMBALITE_BOTH complex<R> operator*(const complex<T> &a, const complex<U> &b) {
    return complex<R>((R)a.re * (R)b.re - (R)a.im * (R)b.im, (R)a.re * (R)b.im + (R)a.im * (R)b.re);
}
/* Smith's method: the quotient of the smaller and the larger part scales the divisor. */
NUMBALITE_BOTH complex<R> operator/(const complex<T> &a, const complex<U> &b) {
    R x = (R)a.re, y = (R)a.im, c = (R)b.re, d = (R)b.im;
    R c_abs = c <= 0 ? R(0) - c : c, d_abs = d <= 0 ? R(0) - d : d;
    if (c_abs == 0 && d_abs == 0)
        return complex<R>(x / c_abs, y / c_abs);
    if (c_abs >= d_abs) {
        R ratio = d / c, scale = R(1) / (c + d * ratio);
        return complex<R>((x + y * ratio) * scale, (y - x * ratio) * scale);
    }
    R ratio = c / d, scale = R(1) / (c * ratio + d);
    return complex<R>((x * ratio + y) * scale, (y * ratio - x) * scale);
}
NUMBALITE_BOTH bool operator==(const complex<T> &a, const complex<U> &b) {
    return (R)a.re == (R)b.re && (R)a.im == (R)b.im;
}
NUMBALITE_BOTH bool operator!=(const complex<T> &a, const complex<U> &b) {
    return !(a == b);
}

NUMBALITE_BOTH complex<R> operator+(const complex<T> &a, const U &b) {
    return complex<R>((R)a.re + (R)b, (R)a.im);
}
NUMBALITE_BOTH complex<R> operator-(const complex<T> &a, const U &b) {
    return complex<R>((R)a.re - (R)b, (R)a.im);
}
NUMBALITE_BOTH complex<R> operator*(const complex<T> &a, const U &b) {
    return complex<R>((R)a.re * (R)b, (R)a.im * (R)b);
}
NUMBALITE_BOTH complex<R> operator/(const complex<T> &a, const U &b) {
    return complex<R>((R)a.re / (R)b, (R)a.im / (R)b);
}
NUMBALITE_BOTH bool operator==(const complex<T> &a, const U &b) {
    return (R)a.re == (R)b && a.im == 0;
}
NUMBALITE_BOTH bool operator!=(const complex<T> &a, const U &b) {
    return !(a == b);
}

NUMBALITE_BOTH complex<R> operator+(const U &a, const complex<T> &b) {
    return b + a;
}
NUMBALITE_BOTH complex<R> operator-(const U &a, const complex<T> &b) {
    return complex<R>((R)a - (R)b.re, -(R)b.im);
}
NUMBALITE_BOTH complex<R> operator*(const U &a, const complex<T> &b) {
    return b * a;
}
NUMBALITE_BOTH complex<R> operator/(const U &a, const complex<T> &b) {
    return complex<R>((R)a) / b;
}
NUMBALITE_BOTH bool operator==(const U &a, const complex<T> &b) {
    return b == a;
}
NUMBALITE_BOTH bool operator!=(const U &a, const complex<T> &b) {
    return !(b == a);
}
#undef NUMBALITE_BOTH

/* ---- parts ---- */

#define NUMBALITE_COMPLEX template <class T> NUMBALITE_FUNCTION
NUMBALITE_COMPLEX T real(const complex<T> &z) {
    return z.re;
}
NUMBALITE_COMPLEX T imag(const complex<T> &z) {
    return z.im;
}
NUMBALITE_COMPLEX complex<T> conj(const complex<T> &z) {
    return complex<T>(z.re, -z.im);
}
NUMBALITE_COMPLEX T abs(const complex<T> &z) {
    return ::hypot(z.re, z.im);
}
NUMBALITE_COMPLEX T arg(const complex<T> &z) {
    return ::atan2(z.im, z.re);
}
NUMBALITE_COMPLEX T norm(const complex<T> &z) {
    return z.re * z.re + z.im * z.im;
}
NUMBALITE_COMPLEX complex<T> polar(T r, T angle) {
    return complex<T>(r * ::cos(angle), r * ::sin(angle));
}
NUMBALITE_COMPLEX bool isnan(const complex<T> &z) {
    return z.re != z.re || z.im != z.im;
}

namespace nl_detail {
NUMBALITE_COMPLEX bool is_finite(T x) {
    return x - x == 0;
}
NUMBALITE_COMPLEX bool is_infinite(T x) {
    return x == x && x - x != 0;
}
} // namespace nl_detail

NUMBALITE_COMPLEX bool isinf(const complex<T> &z) {
    return nl_detail::is_infinite(z.re) || nl_detail::is_infinite(z.im);
}
NUMBALITE_COMPLEX bool isfinite(const complex<T> &z) {
    return nl_detail::is_finite(z.re) && nl_detail::is_finite(z.im);
}

/* ---- functions ---- */

namespace nl_detail {
/* Returns a * b, except that zero times infinity or NaN is zero. */
NUMBALITE_COMPLEX T times(T a, T b) {
    if (a != a || b != b)
        return a == 0 ? a : b == 0 ? b : a + b;
    return a == 0 || b == 0 ? ::copysign(T(0), a) * ::copysign(T(1), b) : a * b;
}
/* A number slightly below the logarithm of the largest T. */
template <class T> constexpr T largest_log = T(sizeof(T) == 4 ? 88 : 709);
template <class T> constexpr T pi = T(3.14159265358979323846);
template <class T> constexpr T ln2 = T(0.69314718055994530942);
} // namespace nl_detail

NUMBALITE_COMPLEX complex<T> exp(const complex<T> &z) {
    if (z.im == 0)
        return complex<T>(::exp(z.re), z.im);
    if (!nl_detail::is_finite(z.im) && nl_detail::is_infinite(z.re))
        return z.re < 0 ? complex<T>(T(0), ::copysign(T(0), z.im)) : complex<T>(z.re, z.im - z.im);
    if (z.re > nl_detail::largest_log<T>) { /* exp(z.re) may overflow although the product is
                                             * finite */
        T r = ::exp(z.re / 2);
        return complex<T>(r * ::cos(z.im) * r, r * ::sin(z.im) * r);
    }
    T r = ::exp(z.re);
    return complex<T>(r * ::cos(z.im), r * ::sin(z.im));
}
NUMBALITE_COMPLEX complex<T> exp2(const complex<T> &z) {
    return exp(z * nl_detail::ln2<T>);
}
NUMBALITE_COMPLEX complex<T> expm1(const complex<T> &z) {
    T s = ::sin(z.im / 2);
    return complex<T>(::expm1(z.re) * ::cos(z.im) - 2 * s * s, ::exp(z.re) * ::sin(z.im));
}

NUMBALITE_COMPLEX complex<T> log(const complex<T> &z) {
    T x = ::fabs(z.re), y = ::fabs(z.im), r = ::hypot(x, y);
    if (r > T(0.5) && r < T(2)) { /* near 1, log(r) would lose digits */
        T large = x < y ? y : x, small = x < y ? x : y;
        r = T(0.5) * ::log1p((large - 1) * (large + 1) + small * small);
    } else if (!nl_detail::is_infinite(r) || nl_detail::is_infinite(x) ||
               nl_detail::is_infinite(y)) {
        r = ::log(r);
    } else { /* the absolute value of z overflows T */
        r = ::log(::hypot(x / 2, y / 2)) + nl_detail::ln2<T>;
    }
    return complex<T>(r, arg(z));
}
NUMBALITE_COMPLEX complex<T> log10(const complex<T> &z) {
    return log(z) * T(0.4342944819032518);
}
NUMBALITE_COMPLEX complex<T> log2(const complex<T> &z) {
    return log(z) * T(1.4426950408889634);
}
NUMBALITE_COMPLEX complex<T> log1p(const complex<T> &z) {
    T x = z.re + 1;
    return complex<T>(::log(::hypot(x, z.im)), ::atan2(z.im, x));
}

NUMBALITE_COMPLEX complex<T> sqrt(const complex<T> &z) {
    T x = z.re, y = z.im;
    if (x == 0 && y == 0)
        return complex<T>(T(0), y);
    if (nl_detail::is_infinite(y))
        return complex<T>(::fabs(y), y);
    if (nl_detail::is_infinite(x)) {
        if (x > 0)
            return complex<T>(x, y == y ? ::copysign(T(0), y) : y);
        return complex<T>(y == y ? T(0) : y, ::copysign(x, y));
    }
    /* The number is scaled by a power of 4, so that hypot neither overflows nor underflows; the
     * square root is multiplied by the corresponding power of 2. */
    T largest = ::fmax(::fabs(x), ::fabs(y));
    T scale = largest > T(1) ? T(0.25) : T(16), back = largest > T(1) ? T(2) : T(0.25);
    x *= scale;
    y *= scale;
    T root = ::sqrt((::fabs(x) + ::hypot(x, y)) / 2) * back;
    T other = y / scale / (2 * root);
    if (x >= 0)
        return complex<T>(root, other);
    return complex<T>(::fabs(other), ::copysign(root, y));
}

NUMBALITE_COMPLEX complex<T> pow(const complex<T> &z, int n) {
    bool inverse = n < 0;
    unsigned int bits = inverse ? 0u - (unsigned int)n : (unsigned int)n;
    complex<T> result = T(1), power = z;
    for (bool first = true; bits; bits >>= 1) {
        if (bits & 1) {
            result = first ? power : result * power;
            first = false;
        }
        if (bits > 1)
            power = power * power;
    }
    return inverse ? T(1) / result : result;
}

namespace nl_detail {
/* Replaces each part by 1 if it is infinite, else by 0, and keeps its sign. */
NUMBALITE_COMPLEX void reduce_to_infinity_flags(complex<T> &z) {
    z.re = ::copysign(T(is_infinite(z.re)), z.re);
    z.im = ::copysign(T(is_infinite(z.im)), z.im);
}
NUMBALITE_COMPLEX void replace_nan_by_zero(complex<T> &z) {
    z.re = z.re == z.re ? z.re : ::copysign(T(0), z.re);
    z.im = z.im == z.im ? z.im : ::copysign(T(0), z.im);
}
/* Returns a product with the rules of C99: infinity times any nonzero number is infinite, as is a
 * product that overflows. */
NUMBALITE_COMPLEX complex<T> infinite_product(complex<T> a, complex<T> b) {
    complex<T> product = a * b;
    if (product.re == product.re || product.im == product.im)
        return product;
    bool a_is = isinf(a), b_is = isinf(b);
    T infinity = a_is   ? abs(a)
                 : b_is ? abs(b)
                        : ::fmax(::fmax(::fabs(a.re * b.re), ::fabs(a.im * b.im)),
                                 ::fmax(::fabs(a.re * b.im), ::fabs(a.im * b.re)));
    if (!is_infinite(infinity))
        return product;
    if (a_is)
        reduce_to_infinity_flags(a);
    if (b_is)
        reduce_to_infinity_flags(b);
    replace_nan_by_zero(a);
    replace_nan_by_zero(b);
    return complex<T>(infinity * (a.re * b.re - a.im * b.im),
                      infinity * (a.re * b.im + a.im * b.re));
}
} // namespace nl_detail

template <class T, class U, class R = nl_detail::real_sum<T, U>>
NUMBALITE_FUNCTION complex<R> pow(const complex<T> &z, const complex<U> &w) {
    if (w.re == 0 && w.im == 0)
        return complex<R>(R(1));
    if (z.re == 0 && z.im == 0) {
        if (w.re > 0)
            return complex<R>(R(0));
        R nan = R(z.re) / R(z.im);
        return complex<R>(nan, nan);
    }
    /* As in NumPy, integer exponents of moderate size are computed by multiplications. */
    int n = (int)w.re;
    if (w.im == 0 && (U)n == w.re && n > -100 && n < 100)
        return pow(complex<R>(z), n);
    return exp(nl_detail::infinite_product(complex<R>(w), log(complex<R>(z))));
}
template <class T, class U, class R = nl_detail::real_sum<T, U>>
NUMBALITE_FUNCTION complex<R> pow(const complex<T> &z, const U &w) {
    return pow(complex<R>(z), complex<R>((R)w));
}
template <class T, class U, class R = nl_detail::real_sum<T, U>>
NUMBALITE_FUNCTION complex<R> pow(const U &z, const complex<T> &w) {
    return pow(complex<R>((R)z), complex<R>(w));
}

NUMBALITE_COMPLEX complex<T> sinh(const complex<T> &z) {
    T x = z.re, y = z.im;
    if (nl_detail::is_infinite(x) && !nl_detail::is_finite(y))
        return complex<T>(x, y - y);
    if (::fabs(x) > nl_detail::largest_log<T>) { /* as in exp */
        T r = ::exp(::fabs(x) / 2), half = ::copysign(r / 2, x);
        return complex<T>(nl_detail::times(half, ::cos(y)) * r,
                          nl_detail::times(nl_detail::times(r / 2, ::sin(y)), r));
    }
    return complex<T>(nl_detail::times(::sinh(x), ::cos(y)), nl_detail::times(::cosh(x), ::sin(y)));
}
NUMBALITE_COMPLEX complex<T> cosh(const complex<T> &z) {
    T x = z.re, y = z.im;
    if (nl_detail::is_infinite(x) && !nl_detail::is_finite(y))
        return complex<T>(::fabs(x), y - y);
    if (::fabs(x) > nl_detail::largest_log<T>) {
        T r = ::exp(::fabs(x) / 2), half = ::copysign(r / 2, x);
        return complex<T>(r / 2 * ::cos(y) * r,
                          nl_detail::times(nl_detail::times(half, ::sin(y)), r));
    }
    return complex<T>(::cosh(x) * ::cos(y), nl_detail::times(::sinh(x), ::sin(y)));
}
/* Uses Kahan's formula, without a quotient of two large numbers. */
NUMBALITE_COMPLEX complex<T> tanh(const complex<T> &z) {
    T x = z.re, y = z.im;
    if (::fabs(x) > T(sizeof(T) == 4 ? 11 : 22)) {
        T e = ::exp(-2 * ::fabs(x));
        if (!nl_detail::is_finite(y))
            return nl_detail::is_infinite(x) ? complex<T>(::copysign(T(1), x), ::copysign(T(0), y))
                                             : complex<T>(y - y, y - y);
        return complex<T>(::copysign(T(1), x), 4 * ::sin(y) * ::cos(y) * e);
    }
    if (x == 0 && !nl_detail::is_finite(y))
        return complex<T>(x, y - y);
    if (y == 0)
        return complex<T>(::tanh(x), y);
    T t = ::tan(y), s = ::sinh(x);
    T beta = 1 + t * t, rho = ::sqrt(1 + s * s);
    if (nl_detail::is_infinite(t))
        return complex<T>(rho / s, 1 / t);
    T scale = 1 / (1 + beta * s * s);
    return complex<T>(beta * rho * s * scale, t * scale);
}

/* The inverse functions use Kahan's formulas. Returns whether a number is large: infinite, or so
 * large that adding 1 to its square has no effect. */
namespace nl_detail {
NUMBALITE_COMPLEX bool is_large_complex(const complex<T> &z) {
    T limit = T(sizeof(T) == 4 ? 1e18 : 1e153);
    return ::fabs(z.re) > limit || ::fabs(z.im) > limit;
}
/* Returns the logarithm of twice the absolute value of a large number. */
NUMBALITE_COMPLEX T log_of_twice_abs(const complex<T> &z) {
    return ::log(::hypot(z.re / 2, z.im / 2)) + 2 * ln2<T>;
}
} // namespace nl_detail

NUMBALITE_COMPLEX complex<T> asinh(const complex<T> &z) {
    if (nl_detail::is_large_complex(z))
        return complex<T>(::copysign(nl_detail::log_of_twice_abs(z), z.re),
                          ::atan2(z.im, ::fabs(z.re)));
    if (z.im == 0)
        return complex<T>(::asinh(z.re), z.im);
    complex<T> a = sqrt(complex<T>(1 + z.im, -z.re)), b = sqrt(complex<T>(1 - z.im, z.re));
    return complex<T>(::asinh(a.re * b.im - b.re * a.im), ::atan2(z.im, a.re * b.re - a.im * b.im));
}
NUMBALITE_COMPLEX complex<T> acosh(const complex<T> &z) {
    if (nl_detail::is_large_complex(z))
        return complex<T>(nl_detail::log_of_twice_abs(z), ::atan2(z.im, z.re));
    if (z.re == 0 && z.im != z.im)
        return complex<T>(z.im, nl_detail::pi<T> / 2);
    complex<T> a = sqrt(complex<T>(z.re - 1, z.im)), b = sqrt(complex<T>(z.re + 1, z.im));
    return complex<T>(::asinh(a.re * b.re + a.im * b.im), 2 * ::atan2(a.im, b.re));
}
NUMBALITE_COMPLEX complex<T> acos(const complex<T> &z) {
    if (nl_detail::is_large_complex(z))
        return complex<T>(::atan2(::fabs(z.im), z.re),
                          ::copysign(nl_detail::log_of_twice_abs(z), -z.im));
    if (z.re == 0 && z.im != z.im)
        return complex<T>(nl_detail::pi<T> / 2, z.im);
    complex<T> a = sqrt(complex<T>(1 - z.re, -z.im)), b = sqrt(complex<T>(1 + z.re, z.im));
    return complex<T>(2 * ::atan2(a.re, b.re), ::asinh(b.re * a.im - b.im * a.re));
}
NUMBALITE_COMPLEX complex<T> atanh(const complex<T> &z) {
    T x = ::fabs(z.re), y = ::fabs(z.im), re, im;
    if (nl_detail::is_large_complex(z)) {
        T half = ::hypot(x / 2, y / 2);
        re = nl_detail::is_infinite(half) ? T(0) : x / 4 / half / half;
        im = half == half && y == y ? nl_detail::pi<T> / 2 : x + y;
    } else if (x == 1 && y < T(sizeof(T) == 4 ? 1e-19 : 1e-154)) {
        re = -::log(::sqrt(y) / ::sqrt(::hypot(y, T(2))));
        im = y == 0 ? y : ::atan2(T(2), -y) / 2;
    } else {
        re = x == 0 ? x : ::log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4;
        im = ::atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2;
    }
    return complex<T>(::copysign(re, z.re), ::copysign(im, z.im));
}

/* f(z) = -i g(i z) */
#define NUMBALITE_COMPLEX_TURNED(f, g) \
    NUMBALITE_COMPLEX complex<T> f(const complex<T> &z) { \
        complex<T> w = g(complex<T>(-z.im, z.re)); \
        return complex<T>(w.im, -w.re); \
    }
NUMBALITE_COMPLEX_TURNED(sin, sinh)
NUMBALITE_COMPLEX_TURNED(tan, tanh)
NUMBALITE_COMPLEX_TURNED(asin, asinh)
NUMBALITE_COMPLEX_TURNED(atan, atanh)
#undef NUMBALITE_COMPLEX_TURNED
NUMBALITE_COMPLEX complex<T> cos(const complex<T> &z) {
    return cosh(complex<T>(-z.im, z.re));
}
#undef NUMBALITE_COMPLEX

} // namespace numbalite

#endif
