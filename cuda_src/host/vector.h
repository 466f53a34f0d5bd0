/* host/vector: declares to g++ which functions of libm have vector versions in libmvec, so that
 * loops that call these functions are vectorized without -ffast-math. The vector versions are
 * accurate to 4 ulp and treat infinities and NaN like the scalar functions. For clang,
 * numbalite/compilers/sim/irpatch.py replaces the calls.
 *
 * NUMBALITE_VECTOR_MATH is the glibc version level: 1 from glibc 2.22 on, 2 from 2.35 on. */
#ifndef NUMBALITE_HOST_VECTOR_H
#define NUMBALITE_HOST_VECTOR_H

#if defined(NUMBALITE_VECTOR_MATH) && !defined(__clang__)

#define NUMBALITE_HOST_VECTOR __attribute__((simd("notinbranch")))
#define NUMBALITE_HOST_VECTOR1(name) \
    NUMBALITE_HOST_VECTOR double name(double) noexcept; \
    NUMBALITE_HOST_VECTOR float name##f(float) noexcept;
#define NUMBALITE_HOST_VECTOR2(name) \
    NUMBALITE_HOST_VECTOR double name(double, double) noexcept; \
    NUMBALITE_HOST_VECTOR float name##f(float, float) noexcept;

extern "C" {
NUMBALITE_HOST_VECTOR1(sin)
NUMBALITE_HOST_VECTOR1(cos)
NUMBALITE_HOST_VECTOR1(exp)
NUMBALITE_HOST_VECTOR1(log)
NUMBALITE_HOST_VECTOR2(pow)
#if NUMBALITE_VECTOR_MATH >= 2
NUMBALITE_HOST_VECTOR1(tan)
NUMBALITE_HOST_VECTOR1(asin)
NUMBALITE_HOST_VECTOR1(acos)
NUMBALITE_HOST_VECTOR1(atan)
NUMBALITE_HOST_VECTOR1(sinh)
NUMBALITE_HOST_VECTOR1(cosh)
NUMBALITE_HOST_VECTOR1(tanh)
NUMBALITE_HOST_VECTOR1(asinh)
NUMBALITE_HOST_VECTOR1(acosh)
NUMBALITE_HOST_VECTOR1(atanh)
NUMBALITE_HOST_VECTOR1(exp2)
NUMBALITE_HOST_VECTOR1(expm1)
NUMBALITE_HOST_VECTOR1(log2)
NUMBALITE_HOST_VECTOR1(log10)
NUMBALITE_HOST_VECTOR1(log1p)
NUMBALITE_HOST_VECTOR1(cbrt)
NUMBALITE_HOST_VECTOR1(erf)
NUMBALITE_HOST_VECTOR1(erfc)
NUMBALITE_HOST_VECTOR2(atan2)
NUMBALITE_HOST_VECTOR2(hypot)
#endif
}

#undef NUMBALITE_HOST_VECTOR2
#undef NUMBALITE_HOST_VECTOR1
#undef NUMBALITE_HOST_VECTOR

#endif
#endif
