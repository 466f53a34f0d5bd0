/* half: float16, which is CUDA's __half, and the mathematical functions that generic code calls.
 *
 * __half converts to every arithmetic type, so that `sin(h)` alone would be ambiguous. Those of
 * CUDA's own half functions that exist are used, the others go through float. */
#ifndef NUMBALITE_HALF_CUH
#define NUMBALITE_HALF_CUH

#include "numbalite.cuh"

#include <cuda_fp16.h>

namespace numbalite {

typedef __half float16;

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

} // namespace numbalite

#endif
