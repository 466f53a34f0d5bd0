/* dualcomplex: complex numbers whose parts are duals, for the derivatives of complex functions.
 *
 *     `nl_complex_seed<D>(z, i)`: z; its real part has direction i, its imaginary part i + 1.
 *     `nl_complex_tangent<D>(z, t)`: z with the derivative t; D has one direction.
 *     `nl_gradient(g, by)`: the real part of g times a derivative of a result.
 *
 * A function is differentiated as one of the two parts of its argument, so it need not be
 * holomorphic: conj(z), abs(z) and z.real() have derivatives. The functions below are holomorphic,
 * and multiply by their complex derivative. The templates of complex.cuh would be wrong for duals:
 * their branches for z.imag() == 0 would lose the derivative with respect to the imaginary part. */
#ifndef NUMBALITE_DUALCOMPLEX_CUH
#define NUMBALITE_DUALCOMPLEX_CUH

#include "numbalite/complex.cuh"
#include "numbalite/dual.cuh"

namespace numbalite {

#define NUMBALITE_TN template <class T, int N> NUMBALITE_FUNCTION

namespace nl_detail {
template <class T, int N> struct only_real<nl_dual<T, N>, true> { typedef nl_dual<T, N> type; };

NUMBALITE_TN complex<T> value_of(const complex<nl_dual<T, N>> &z) {
    return complex<T>(z.re.value, z.im.value);
}
NUMBALITE_TN complex<T> tangent_of(const complex<nl_dual<T, N>> &z, int direction) {
    return complex<T>(z.re.tangent[direction], z.im.tangent[direction]);
}
/* Adds `slope` times the derivatives of z to those of `sum`; a derivative that is 0 adds 0, even if
 * the slope is infinite or NaN. */
template <class T, class U, int N>
NUMBALITE_FUNCTION void add(complex<nl_dual<T, N>> &sum, const complex<nl_dual<U, N>> &z,
                            const complex<T> &slope) {
    for (int i = 0; i < N; ++i) {
        complex<T> t(tangent_of(z, i));
        if (is_zero(t.re) && is_zero(t.im))
            continue;
        t = slope * t;
        sum.re.tangent[i] = sum.re.tangent[i] + t.re;
        sum.im.tangent[i] = sum.im.tangent[i] + t.im;
    }
}
} // namespace nl_detail

template <class D, class T>
NUMBALITE_FUNCTION complex<D> nl_complex_seed(const complex<T> &z, int direction) {
    return complex<D>(nl_seed<D>(z.re, direction), nl_seed<D>(z.im, direction + 1));
}
template <class D, class T, class U>
NUMBALITE_FUNCTION complex<D> nl_complex_tangent(const complex<T> &z, const complex<U> &tangent) {
    typedef typename D::value_type V;
    return complex<D>(D(V(z.re), V(tangent.re)), D(V(z.im), V(tangent.im)));
}

/* Returns the real part of g * by; `by` is the derivative of a result with respect to the real or
 * imaginary part of an argument. */
template <class T> NUMBALITE_FUNCTION T nl_gradient(const T &g, const T &by) {
    return g * by;
}
template <class T> NUMBALITE_FUNCTION T nl_gradient(const complex<T> &g, const complex<T> &by) {
    return g.re * by.re - g.im * by.im;
}

/* Defines f for a complex dual. `slope` is the derivative of f, an expression of x and y = f(x). */
#define NUMBALITE_ANALYTIC(f, slope) \
    NUMBALITE_TN complex<nl_dual<T, N>> f(const complex<nl_dual<T, N>> &z) { \
        const complex<T> x = nl_detail::value_of(z), y = f(x); \
        complex<nl_dual<T, N>> result(y); \
        nl_detail::add(result, z, complex<T>(slope)); \
        return result; \
    }
NUMBALITE_ANALYTIC(exp, y)
NUMBALITE_ANALYTIC(exp2, y *T(nl_detail::LN2))
NUMBALITE_ANALYTIC(expm1, y + T(1))
NUMBALITE_ANALYTIC(log, T(1) / x)
NUMBALITE_ANALYTIC(log2, T(1) / (x * T(nl_detail::LN2)))
NUMBALITE_ANALYTIC(log10, T(1) / (x * T(nl_detail::LN10)))
NUMBALITE_ANALYTIC(log1p, T(1) / (x + T(1)))
NUMBALITE_ANALYTIC(sqrt, T(0.5) / y)
NUMBALITE_ANALYTIC(sinh, cosh(x))
NUMBALITE_ANALYTIC(cosh, sinh(x))
NUMBALITE_ANALYTIC(tanh, T(1) - y * y)
NUMBALITE_ANALYTIC(sin, cos(x))
NUMBALITE_ANALYTIC(cos, -sin(x))
NUMBALITE_ANALYTIC(tan, T(1) + y * y)
/* The derivatives of asinh and acosh contain products of two square roots, which have the branch
 * cuts of the functions. */
NUMBALITE_ANALYTIC(asinh, T(1) / (sqrt(complex<T>(T(1) + x.im, -x.re)) *
                                  sqrt(complex<T>(T(1) - x.im, x.re))))
NUMBALITE_ANALYTIC(acosh, T(1) / (sqrt(x - T(1)) * sqrt(x + T(1))))
NUMBALITE_ANALYTIC(atanh, T(1) / (T(1) - x * x))
NUMBALITE_ANALYTIC(asin, T(1) / (sqrt(T(1) - x) * sqrt(T(1) + x)))
NUMBALITE_ANALYTIC(acos, T(-1) / (sqrt(T(1) - x) * sqrt(T(1) + x)))
NUMBALITE_ANALYTIC(atan, T(1) / (T(1) + x * x))
#undef NUMBALITE_ANALYTIC

NUMBALITE_TN nl_dual<T, N> abs(const complex<nl_dual<T, N>> &z) {
    return hypot(z.re, z.im);
}
NUMBALITE_TN nl_dual<T, N> arg(const complex<nl_dual<T, N>> &z) {
    return atan2(z.im, z.re);
}
NUMBALITE_TN complex<nl_dual<T, N>> polar(nl_dual<T, N> r, nl_dual<T, N> angle) {
    return complex<nl_dual<T, N>>(r * cos(angle), r * sin(angle));
}

/* The derivative with respect to the exponent is log(z) * z^w. The term of the exponent is omitted
 * if the derivative of the exponent is 0. */
template <class T, class U, int N, class R = typename nl_detail::number_sum<T, U>::type>
NUMBALITE_FUNCTION complex<nl_dual<R, N>> pow(const complex<nl_dual<T, N>> &z,
                                              const complex<nl_dual<U, N>> &w) {
    const complex<R> x(nl_detail::value_of(z)), p(nl_detail::value_of(w)), y = pow(x, p);
    complex<nl_dual<R, N>> result(y);
    if (!(p == R(0)))
        nl_detail::add(result, z, p * pow(x, p - R(1)));
    nl_detail::add(result, w, x == R(0) ? complex<R>(R(0)) : y * log(x));
    return result;
}
template <class T, class U, int N, class R = typename nl_detail::number_sum<T, U>::type>
NUMBALITE_FUNCTION complex<nl_dual<R, N>> pow(const complex<T> &z,
                                              const complex<nl_dual<U, N>> &w) {
    return pow(complex<nl_dual<T, N>>(z), w);
}
template <class T, class U, int N, class R = typename nl_detail::number_sum<T, U>::type>
NUMBALITE_FUNCTION complex<nl_dual<R, N>> pow(const complex<nl_dual<T, N>> &z,
                                              const complex<U> &w) {
    return pow(z, complex<nl_dual<U, N>>(w));
}

/* ---- NumPy's functions (numpy.cuh) ---- */

NUMBALITE_TN complex<nl_dual<T, N>> np_reciprocal(const complex<nl_dual<T, N>> &z) {
    return nl_dual<T, N>(T(1)) / z;
}
NUMBALITE_TN complex<nl_dual<T, N>> np_rint(const complex<nl_dual<T, N>> &z) {
    return complex<nl_dual<T, N>>(rint(z.re), rint(z.im));
}
#undef NUMBALITE_TN

} // namespace numbalite

#endif
