/* math: functions of <cmath> for integers and mixed types, which are ambiguous with NVRTC.
 *
 *     `sqrt(n)`, `sin(n)`... of an integer: the integer is converted to double.
 *     `max(x, 0)`, `min(i, n)` of two types: the result has the type of x + y.
 *     `pow(x, 0.5)`, `hypot(x, 1)`, `fmod(x, n)`... of two types: integers are converted to double.
 *
 * If CUDA has a function for exactly these types, it is used; NVRTC 12.0 and 12.1 fail to link
 * their pow(x, n) with an integer n. Also defines the constants of <math.h>. */
#ifndef NUMBALITE_MATH_CUH
#define NUMBALITE_MATH_CUH

#include "numbalite/math_base.cuh"

namespace numbalite {

NUMBALITE_MATH_INTEGER(sqrt)
NUMBALITE_MATH_INTEGER(rsqrt)
NUMBALITE_MATH_INTEGER(cbrt)
NUMBALITE_MATH_INTEGER(sin)
NUMBALITE_MATH_INTEGER(cos)
NUMBALITE_MATH_INTEGER(tan)
NUMBALITE_MATH_INTEGER(asin)
NUMBALITE_MATH_INTEGER(acos)
NUMBALITE_MATH_INTEGER(atan)
NUMBALITE_MATH_INTEGER(sinh)
NUMBALITE_MATH_INTEGER(cosh)
NUMBALITE_MATH_INTEGER(tanh)
NUMBALITE_MATH_INTEGER(asinh)
NUMBALITE_MATH_INTEGER(acosh)
NUMBALITE_MATH_INTEGER(atanh)
NUMBALITE_MATH_INTEGER(exp)
NUMBALITE_MATH_INTEGER(exp2)
NUMBALITE_MATH_INTEGER(exp10)
NUMBALITE_MATH_INTEGER(expm1)
NUMBALITE_MATH_INTEGER(log)
NUMBALITE_MATH_INTEGER(log2)
NUMBALITE_MATH_INTEGER(log10)
NUMBALITE_MATH_INTEGER(log1p)
NUMBALITE_MATH_INTEGER(erf)
NUMBALITE_MATH_INTEGER(erfc)
NUMBALITE_MATH_INTEGER(tgamma)
NUMBALITE_MATH_INTEGER(lgamma)
NUMBALITE_MATH_INTEGER(ceil)
NUMBALITE_MATH_INTEGER(floor)
NUMBALITE_MATH_INTEGER(trunc)
NUMBALITE_MATH_INTEGER(round)
NUMBALITE_MATH_INTEGER(rint)
NUMBALITE_MATH_INTEGER(fabs)

NUMBALITE_MATH_MIXED(min, product)
NUMBALITE_MATH_MIXED(max, product)
NUMBALITE_MATH_MIXED(pow, floating_of)
NUMBALITE_MATH_MIXED(atan2, floating_of)
NUMBALITE_MATH_MIXED(hypot, floating_of)
NUMBALITE_MATH_MIXED(fmod, floating_of)
NUMBALITE_MATH_MIXED(remainder, floating_of)
NUMBALITE_MATH_MIXED(fmin, floating_of)
NUMBALITE_MATH_MIXED(fmax, floating_of)
NUMBALITE_MATH_MIXED(fdim, floating_of)
NUMBALITE_MATH_MIXED(copysign, floating_of)

} // namespace numbalite

#endif
