/* sim/fp8_types: the common declarations of <cuda_fp8.h>, <cuda_fp6.h> and <cuda_fp4.h>.
 * sim/formats.h defines the formats. */
#ifndef NUMBALITE_SIM_FP8_TYPES_H
#define NUMBALITE_SIM_FP8_TYPES_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };

namespace numbalite_sim {

/* Converts a number to double; a NaN becomes one canonical NaN, unless it is a double. */
NUMBALITE_SIM_INLINE double double_with_canonical_nan(double x) {
    return x;
}
NUMBALITE_SIM_INLINE double double_with_canonical_nan(float x) {
    return x != x ? bits<float>(0x7fffffffu) : x;
}
NUMBALITE_SIM_INLINE double double_with_canonical_nan(__half_raw x) {
    return double_with_canonical_nan(half_to_float(x.x));
}
NUMBALITE_SIM_INLINE double double_with_canonical_nan(__nv_bfloat16_raw x) {
    return double_with_canonical_nan(bfloat16_to_float(x.x));
}
template <class I> NUMBALITE_SIM_INLINE I integer_of(float x) {
    return x != x && sizeof(I) < 8 ? I(0) : saturated<I>(__builtin_truncf(x));
}

} // namespace numbalite_sim

/* Defines conversions such as __nv_cvt_float_to_fp8(x, a, b) and __nv_cvt_float2_to_fp8x2. `given`
 * and `given2` are the source types' parts of the names, E and T2 the source types. */
#define NUMBALITE_SIM_NARROW_FROM(fp, place, A, B, given, E, given2, T2) \
    NUMBALITE_SIM_INLINE __nv_##fp##_storage_t __nv_cvt_##given##_to_##fp(const E x, const A a, \
                                                                          const B b) { \
        return static_cast<__nv_##fp##_storage_t>( \
            numbalite_sim::to_##fp(numbalite_sim::double_with_canonical_nan(x), a, b)); \
    } \
    NUMBALITE_SIM_INLINE __nv_##fp##x2_storage_t __nv_cvt_##given2##_to_##fp##x2( \
        const T2 x, const A a, const B b) { \
        return static_cast<__nv_##fp##x2_storage_t>(__nv_cvt_##given##_to_##fp(E{x.x}, a, b) | \
                                                    __nv_cvt_##given##_to_##fp(E{x.y}, a, b) \
                                                        << place); \
    }
#define NUMBALITE_SIM_NARROW_CONVERSIONS(fp, place, format, A, B) \
    NUMBALITE_SIM_NARROW_FROM(fp, place, A, B, double, double, double2, double2) \
    NUMBALITE_SIM_NARROW_FROM(fp, place, A, B, float, float, float2, float2) \
    NUMBALITE_SIM_NARROW_FROM(fp, place, A, B, halfraw, __half_raw, halfraw2, __half2_raw) \
    NUMBALITE_SIM_NARROW_FROM(fp, place, A, B, bfloat16raw, __nv_bfloat16_raw, bfloat16raw2, \
                              __nv_bfloat162_raw) \
    NUMBALITE_SIM_INLINE __half_raw __nv_cvt_##fp##_to_halfraw(const __nv_##fp##_storage_t x, \
                                                               const format of) { \
        return __half_raw{numbalite_sim::half_from_float(numbalite_sim::from_##fp(x, of))}; \
    } \
    NUMBALITE_SIM_INLINE __half2_raw __nv_cvt_##fp##x2_to_halfraw2( \
        const __nv_##fp##x2_storage_t x, const format of) { \
        return __half2_raw{ \
            __nv_cvt_##fp##_to_halfraw(static_cast<__nv_##fp##_storage_t>(x), of).x, \
            __nv_cvt_##fp##_to_halfraw(static_cast<__nv_##fp##_storage_t>(x >> place), of).x}; \
    }

#define NUMBALITE_SIM_NARROW_INTEGER(name, I) \
    explicit name(const I x) { \
        __x = static_cast<decltype(__x)>(nl_format::of_integer(x)); \
    } \
    explicit operator I() const { \
        return numbalite_sim::integer_of<I>(float(*this)); \
    }
/* Defines the types of one, two and four numbers of a format. A number occupies `place` bits in the
 * types of several numbers. The last arguments are additional members of the type of two
 * numbers. */
#define NUMBALITE_SIM_NARROW_TYPES(fp, place, format, ...) \
    struct __align__(1) __nv_##fp##_##format { \
        typedef numbalite_sim::format nl_format; \
        __nv_##fp##_storage_t __x; \
        __nv_##fp##_##format() = default; \
        explicit __nv_##fp##_##format(const double x) \
            : __x(static_cast<__nv_##fp##_storage_t>(nl_format::of(x, true))) {} \
        explicit __nv_##fp##_##format(const float x) \
            : __x(static_cast<__nv_##fp##_storage_t>( \
                  nl_format::of(numbalite_sim::double_with_canonical_nan(x), true))) {} \
        explicit __nv_##fp##_##format(const __half x) : __nv_##fp##_##format(__half2float(x)) {} \
        explicit __nv_##fp##_##format(const __nv_bfloat16 x) \
            : __nv_##fp##_##format(__bfloat162float(x)) {} \
        explicit operator float() const { \
            return nl_format::value(__x); \
        } \
        explicit operator double() const { \
            return nl_format::value(__x); \
        } \
        explicit operator __half() const { \
            return __float2half_rn(nl_format::value(__x)); \
        } \
        explicit operator __nv_bfloat16() const { \
            return __float2bfloat16_rn(nl_format::value(__x)); \
        } \
        explicit operator bool() const { \
            return nl_format::value(__x) != 0; \
        } \
        explicit operator char() const { \
            return numbalite_sim::integer_of<signed char>(float(*this)); \
        } \
        explicit operator signed char() const { \
            return numbalite_sim::integer_of<signed char>(float(*this)); \
        } \
        explicit operator unsigned char() const { \
            return numbalite_sim::integer_of<unsigned char>(float(*this)); \
        } \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, short) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, unsigned short) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, int) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, unsigned) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, long) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, unsigned long) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, long long) \
        NUMBALITE_SIM_NARROW_INTEGER(__nv_##fp##_##format, unsigned long long) \
    }; \
    struct __align__(sizeof(__nv_##fp##x2_storage_t)) __nv_##fp##x2_##format { \
        typedef __nv_##fp##_##format nl_one; \
        __nv_##fp##x2_storage_t __x; \
        template <class T> NUMBALITE_SIM_INLINE static __nv_##fp##x2_storage_t nl_both(T x, T y) { \
            return static_cast<__nv_##fp##x2_storage_t>(nl_one(x).__x | nl_one(y).__x << place); \
        } \
        __nv_##fp##x2_##format() = default; \
        explicit __nv_##fp##x2_##format(const __half2 v) : __x(nl_both(v.x, v.y)) {} \
        explicit __nv_##fp##x2_##format(const __nv_bfloat162 v) : __x(nl_both(v.x, v.y)) {} \
        explicit __nv_##fp##x2_##format(const float2 v) : __x(nl_both(v.x, v.y)) {} \
        explicit __nv_##fp##x2_##format(const double2 v) : __x(nl_both(v.x, v.y)) {} \
        explicit operator float2() const { \
            return make_float2(nl_one::nl_format::value(__x), \
                               nl_one::nl_format::value(__x >> place)); \
        } \
        explicit operator __half2() const { \
            return __float22half2_rn(float2(*this)); \
        } \
        __VA_ARGS__ \
    }; \
    struct __align__(sizeof(__nv_##fp##x4_storage_t)) __nv_##fp##x4_##format { \
        typedef __nv_##fp##x2_##format nl_two; \
        __nv_##fp##x4_storage_t __x; \
        template <class T> \
        NUMBALITE_SIM_INLINE static __nv_##fp##x4_storage_t nl_all(T x, T y, T z, T w) { \
            return static_cast<__nv_##fp##x4_storage_t>( \
                nl_two::nl_both(x, y) | static_cast<unsigned>(nl_two::nl_both(z, w)) \
                                            << (2 * place)); \
        } \
        __nv_##fp##x4_##format() = default; \
        explicit __nv_##fp##x4_##format(const __half2 u, const __half2 v) \
            : __x(nl_all(u.x, u.y, v.x, v.y)) {} \
        explicit __nv_##fp##x4_##format(const __nv_bfloat162 u, const __nv_bfloat162 v) \
            : __x(nl_all(u.x, u.y, v.x, v.y)) {} \
        explicit __nv_##fp##x4_##format(const float4 v) : __x(nl_all(v.x, v.y, v.z, v.w)) {} \
        explicit __nv_##fp##x4_##format(const double4 v) : __x(nl_all(v.x, v.y, v.z, v.w)) {} \
        explicit operator float4() const { \
            typedef nl_two::nl_one::nl_format of; \
            return make_float4(of::value(__x), of::value(__x >> place), \
                               of::value(__x >> (2 * place)), of::value(__x >> (3 * place))); \
        } \
    };

#endif
