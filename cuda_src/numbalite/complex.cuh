/* complex: complex numbers with NumPy's layout (two parts, aligned as one part) and C++'s rules.
 *
 * Mixed arithmetic converts as it does for real numbers: complex64 * double is complex128, and the
 * result may be stored into a complex64 without a cast. A real operand is not made complex first,
 * so that infinity times z has no NaN that is not in it. Division and the functions avoid
 * intermediate overflow; infinities and NaNs go through sqrt, exp, log, abs as in C99, elsewhere as
 * the formulas have it. */
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

typedef complex<float> complex64;
typedef complex<double> complex128;

namespace nl_detail {
/* U, if it is a real number. */
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
/* The quotient of the smaller part by the larger one scales the divisor (Smith). */
NUMBALITE_BOTH complex<R> operator/(const complex<T> &a, const complex<U> &b) {
    R x = (R)a.re, y = (R)a.im, c = (R)b.re, d = (R)b.im;
    R c_abs = c < 0 ? -c : c, d_abs = d < 0 ? -d : d;
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

NUMBALITE_COMPLEX complex<T> exp(const complex<T> &z) {
    if (z.im == 0)
        return complex<T>(::exp(z.re), z.im);
    if (!nl_detail::is_finite(z.im) && nl_detail::is_infinite(z.re))
        return z.re < 0 ? complex<T>(T(0), T(0)) : complex<T>(z.re, z.im - z.im);
    T r = ::exp(z.re);
    return complex<T>(r * ::cos(z.im), r * ::sin(z.im));
}

NUMBALITE_COMPLEX complex<T> log(const complex<T> &z) {
    T x = ::fabs(z.re), y = ::fabs(z.im), r = ::hypot(x, y);
    if (r > T(0.5) && r < T(2)) { /* near 1, log(r) would lose digits */
        T large = x < y ? y : x, small = x < y ? x : y;
        r = T(0.5) * ::log1p((large - 1) * (large + 1) + small * small);
    } else if (!nl_detail::is_infinite(r) || nl_detail::is_infinite(x) ||
               nl_detail::is_infinite(y)) {
        r = ::log(r);
    } else { /* the absolute value is too large for a T */
        r = ::log(::hypot(x / 2, y / 2)) + T(0.6931471805599453);
    }
    return complex<T>(r, arg(z));
}
NUMBALITE_COMPLEX complex<T> log10(const complex<T> &z) {
    return log(z) * T(0.4342944819032518);
}
NUMBALITE_COMPLEX complex<T> log2(const complex<T> &z) {
    return log(z) * T(1.4426950408889634);
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
    /* A quarter of the number has half of the root, and no overflow; small ones are made larger. */
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
    for (; bits; bits >>= 1) {
        if (bits & 1)
            result = result * power;
        if (bits > 1)
            power = power * power;
    }
    return inverse ? T(1) / result : result;
}
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
    /* As NumPy: whole exponents of moderate size are exact products. */
    int n = (int)w.re;
    if (w.im == 0 && (U)n == w.re && n > -100 && n < 100)
        return pow(complex<R>(z), n);
    return exp(complex<R>(w) * log(complex<R>(z)));
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
    return complex<T>(::sinh(z.re) * ::cos(z.im), ::cosh(z.re) * ::sin(z.im));
}
NUMBALITE_COMPLEX complex<T> cosh(const complex<T> &z) {
    return complex<T>(::cosh(z.re) * ::cos(z.im), ::sinh(z.re) * ::sin(z.im));
}
/* Kahan's form: no quotient of two large numbers. */
NUMBALITE_COMPLEX complex<T> tanh(const complex<T> &z) {
    if (::fabs(z.re) > T(sizeof(T) == 4 ? 11 : 22)) {
        T e = ::exp(-2 * ::fabs(z.re));
        return complex<T>(::copysign(T(1), z.re), 4 * ::sin(z.im) * ::cos(z.im) * e);
    }
    T t = ::tan(z.im), s = ::sinh(z.re);
    T beta = 1 + t * t, rho = ::sqrt(1 + s * s);
    if (nl_detail::is_infinite(t))
        return complex<T>(rho / s, 1 / t);
    T scale = 1 / (1 + beta * s * s);
    return complex<T>(beta * rho * s * scale, t * scale);
}
NUMBALITE_COMPLEX complex<T> sin(const complex<T> &z) {
    return complex<T>(::sin(z.re) * ::cosh(z.im), ::cos(z.re) * ::sinh(z.im));
}
NUMBALITE_COMPLEX complex<T> cos(const complex<T> &z) {
    return complex<T>(::cos(z.re) * ::cosh(z.im), -(::sin(z.re) * ::sinh(z.im)));
}
NUMBALITE_COMPLEX complex<T> tan(const complex<T> &z) {
    complex<T> w = tanh(complex<T>(-z.im, z.re));
    return complex<T>(w.im, -w.re);
}
#undef NUMBALITE_COMPLEX

} // namespace numbalite

#endif
