/* sim/libc: declarations of the part of the C library that kernels can use.
 *
 * The functions of libm are declared for double and float; math.h adds CUDA's overloads. Functions
 * that the engine implements instead of the C library (printf, malloc, free, clock) have the C
 * library's name, but another symbol, so that a standard header that is included later is
 * compatible. Only names that NVRTC also has are declared, because the user may use all other
 * names. */
#ifndef NUMBALITE_SIM_LIBC_H
#define NUMBALITE_SIM_LIBC_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
/* int64_t is long long, as in every header that NVRTC reads, so that atomicAdd on a uint64_t
 * selects the same overload. */
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef long clock_t;
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_arg(list, type) __builtin_va_arg(list, type)
#define va_copy(to, from) __builtin_va_copy(to, from)
#define va_end(list) __builtin_va_end(list)

#undef NULL
#define NULL __null

/* Functions of the C library that write to memory through a pointer. In checked images the write is
 * made in the kernel's code, so that it is instrumented. */
#ifdef NUMBALITE_SIM_CHECKED
#define NUMBALITE_SIM_SEEN extern inline __attribute__((gnu_inline, always_inline))
#define NUMBALITE_SIM_SPLIT(name, parameters, arguments, T, Part) \
    T nl_sim_##name parameters noexcept __asm__(#name); \
    NUMBALITE_SIM_SEEN T name parameters noexcept { \
        Part split; \
        T result = nl_sim_##name arguments; \
        *part = split; \
        return result; \
    }
#else
#define NUMBALITE_SIM_SPLIT(name, parameters, arguments, T, Part) T name parameters noexcept;
#endif

extern "C" {
#if defined(NUMBALITE_SIM_CHECKED) && !defined(NUMBALITE_SIM_CLANG)
/* g++ expands copies of constant size itself, and reports them only if a copy is a single
 * access. */
#define NUMBALITE_SIM_IS_ONE(size) \
    (__builtin_constant_p(size) && (size) <= 16 && ((size) & ((size) - 1)) == 0)
void *nl_sim_any_copy(void *to, const void *from, size_t size) noexcept __asm__("memcpy");
void *nl_sim_any_fill(void *to, int value, size_t size) noexcept __asm__("memset");
NUMBALITE_SIM_SEEN void *memcpy(void *to, const void *from, size_t size) noexcept {
    return NUMBALITE_SIM_IS_ONE(size) ? __builtin_memcpy(to, from, size)
                                      : nl_sim_any_copy(to, from, size);
}
NUMBALITE_SIM_SEEN void *memset(void *to, int value, size_t size) noexcept {
    return NUMBALITE_SIM_IS_ONE(size) ? __builtin_memset(to, value, size)
                                      : nl_sim_any_fill(to, value, size);
}
#else
void *memcpy(void *to, const void *from, size_t size) noexcept;
void *memset(void *to, int value, size_t size) noexcept;
#endif
int fesetround(int) noexcept;

int printf(const char *format, ...) __asm__("nl_sim_printf");
void *malloc(size_t size) noexcept __asm__("nl_sim_malloc");
void free(void *block) noexcept __asm__("nl_sim_free");
clock_t clock(void) noexcept __asm__("nl_sim_clock");

#define NUMBALITE_SIM_1(name) \
    double name(double) noexcept; \
    float name##f(float) noexcept;
#define NUMBALITE_SIM_2(name) \
    double name(double, double) noexcept; \
    float name##f(float, float) noexcept;
#define NUMBALITE_SIM_INT(type, name) \
    type name(double) noexcept; \
    type name##f(float) noexcept;

NUMBALITE_SIM_1(sin)
NUMBALITE_SIM_1(cos) NUMBALITE_SIM_1(tan) NUMBALITE_SIM_1(asin) NUMBALITE_SIM_1(acos)
    NUMBALITE_SIM_1(atan) NUMBALITE_SIM_1(sinh) NUMBALITE_SIM_1(cosh) NUMBALITE_SIM_1(tanh)
        NUMBALITE_SIM_1(asinh) NUMBALITE_SIM_1(acosh) NUMBALITE_SIM_1(atanh) NUMBALITE_SIM_1(exp)
            NUMBALITE_SIM_1(exp2) NUMBALITE_SIM_1(expm1) NUMBALITE_SIM_1(log) NUMBALITE_SIM_1(log2)
                NUMBALITE_SIM_1(log10) NUMBALITE_SIM_1(log1p) NUMBALITE_SIM_1(logb) NUMBALITE_SIM_1(
                    sqrt) NUMBALITE_SIM_1(cbrt) NUMBALITE_SIM_1(erf) NUMBALITE_SIM_1(erfc)
                    NUMBALITE_SIM_1(tgamma) NUMBALITE_SIM_1(lgamma) NUMBALITE_SIM_1(ceil)
                        NUMBALITE_SIM_1(floor) NUMBALITE_SIM_1(trunc) NUMBALITE_SIM_1(round)
                            NUMBALITE_SIM_1(rint) NUMBALITE_SIM_1(nearbyint) NUMBALITE_SIM_1(fabs)
                                NUMBALITE_SIM_1(j0) NUMBALITE_SIM_1(j1) NUMBALITE_SIM_1(y0)
                                    NUMBALITE_SIM_1(y1) NUMBALITE_SIM_2(pow) NUMBALITE_SIM_2(atan2)
                                        NUMBALITE_SIM_2(hypot) NUMBALITE_SIM_2(fmod)
                                            NUMBALITE_SIM_2(remainder) NUMBALITE_SIM_2(copysign)
                                                NUMBALITE_SIM_2(nextafter) NUMBALITE_SIM_2(fdim)
                                                    NUMBALITE_SIM_INT(int, ilogb)
                                                        NUMBALITE_SIM_INT(long, lrint)
                                                            NUMBALITE_SIM_INT(long, lround)
                                                                NUMBALITE_SIM_INT(long long, llrint)
                                                                    NUMBALITE_SIM_INT(long long,
                                                                                      llround)

                                                                        double fma(double, double,
                                                                                   double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double scalbln(double, long) noexcept;
float scalblnf(float, long) noexcept;
NUMBALITE_SIM_SPLIT(frexp, (double x, int *part), (x, &split), double, int)
NUMBALITE_SIM_SPLIT(frexpf, (float x, int *part), (x, &split), float, int)
NUMBALITE_SIM_SPLIT(modf, (double x, double *part), (x, &split), double, double)
NUMBALITE_SIM_SPLIT(modff, (float x, float *part), (x, &split), float, float)
NUMBALITE_SIM_SPLIT(remquo, (double x, double y, int *part), (x, y, &split), double, int)
NUMBALITE_SIM_SPLIT(remquof, (float x, float y, int *part), (x, y, &split), float, int)
double jn(int, double) noexcept;
float jnf(int, float) noexcept;
double yn(int, double) noexcept;
float ynf(int, float) noexcept;
double nan(const char *) noexcept;
float nanf(const char *) noexcept;
}

#undef NUMBALITE_SIM_1
#undef NUMBALITE_SIM_2
#undef NUMBALITE_SIM_INT
#undef NUMBALITE_SIM_SPLIT

#endif
