/* sim/math_functions: implements those of CUDA's mathematical functions that the C library lacks.
 *
 * The float versions compute in double and round once, except for inexpensive functions. */
#ifndef NUMBALITE_SIM_MATH_FUNCTIONS_H
#define NUMBALITE_SIM_MATH_FUNCTIONS_H

namespace numbalite_sim {
constexpr double pi = 3.14159265358979323846, sqrt_two = 1.41421356237309504880,
                 sqrt_half = 0.70710678118654752440, two_over_sqrt_pi = 1.12837916709551257390;
}

#define NUMBALITE_SIM_FLOAT1(name) \
    inline float name##f(float x) { \
        return static_cast<float>(name(static_cast<double>(x))); \
    } \
    NUMBALITE_SIM_OVERLOAD(name)

inline double rsqrt(double x) {
    return 1.0 / sqrt(x);
}
NUMBALITE_SIM_INLINE float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
NUMBALITE_SIM_OVERLOAD(rsqrt)
inline double rcbrt(double x) {
    return 1.0 / cbrt(x);
}
NUMBALITE_SIM_FLOAT1(rcbrt)
inline double exp10(double x) {
    /* The result is exact for powers that are representable. */
    return x == rint(x) && fabs(x) < 400 ? pow(10.0, x) : exp2(x * 3.3219280948873623479);
}
NUMBALITE_SIM_FLOAT1(exp10)

NUMBALITE_SIM_INLINE void sincos(double x, double *s, double *c) {
    *s = sin(x);
    *c = cos(x);
}
NUMBALITE_SIM_INLINE void sincosf(float x, float *s, float *c) {
    *s = sinf(x);
    *c = cosf(x);
}
NUMBALITE_SIM_INLINE void sincos(float x, float *s, float *c) {
    sincosf(x, s, c);
}

/* Computes sin and cos of pi * x; the argument is reduced exactly, to at most a quarter turn. */
inline void sincospi(double x, double *s, double *c) {
    if (!(fabs(x) < 9007199254740992.0)) { /* even integers, infinities, NaN */
        *s =
            fabs(x) < __builtin_inff() ? copysign(0.0, x) : static_cast<double>(__builtin_nanf(""));
        *c = fabs(x) < __builtin_inff() ? 1.0 : static_cast<double>(__builtin_nanf(""));
        return;
    }
    double halves = rint(2 * x);
    double angle = (x - 0.5 * halves) * numbalite_sim::pi;
    double sine = sin(angle), cosine = cos(angle);
    switch (static_cast<long long>(halves) & 3) {
    case 0:
        *s = sine, *c = cosine;
        break;
    case 1:
        *s = cosine, *c = -sine;
        break;
    case 2:
        *s = -sine, *c = -cosine;
        break;
    default:
        *s = -cosine, *c = sine;
        break;
    }
    if (x == rint(x))
        *s = copysign(0.0, x);
    if (*c == 0)
        *c = 0;
}
inline double sinpi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
inline double cospi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return c;
}
NUMBALITE_SIM_FLOAT1(sinpi)
NUMBALITE_SIM_FLOAT1(cospi)
inline void sincospif(float x, float *s, float *c) {
    *s = sinpif(x);
    *c = cospif(x);
}
NUMBALITE_SIM_INLINE void sincospi(float x, float *s, float *c) {
    sincospif(x, s, c);
}

/* ---- Norms, scaled so that squares neither overflow nor underflow ---- */

inline double norm(int n, const double *v) {
    double largest = 0, sum = 0;
    bool infinite = false;
    for (int i = 0; i < n; ++i) {
        infinite |= isinf(v[i]);
        largest = isnan(v[i]) ? v[i] : fmax(largest, fabs(v[i]));
    }
    if (infinite)
        return __builtin_inff();
    if (largest == 0)
        return 0;
    for (int i = 0; i < n; ++i) {
        double scaled = v[i] / largest;
        sum += scaled * scaled;
    }
    return largest * sqrt(sum);
}
inline double norm3d(double a, double b, double c) {
    double v[3] = {a, b, c};
    return norm(3, v);
}
inline double norm4d(double a, double b, double c, double d) {
    double v[4] = {a, b, c, d};
    return norm(4, v);
}
inline double rhypot(double a, double b) {
    return 1.0 / hypot(a, b);
}
inline double rnorm3d(double a, double b, double c) {
    return 1.0 / norm3d(a, b, c);
}
inline double rnorm4d(double a, double b, double c, double d) {
    return 1.0 / norm4d(a, b, c, d);
}
inline double rnorm(int n, const double *v) {
    return 1.0 / norm(n, v);
}

inline float normf(int n, const float *v) {
    double sum = 0;
    bool infinite = false;
    for (int i = 0; i < n; ++i) {
        infinite |= isinf(v[i]);
        sum += static_cast<double>(v[i]) * v[i];
    }
    return infinite ? __builtin_inff() : static_cast<float>(sqrt(sum));
}
inline float rnormf(int n, const float *v) {
    return 1.0f / normf(n, v);
}
inline float norm3df(float a, float b, float c) {
    float v[3] = {a, b, c};
    return normf(3, v);
}
inline float norm4df(float a, float b, float c, float d) {
    float v[4] = {a, b, c, d};
    return normf(4, v);
}
inline float rhypotf(float a, float b) {
    return 1.0f / hypotf(a, b);
}
inline float rnorm3df(float a, float b, float c) {
    return 1.0f / norm3df(a, b, c);
}
inline float rnorm4df(float a, float b, float c, float d) {
    return 1.0f / norm4df(a, b, c, d);
}
/* As in CUDA, norm3d, rhypot and similar functions have no overloads for float. */

/* ---- The normal distribution, and functions related to the error function ---- */

inline double normcdf(double x) {
    return 0.5 * erfc(-x * numbalite_sim::sqrt_half);
}
NUMBALITE_SIM_FLOAT1(normcdf)

/* Computes exp(x*x) * erfc(x): as a product as long as the product does not overflow, then by the
 * continued fraction 1/sqrt(pi) / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))). */
inline double erfcx(double x) {
    if (x < -27)
        return __builtin_inf();
    if (x < 8) {
        double square = x * x, rest = fma(x, x, -square);
        return exp(square) * (1 + rest) * erfc(x);
    }
    if (x > 1e8)
        return 0.5 * numbalite_sim::two_over_sqrt_pi / x;
    double fraction = x;
    for (int k = 60; k >= 1; --k)
        fraction = x + 0.5 * k / fraction;
    return 0.5 * numbalite_sim::two_over_sqrt_pi / fraction;
}
NUMBALITE_SIM_FLOAT1(erfcx)

/* Computes the inverse of erfc by Newton's method on the logarithm of erfc, started from the
 * leading terms of the asymptotic expansion; the method converges from either side because log erfc
 * is concave. */
inline double erfcinv(double y) {
    if (!(y >= 0 && y <= 2))
        return __builtin_nanf("");
    if (y == 0)
        return __builtin_inff();
    if (y == 2)
        return -static_cast<double>(__builtin_inff());
    if (y > 1) {
        double x = erfcinv(2 - y);
        return -x;
    }
    double target = log(y), x = 0;
    if (y < 0.5) {
        double t = sqrt(-target);
        x = t - log(t * 1.7724538509055160273) / (2 * t);
        x = x > 0 ? x : 0;
    }
    for (int i = 0; i < 60; ++i) {
        /* uses log erfc(x) = log erfcx(x) - x*x, whose derivative is -2/sqrt(pi) / erfcx(x) */
        double scaled = erfcx(x);
        double error = x > 1 ? log(scaled) - x * x - target : log(erfc(x)) - target;
        double step = error * scaled / numbalite_sim::two_over_sqrt_pi;
        x += step;
        if (fabs(step) <= 1e-16 * fabs(x))
            break;
    }
    return x;
}
inline double erfinv(double y) {
    if (fabs(y) > 0.5)
        return y > 0 ? erfcinv(1 - y) : -erfcinv(1 + y);
    double x = y / numbalite_sim::two_over_sqrt_pi * 2 * 0.5;
    for (int i = 0; i < 60; ++i) {
        double step = (erf(x) - y) / (numbalite_sim::two_over_sqrt_pi * exp(-x * x));
        x -= step;
        if (fabs(step) <= 1e-16 * fabs(x))
            break;
    }
    return y == 0 ? y : x;
}
inline double normcdfinv(double p) {
    return -numbalite_sim::sqrt_two * erfcinv(2 * p);
}
NUMBALITE_SIM_FLOAT1(erfcinv)
NUMBALITE_SIM_FLOAT1(erfinv)
NUMBALITE_SIM_FLOAT1(normcdfinv)

/* ---- Bessel functions ---- */

namespace numbalite_sim {
/* Computes the modified Bessel function of the first kind: by the power series, which has no
 * cancellation, and for large x by the asymptotic expansion. */
inline double bessel_i(int order, double x) {
    double magnitude = fabs(x), result;
    if (magnitude <= 40) {
        double quarter = 0.25 * x * x, term = order ? 0.5 * magnitude : 1.0;
        result = term;
        for (int k = 1; k < 200 && term > 1e-17 * result; ++k) {
            term *= quarter / (static_cast<double>(k) * (k + order));
            result += term;
        }
    } else {
        double term = 1, sum = 1, mu = 4.0 * order * order;
        for (int k = 1; k < 30; ++k) {
            double odd = 2.0 * k - 1;
            term *= -(mu - odd * odd) / (8.0 * k * magnitude);
            sum += term;
            if (fabs(term) < 1e-17)
                break;
        }
        /* multiplied in two steps, because exp(x) alone overflows earlier */
        double half = exp(0.5 * magnitude);
        result = half * (half / sqrt(2 * numbalite_sim::pi * magnitude)) * sum;
    }
    return order && x < 0 ? -result : result;
}
} // namespace numbalite_sim

inline double cyl_bessel_i0(double x) {
    return numbalite_sim::bessel_i(0, x);
}
inline double cyl_bessel_i1(double x) {
    return numbalite_sim::bessel_i(1, x);
}
NUMBALITE_SIM_FLOAT1(cyl_bessel_i0)
NUMBALITE_SIM_FLOAT1(cyl_bessel_i1)
NUMBALITE_SIM_INLINE float jn(int n, float x) {
    return jnf(n, x);
}
NUMBALITE_SIM_INLINE float yn(int n, float x) {
    return ynf(n, x);
}

#undef NUMBALITE_SIM_FLOAT1

/* ---- Defines the fast functions, which are as accurate as the normal functions on the simulator.
 * ---- */

#define NUMBALITE_SIM_FAST(name) \
    NUMBALITE_SIM_INLINE float __##name(float x) { \
        return name(x); \
    }
NUMBALITE_SIM_FAST(sinf)
NUMBALITE_SIM_FAST(cosf)
NUMBALITE_SIM_FAST(tanf)
NUMBALITE_SIM_FAST(tanhf)
NUMBALITE_SIM_FAST(expf)
NUMBALITE_SIM_FAST(exp10f)
NUMBALITE_SIM_FAST(logf)
NUMBALITE_SIM_FAST(log2f)
NUMBALITE_SIM_FAST(log10f)
#undef NUMBALITE_SIM_FAST
NUMBALITE_SIM_INLINE void __sincosf(float x, float *s, float *c) {
    sincosf(x, s, c);
}
NUMBALITE_SIM_INLINE float __powf(float x, float y) {
    return powf(x, y);
}
NUMBALITE_SIM_INLINE float __fdividef(float a, float b) {
    /* As CUDA documents, returns 0 if the divisor is larger than 2**126, and NaN for infinity over
     * infinity. */
    float size = fabsf(b);
    return size > 8.507059173023462e37f && size < __builtin_inff()
               ? (isinf(a) ? __builtin_nanf("") : a * 0.0f)
               : a / b;
}
NUMBALITE_SIM_INLINE float __saturatef(float x) {
    return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; /* NaN returns 0 */
}

#endif
