/* half: float16, which is CUDA's __half, and the functions of halves that generic code calls.
 *
 * __half converts to every arithmetic type, so without this header `sin(h)` would be ambiguous.
 * CUDA's own half functions are used if they exist; other functions convert to float. Without this
 * header, `h * 2` is also ambiguous; with this header, h * 2 is a half, h * 2.0f a float, and h *
 * 2.0 a double. */
#ifndef NUMBALITE_HALF_CUH
#define NUMBALITE_HALF_CUH

#include "numbalite.cuh"

#include <cuda_fp16.h>

namespace numbalite {

typedef __half float16;
typedef __half nl_float16;

#define NUMBALITE_HALF(f, expression) \
    NUMBALITE_FUNCTION float16 f(float16 x) { \
        return expression; \
    }
#define NUMBALITE_HALF_BY_FLOAT(f) NUMBALITE_HALF(f, __float2half(::f(__half2float(x))))
NUMBALITE_HALF(sqrt, hsqrt(x))
NUMBALITE_HALF(rsqrt, hrsqrt(x))
NUMBALITE_HALF(ceil, hceil(x))
NUMBALITE_HALF(floor, hfloor(x))
NUMBALITE_HALF(trunc, htrunc(x))
NUMBALITE_HALF(rint, hrint(x))
NUMBALITE_HALF(abs, __habs(x))
NUMBALITE_HALF(fabs, __habs(x))
NUMBALITE_HALF_BY_FLOAT(sin)
NUMBALITE_HALF_BY_FLOAT(cos)
NUMBALITE_HALF_BY_FLOAT(tan)
NUMBALITE_HALF_BY_FLOAT(asin)
NUMBALITE_HALF_BY_FLOAT(acos)
NUMBALITE_HALF_BY_FLOAT(atan)
NUMBALITE_HALF_BY_FLOAT(sinh)
NUMBALITE_HALF_BY_FLOAT(cosh)
NUMBALITE_HALF_BY_FLOAT(tanh)
NUMBALITE_HALF_BY_FLOAT(exp)
NUMBALITE_HALF_BY_FLOAT(exp2)
NUMBALITE_HALF_BY_FLOAT(expm1)
NUMBALITE_HALF_BY_FLOAT(log)
NUMBALITE_HALF_BY_FLOAT(log2)
NUMBALITE_HALF_BY_FLOAT(log10)
NUMBALITE_HALF_BY_FLOAT(log1p)
NUMBALITE_HALF_BY_FLOAT(cbrt)
NUMBALITE_HALF_BY_FLOAT(erf)
NUMBALITE_HALF_BY_FLOAT(round)
#undef NUMBALITE_HALF
#undef NUMBALITE_HALF_BY_FLOAT

NUMBALITE_FUNCTION float16 pow(float16 x, float16 y) {
    return __float2half(::pow(__half2float(x), __half2float(y)));
}
NUMBALITE_FUNCTION float16 fma(float16 x, float16 y, float16 z) {
    return __hfma(x, y, z);
}
NUMBALITE_FUNCTION float16 min(float16 x, float16 y) {
    return __hmin(x, y);
}
NUMBALITE_FUNCTION float16 max(float16 x, float16 y) {
    return __hmax(x, y);
}
NUMBALITE_FUNCTION bool isnan(float16 x) {
    return __hisnan(x);
}
NUMBALITE_FUNCTION bool isinf(float16 x) {
    return __hisinf(x) != 0;
}

/* The result type of an operation on a number and a half, and the type in which they are
 * compared. */
namespace nl_detail {
template <class T> struct beside_half {};
#define NUMBALITE_BESIDE(T, by, as, compared) \
    template <> struct beside_half<T> { \
        typedef as type; \
        typedef compared common; \
        static NUMBALITE_FUNCTION as of(T x) { return (as)(by)x; } \
    };
NUMBALITE_BESIDE(float, float, float, float)
NUMBALITE_BESIDE(double, double, double, double)
NUMBALITE_BESIDE(bool, int, float16, float)
NUMBALITE_BESIDE(char, int, float16, float)
NUMBALITE_BESIDE(signed char, int, float16, float)
NUMBALITE_BESIDE(unsigned char, int, float16, float)
NUMBALITE_BESIDE(short, int, float16, float)
NUMBALITE_BESIDE(unsigned short, int, float16, float)
NUMBALITE_BESIDE(int, int, float16, float)
NUMBALITE_BESIDE(unsigned int, unsigned int, float16, float)
NUMBALITE_BESIDE(long, long long, float16, float)
NUMBALITE_BESIDE(unsigned long, unsigned long long, float16, float)
NUMBALITE_BESIDE(long long, long long, float16, float)
NUMBALITE_BESIDE(unsigned long long, unsigned long long, float16, float)
#undef NUMBALITE_BESIDE
} // namespace nl_detail

#define NUMBALITE_HALF_ARITHMETIC(sign) \
    template <class T, class R = typename nl_detail::beside_half<T>::type> \
    NUMBALITE_FUNCTION R operator sign(const float16 &a, const T &b) { \
        return (R)a sign nl_detail::beside_half<T>::of(b); \
    } \
    template <class T, class R = typename nl_detail::beside_half<T>::type> \
    NUMBALITE_FUNCTION R operator sign(const T &a, const float16 &b) { \
        return nl_detail::beside_half<T>::of(a) sign(R) b; \
    }
#define NUMBALITE_HALF_COMPARISON(sign) \
    template <class T, class R = typename nl_detail::beside_half<T>::common> \
    NUMBALITE_FUNCTION bool operator sign(const float16 &a, const T &b) { \
        return (R)a sign(R) b; \
    } \
    template <class T, class R = typename nl_detail::beside_half<T>::common> \
    NUMBALITE_FUNCTION bool operator sign(const T &a, const float16 &b) { \
        return (R)a sign(R) b; \
    }
NUMBALITE_HALF_ARITHMETIC(+)
NUMBALITE_HALF_ARITHMETIC(-)
NUMBALITE_HALF_ARITHMETIC(*)
NUMBALITE_HALF_ARITHMETIC(/)
NUMBALITE_HALF_COMPARISON(==)
NUMBALITE_HALF_COMPARISON(!=)
NUMBALITE_HALF_COMPARISON(<)
NUMBALITE_HALF_COMPARISON(<=)
NUMBALITE_HALF_COMPARISON(>)
NUMBALITE_HALF_COMPARISON(>=)
#undef NUMBALITE_HALF_ARITHMETIC
#undef NUMBALITE_HALF_COMPARISON

} // namespace numbalite

#endif
