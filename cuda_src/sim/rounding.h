/* sim/rounding: arithmetic with the rounding mode in the name (__fadd_rd, __dmul_rz, ...).
 *
 * Rounding to nearest (_rn) is the CPU's default; these intrinsics prevent that the operation and
 * the next one are fused to an fma. The functions for other modes switch the CPU's rounding mode
 * before and after the operation; volatile keeps the operation between the switches. */
#ifndef NUMBALITE_SIM_ROUNDING_H
#define NUMBALITE_SIM_ROUNDING_H

namespace numbalite_sim {

#if defined(__x86_64__) || defined(__i386__)
enum rounding { to_nearest = 0, down = 0x400, up = 0x800, to_zero = 0xc00 };
#elif defined(__aarch64__)
enum rounding { to_nearest = 0, up = 0x400000, down = 0x800000, to_zero = 0xc00000 };
#else
#error "the simulator runs on x86-64 and on AArch64"
#endif

/* Returns a value that the compiler does not fuse into an fma. For Arm, clang++ 14 fuses a product
 * that must not be contracted with a sum that may be. */
template <class T> NUMBALITE_SIM_INLINE T apart(T x) {
#if defined(NUMBALITE_SIM_CLANG) && !defined(__aarch64__)
    return x;
#elif NUMBALITE_SIM_HAS(__builtin_assoc_barrier)
    return __builtin_assoc_barrier(x);
#elif defined(__x86_64__)
    __asm__("" : "+x"(x));
    return x;
#else
    __asm__("" : "+w"(x));
    return x;
#endif
}
#if defined(NUMBALITE_SIM_CLANG)
#define NUMBALITE_SIM_APART _Pragma("clang fp contract(off)")
#else
#define NUMBALITE_SIM_APART
#endif

} // namespace numbalite_sim

/* Defines a function with the rounding mode as an argument, which calls one of the four functions
 * with the mode in their names. */
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
#define NUMBALITE_SIM_BY_MODE(T, name, parameters, function, arguments) \
    NUMBALITE_SIM_YIELDING T name parameters { \
        switch (mode) { \
        case cudaRoundZero: \
            return function##_rz arguments; \
        case cudaRoundPosInf: \
            return function##_ru arguments; \
        case cudaRoundMinInf: \
            return function##_rd arguments; \
        default: \
            return function##_rn arguments; \
        } \
    }

/* Defines an operation with each of the rounding modes, for one, two or three operands x, y, z. */
#define NUMBALITE_SIM_DIRECTED1(T, name, mode, expression) \
    inline NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) T name(T a) { \
        volatile T x = a; \
        fesetround(numbalite_sim::mode); \
        volatile T result = expression; \
        fesetround(numbalite_sim::to_nearest); \
        return result; \
    }
#define NUMBALITE_SIM_DIRECTED2(T, name, mode, expression) \
    inline NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) T name(T a, T b) { \
        volatile T x = a, y = b; \
        fesetround(numbalite_sim::mode); \
        volatile T result = expression; \
        fesetround(numbalite_sim::to_nearest); \
        return result; \
    }
#define NUMBALITE_SIM_DIRECTED3(T, name, mode, expression) \
    inline NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) T name(T a, T b, T c) { \
        volatile T x = a, y = b, z = c; \
        fesetround(numbalite_sim::mode); \
        volatile T result = expression; \
        fesetround(numbalite_sim::to_nearest); \
        return result; \
    }
#define NUMBALITE_SIM_FOUR(count, T, name, parameters, expression) \
    NUMBALITE_SIM_INLINE T name##_rn parameters { \
        NUMBALITE_SIM_APART \
        T result = expression; \
        return numbalite_sim::apart(result); \
    } \
    NUMBALITE_SIM_DIRECTED##count(T, name##_rz, to_zero, expression) \
        NUMBALITE_SIM_DIRECTED##count(T, name##_ru, up, expression) \
            NUMBALITE_SIM_DIRECTED##count(T, name##_rd, down, expression)

#define NUMBALITE_SIM_ARITHMETIC(T, p, fused, root, fma) \
    NUMBALITE_SIM_FOUR(2, T, p##add, (T x, T y), x + y) \
    NUMBALITE_SIM_FOUR(2, T, p##sub, (T x, T y), x - y) \
    NUMBALITE_SIM_FOUR(2, T, p##mul, (T x, T y), x *y) \
    NUMBALITE_SIM_FOUR(2, T, p##div, (T x, T y), x / y) \
    NUMBALITE_SIM_FOUR(1, T, p##rcp, (T x), static_cast<T>(1) / x) \
    NUMBALITE_SIM_FOUR(1, T, p##sqrt, (T x), root(x)) \
    NUMBALITE_SIM_FOUR(3, T, fused, (T x, T y, T z), fma(x, y, z))
NUMBALITE_SIM_ARITHMETIC(float, __f, __fmaf, __builtin_sqrtf, __builtin_fmaf)
NUMBALITE_SIM_ARITHMETIC(double, __d, __fma, __builtin_sqrt, __builtin_fma)
#undef NUMBALITE_SIM_ARITHMETIC
NUMBALITE_SIM_BY_MODE(double, dadd, (double x, double y, cudaRoundMode mode = cudaRoundNearest), __dadd, (x, y))
NUMBALITE_SIM_BY_MODE(double, dsub, (double x, double y, cudaRoundMode mode = cudaRoundNearest), __dsub, (x, y))
NUMBALITE_SIM_BY_MODE(double, dmul, (double x, double y, cudaRoundMode mode = cudaRoundNearest), __dmul, (x, y))
NUMBALITE_SIM_BY_MODE(double, fma, (double x, double y, double z, cudaRoundMode mode), __fma, (x, y, z))

NUMBALITE_SIM_INLINE float __frsqrt_rn(float x) {
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
}
NUMBALITE_SIM_INLINE float __fmaf_ieee_rn(float x, float y, float z) {
    return __fmaf_rn(x, y, z);
}
NUMBALITE_SIM_INLINE float __fmaf_ieee_rz(float x, float y, float z) {
    return __fmaf_rz(x, y, z);
}
NUMBALITE_SIM_INLINE float __fmaf_ieee_ru(float x, float y, float z) {
    return __fmaf_ru(x, y, z);
}
NUMBALITE_SIM_INLINE float __fmaf_ieee_rd(float x, float y, float z) {
    return __fmaf_rd(x, y, z);
}

#endif
