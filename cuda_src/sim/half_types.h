/* sim/half_types: arithmetic on 16-bit floating-point numbers, for cuda_fp16.h and cuda_bf16.h.
 *
 * The functions of both types have the same names. NUMBALITE_SIM_SIXTEEN(T, T2, SCALAR2) defines
 * the functions for one type and its pair type. Every operation is computed in float (fused
 * operations in double) and then rounded: for + - * / and the square root, this returns the
 * correctly rounded result, as on a GPU. */
#ifndef NUMBALITE_SIM_HALF_TYPES_H
#define NUMBALITE_SIM_HALF_TYPES_H

/* OTHER is the other 16-bit type, which may not be defined yet. */
#define NUMBALITE_SIM_SIXTEEN_STRUCT(T, OTHER, from_float, to_float) \
    struct __attribute__((aligned(2))) T { \
        unsigned short __x; \
        T() = default; \
        T(float f) : __x(from_float(f)) {} \
        T(double f) : __x(from_float(numbalite_sim::round_to_odd(f))) {} \
        T(short i) : __x(from_float(i)) {} \
        T(unsigned short i) : __x(from_float(i)) {} \
        T(int i) : __x(from_float(numbalite_sim::round_to_odd(i))) {} \
        T(unsigned i) : __x(from_float(numbalite_sim::round_to_odd(i))) {} \
        T(long i) : T(static_cast<long long>(i)) {} \
        T(unsigned long i) : T(static_cast<unsigned long long>(i)) {} \
        T(long long i) : __x(from_float(numbalite_sim::round_to_odd(__ll2double_rz(i)))) {} \
        T(unsigned long long i) \
            : __x(from_float(numbalite_sim::round_to_odd(__ull2double_rz(i)))) {} \
        constexpr T(const T##_raw &raw) : __x(raw.x) {} \
        explicit T(OTHER other); \
        constexpr operator T##_raw() const { return T##_raw{__x}; } \
        operator T##_raw() const volatile { return T##_raw{__x}; } \
        operator float() const { return to_float(__x); } \
        operator bool() const { return (__x & 0x7fff) != 0; } \
        operator signed char() const { return __float2int_rz(to_float(__x)); } \
        operator unsigned char() const { return __float2uint_rz(to_float(__x)); } \
        operator char() const { return __float2int_rz(to_float(__x)); } \
        operator short() const { return __float2int_rz(to_float(__x)); } \
        operator unsigned short() const { return __float2uint_rz(to_float(__x)); } \
        operator int() const { return __float2int_rz(to_float(__x)); } \
        operator unsigned() const { return __float2uint_rz(to_float(__x)); } \
        operator long() const { return __float2ll_rz(to_float(__x)); } \
        operator unsigned long() const { return __float2ull_rz(to_float(__x)); } \
        operator long long() const { return __float2ll_rz(to_float(__x)); } \
        operator unsigned long long() const { return __float2ull_rz(to_float(__x)); } \
        T &operator=(float f) { return *this = T(f); } \
        T &operator=(double f) { return *this = T(f); } \
        T &operator=(int i) { return *this = T(i); } \
        T &operator=(unsigned i) { return *this = T(i); } \
        T &operator=(long long i) { return *this = T(i); } \
        T &operator=(unsigned long long i) { return *this = T(i); } \
        T &operator=(short i) { return *this = T(i); } \
        T &operator=(unsigned short i) { return *this = T(i); } \
        T &operator=(const T##_raw &raw) { return *this = T(raw); } \
        volatile T &operator=(const T##_raw &raw) volatile { \
            __x = raw.x; \
            return *this; \
        } \
    }; \
    struct __attribute__((aligned(4))) T##2 { \
        T x, y; \
        T##2() = default; \
        T##2(const T &x, const T &y) : x(x), y(y) {} \
        T##2(const T##2_raw & raw) : x(T##_raw{raw.x}), y(T##_raw{raw.y}) {} \
        operator T##2_raw() const { \
            return T##2_raw {x.__x, y.__x}; \
        } \
    };

#define NUMBALITE_SIM_SIXTEEN_BINARY(T, name, name2, expression) \
    NUMBALITE_SIM_INLINE T name(const T a, const T b) { \
        const float x = static_cast<float>(a), y = static_cast<float>(b); \
        return T(static_cast<float>(expression)); \
    } \
    NUMBALITE_SIM_INLINE T##2 name2(const T##2 a, const T##2 b) { \
        return T##2(name(a.x, b.x), name(a.y, b.y)); \
    }
#define NUMBALITE_SIM_SIXTEEN_UNARY(T, name, name2, expression) \
    NUMBALITE_SIM_INLINE T name(const T a) { \
        const float x = static_cast<float>(a); \
        return T(static_cast<float>(expression)); \
    } \
    NUMBALITE_SIM_INLINE T##2 name2(const T##2 a) { \
        return T##2(name(a.x), name(a.y)); \
    }
#define NUMBALITE_SIM_SIXTEEN_FUSED(T, name, name2, expression) \
    NUMBALITE_SIM_INLINE T name(const T a, const T b, const T c) { \
        const float r = numbalite_sim::round_to_odd( \
            __builtin_fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))); \
        return T(expression); \
    } \
    NUMBALITE_SIM_INLINE T##2 name2(const T##2 a, const T##2 b, const T##2 c) { \
        return T##2(name(a.x, b.x, c.x), name(a.y, b.y, c.y)); \
    }
/* Defines ordered and unordered comparisons (unordered comparisons are true for NaN), and
 * comparisons of pairs whose result is numbers, masks, or one bool. */
#define NUMBALITE_SIM_SIXTEEN_COMPARE(T, name, operation) \
    NUMBALITE_SIM_INLINE bool __h##name(const T a, const T b) { \
        return static_cast<float>(a) operation static_cast<float>(b) && !__hisnan(a) && \
               !__hisnan(b); \
    } \
    NUMBALITE_SIM_INLINE bool __h##name##u(const T a, const T b) { \
        return static_cast<float>(a) operation static_cast<float>(b) || __hisnan(a) || \
               __hisnan(b); \
    } \
    NUMBALITE_SIM_INLINE T##2 __h##name##2(const T##2 a, const T##2 b) { \
        return T##2(T(__h##name(a.x, b.x) ? 1.0f : 0.0f), T(__h##name(a.y, b.y) ? 1.0f : 0.0f)); \
    } \
    NUMBALITE_SIM_INLINE T##2 __h##name##u2(const T##2 a, const T##2 b) { \
        return T##2(T(__h##name##u(a.x, b.x) ? 1.0f : 0.0f), \
                    T(__h##name##u(a.y, b.y) ? 1.0f : 0.0f)); \
    } \
    NUMBALITE_SIM_INLINE unsigned __h##name##2_mask(const T##2 a, const T##2 b) { \
        return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0); \
    } \
    NUMBALITE_SIM_INLINE unsigned __h##name##u2_mask(const T##2 a, const T##2 b) { \
        return (__h##name##u(a.x, b.x) ? 0xffffu : 0) | \
               (__h##name##u(a.y, b.y) ? 0xffff0000u : 0); \
    } \
    NUMBALITE_SIM_INLINE bool __hb##name##2(const T##2 a, const T##2 b) { \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y); \
    } \
    NUMBALITE_SIM_INLINE bool __hb##name##u2(const T##2 a, const T##2 b) { \
        return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); \
    }
#define NUMBALITE_SIM_SIXTEEN_OPERATOR(T, sign, name, name2) \
    NUMBALITE_SIM_INLINE T operator sign(const T &a, const T &b) { \
        return name(a, b); \
    } \
    NUMBALITE_SIM_INLINE T &operator sign##=(T &a, const T &b) { \
        return a = name(a, b); \
    } \
    NUMBALITE_SIM_INLINE T##2 operator sign(const T##2 & a, const T##2 & b) { \
        return name2(a, b); \
    } \
    NUMBALITE_SIM_INLINE T##2 &operator sign##=(T##2 & a, const T##2 & b) { \
        return a = name2(a, b); \
    }
/* Defines ++x and x++ (sign ++, `name` a function that adds), or --x and x-- (sign --, a function
 * that subtracts). */
#define NUMBALITE_SIM_SIXTEEN_STEP(T, sign, name, one) \
    NUMBALITE_SIM_INLINE T &operator sign(T &a) { \
        return a = name(a, one); \
    } \
    NUMBALITE_SIM_INLINE T operator sign(T &a, int) { \
        const T before = a; \
        a = name(a, one); \
        return before; \
    }
#define NUMBALITE_SIM_SIXTEEN_RELATION(T, sign, name) \
    NUMBALITE_SIM_INLINE bool operator sign(const T &a, const T &b) { \
        return __h##name(a, b); \
    } \
    NUMBALITE_SIM_INLINE bool operator sign(const T##2 & a, const T##2 & b) { \
        return __hb##name##2(a, b); \
    }
#define NUMBALITE_SIM_SIXTEEN_ATOMICS(T, s) \
    NUMBALITE_SIM_INLINE T atomicAdd##s(T *address, T value) { \
        return numbalite_sim::update( \
            address, [value](T old) -> T { return __hadd(old, value); }, \
            NUMBALITE_SIM_OPERATION_OF(ADD_REAL)); \
    } \
    NUMBALITE_SIM_INLINE T##2 atomicAdd##s(T##2 * address, T##2 value) { \
        return T##2(atomicAdd##s(&address->x, value.x), atomicAdd##s(&address->y, value.y)); \
    }

#define NUMBALITE_SIM_SIXTEEN(T) \
    NUMBALITE_SIM_INLINE bool __hisnan(const T a) { \
        return __builtin_isnan(static_cast<float>(a)); \
    } \
    NUMBALITE_SIM_INLINE int __hisinf(const T a) { \
        return __builtin_isinf(static_cast<float>(a)) ? (a.__x & 0x8000 ? -1 : 1) : 0; \
    } \
    NUMBALITE_SIM_INLINE T##2 __hisnan2(const T##2 a) { \
        return T##2(T(__hisnan(a.x) ? 1.0f : 0.0f), T(__hisnan(a.y) ? 1.0f : 0.0f)); \
    } \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hadd, __hadd2, x + y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hsub, __hsub2, x - y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmul, __hmul2, x *y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hadd_rn, __hadd2_rn, x + y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hsub_rn, __hsub2_rn, x - y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmul_rn, __hmul2_rn, x *y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hdiv, __h2div, x / y) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hadd_sat, __hadd2_sat, __saturatef(x + y)) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hsub_sat, __hsub2_sat, __saturatef(x - y)) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmul_sat, __hmul2_sat, __saturatef(x *y)) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmax, __hmax2, fmaxf(x, y)) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmin, __hmin2, fminf(x, y)) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmax_nan, __hmax2_nan, \
                                 x != x || y != y ? __builtin_nanf("") : fmaxf(x, y)) \
    NUMBALITE_SIM_SIXTEEN_BINARY(T, __hmin_nan, __hmin2_nan, \
                                 x != x || y != y ? __builtin_nanf("") : fminf(x, y)) \
    NUMBALITE_SIM_SIXTEEN_FUSED(T, __hfma, __hfma2, r) \
    NUMBALITE_SIM_SIXTEEN_FUSED(T, __hfma_sat, __hfma2_sat, __saturatef(r)) \
    NUMBALITE_SIM_SIXTEEN_FUSED(T, __hfma_relu, __hfma2_relu, r < 0 ? 0.0f : r) \
    NUMBALITE_SIM_INLINE T __hneg(const T a) { \
        return T(T##_raw{static_cast<unsigned short>(a.__x ^ 0x8000)}); \
    } \
    NUMBALITE_SIM_INLINE T __habs(const T a) { \
        return T(T##_raw{static_cast<unsigned short>(a.__x & 0x7fff)}); \
    } \
    NUMBALITE_SIM_INLINE T##2 __hneg2(const T##2 a) { \
        return T##2(__hneg(a.x), __hneg(a.y)); \
    } \
    NUMBALITE_SIM_INLINE T##2 __habs2(const T##2 a) { \
        return T##2(__habs(a.x), __habs(a.y)); \
    } \
    /* Of complex numbers: a * b + c. */ \
    NUMBALITE_SIM_INLINE T##2 __hcmadd(const T##2 a, const T##2 b, const T##2 c) { \
        return T##2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), \
                    __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))); \
    } \
    NUMBALITE_SIM_SIXTEEN_COMPARE(T, eq, ==) \
    NUMBALITE_SIM_SIXTEEN_COMPARE(T, ne, !=) \
    NUMBALITE_SIM_SIXTEEN_COMPARE(T, lt, <) \
    NUMBALITE_SIM_SIXTEEN_COMPARE(T, le, <=) \
    NUMBALITE_SIM_SIXTEEN_COMPARE(T, gt, >) \
    NUMBALITE_SIM_SIXTEEN_COMPARE(T, ge, >=) \
    NUMBALITE_SIM_SIXTEEN_OPERATOR(T, +, __hadd, __hadd2) \
    NUMBALITE_SIM_SIXTEEN_OPERATOR(T, -, __hsub, __hsub2) \
    NUMBALITE_SIM_SIXTEEN_OPERATOR(T, *, __hmul, __hmul2) \
    NUMBALITE_SIM_SIXTEEN_OPERATOR(T, /, __hdiv, __h2div) \
    NUMBALITE_SIM_SIXTEEN_RELATION(T, ==, eq) \
    NUMBALITE_SIM_SIXTEEN_RELATION(T, !=, neu) \
    NUMBALITE_SIM_SIXTEEN_RELATION(T, <, lt) \
    NUMBALITE_SIM_SIXTEEN_RELATION(T, <=, le) \
    NUMBALITE_SIM_SIXTEEN_RELATION(T, >, gt) \
    NUMBALITE_SIM_SIXTEEN_RELATION(T, >=, ge) \
    NUMBALITE_SIM_INLINE T operator+(const T &a) { \
        return a; \
    } \
    NUMBALITE_SIM_INLINE T operator-(const T &a) { \
        return __hneg(a); \
    } \
    NUMBALITE_SIM_SIXTEEN_STEP(T, ++, __hadd, T(1.0f)) \
    NUMBALITE_SIM_SIXTEEN_STEP(T, --, __hsub, T(1.0f)) \
    NUMBALITE_SIM_SIXTEEN_STEP(T##2, ++, __hadd2, T##2(T(1.0f), T(1.0f))) \
    NUMBALITE_SIM_SIXTEEN_STEP(T##2, --, __hsub2, T##2(T(1.0f), T(1.0f))) \
    NUMBALITE_SIM_INLINE T##2 operator+(const T##2 & a) { \
        return a; \
    } \
    NUMBALITE_SIM_INLINE T##2 operator-(const T##2 & a) { \
        return __hneg2(a); \
    } \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hsqrt, h2sqrt, sqrtf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hrsqrt, h2rsqrt, 1.0 / sqrt(static_cast<double>(x))) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hrcp, h2rcp, 1.0f / x) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hexp, h2exp, expf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hexp2, h2exp2, exp2f(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hexp10, h2exp10, exp10f(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hlog, h2log, logf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hlog2, h2log2, log2f(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hlog10, h2log10, log10f(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hsin, h2sin, sinf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hcos, h2cos, cosf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, htanh, h2tanh, tanhf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, htanh_approx, h2tanh_approx, tanhf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hfloor, h2floor, floorf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hceil, h2ceil, ceilf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, htrunc, h2trunc, truncf(x)) \
    NUMBALITE_SIM_SIXTEEN_UNARY(T, hrint, h2rint, rintf(x)) \
    NUMBALITE_SIM_SIXTEEN_ATOMICS(T, ) \
    NUMBALITE_SIM_SIXTEEN_ATOMICS(T, _block) \
    NUMBALITE_SIM_SIXTEEN_ATOMICS(T, _system) \
    NUMBALITE_SIM_SHUFFLES(T) \
    NUMBALITE_SIM_SHUFFLES(T##2)

/* Conversions with the type in the name: N is half or bfloat16, S the short form of pairs
 * (half2). */
#define NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, I, to, via, wide) \
    NUMBALITE_SIM_INLINE I __##N##2##to##_rn(const T h) { \
        return static_cast<I>(numbalite_sim::saturated<I>(rintf(static_cast<float>(h)))); \
    } \
    NUMBALITE_SIM_INLINE I __##N##2##to##_rz(const T h) { \
        return static_cast<I>(numbalite_sim::saturated<I>(truncf(static_cast<float>(h)))); \
    } \
    NUMBALITE_SIM_INLINE I __##N##2##to##_ru(const T h) { \
        return static_cast<I>(numbalite_sim::saturated<I>(ceilf(static_cast<float>(h)))); \
    } \
    NUMBALITE_SIM_INLINE I __##N##2##to##_rd(const T h) { \
        return static_cast<I>(numbalite_sim::saturated<I>(floorf(static_cast<float>(h)))); \
    } \
    NUMBALITE_SIM_INLINE T __##to##2##N##_rn(const I i) { \
        return T(i); \
    } \
    inline T __##to##2##N##_rz(const I i) { \
        return numbalite_sim::sixteen_toward<T>(static_cast<double>(wide##_rz(i)), 0); \
    } \
    inline T __##to##2##N##_ru(const I i) { \
        return numbalite_sim::sixteen_toward<T>(static_cast<double>(wide##_ru(i)), 1); \
    } \
    inline T __##to##2##N##_rd(const I i) { \
        return numbalite_sim::sixteen_toward<T>(static_cast<double>(wide##_rd(i)), -1); \
    }

namespace numbalite_sim {

/* Rounds x towards 0 (direction 0), up (1) or down (-1): rounds to nearest, then moves the result
 * by one step if it is on the wrong side of x. */
template <class T> inline T sixteen_toward(double x, int direction) {
    T near(x);
    double got = static_cast<float>(near);
    if (got == x || got != got)
        return near;
    bool too_high = got > x, want_lower = direction < 0 || (direction == 0 && x > 0);
    if (too_high != want_lower)
        return near;
    unsigned short word = near.__x;
    bool negative = word & 0x8000;
    if ((word & 0x7fff) == 0)
        word = want_lower ? 0x8001 : 0x0001;
    else
        word += negative == want_lower ? 1 : -1;
    typename raw_of<T>::type raw = {word};
    return T(raw);
}

NUMBALITE_SIM_INLINE int widened_rz(int i) {
    return i;
}
NUMBALITE_SIM_INLINE int widened_ru(int i) {
    return i;
}
NUMBALITE_SIM_INLINE int widened_rd(int i) {
    return i;
}
NUMBALITE_SIM_INLINE unsigned widened_rz(unsigned i) {
    return i;
}
NUMBALITE_SIM_INLINE unsigned widened_ru(unsigned i) {
    return i;
}
NUMBALITE_SIM_INLINE unsigned widened_rd(unsigned i) {
    return i;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_SIXTEEN_CONVERSIONS(T, N) \
    NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, int, int, int, numbalite_sim::widened) \
    NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, unsigned, uint, uint, numbalite_sim::widened) \
    NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, short, short, int, numbalite_sim::widened) \
    NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, unsigned short, ushort, uint, numbalite_sim::widened) \
    NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, long long, ll, ll, __ll2double) \
    NUMBALITE_SIM_SIXTEEN_TO_INT(T, N, unsigned long long, ull, ull, __ull2double) \
    NUMBALITE_SIM_INLINE signed char __##N##2char_rz(const T h) { \
        return numbalite_sim::saturated<signed char>(truncf(static_cast<float>(h))); \
    } \
    NUMBALITE_SIM_INLINE unsigned char __##N##2uchar_rz(const T h) { \
        return numbalite_sim::saturated<unsigned char>(truncf(static_cast<float>(h))); \
    } \
    NUMBALITE_SIM_INLINE float __##N##2float(const T h) { \
        return static_cast<float>(h); \
    } \
    NUMBALITE_SIM_INLINE T __float2##N(const float f) { \
        return T(f); \
    } \
    NUMBALITE_SIM_INLINE T __float2##N##_rn(const float f) { \
        return T(f); \
    } \
    inline T __float2##N##_rz(const float f) { \
        return numbalite_sim::sixteen_toward<T>(f, 0); \
    } \
    inline T __float2##N##_ru(const float f) { \
        return numbalite_sim::sixteen_toward<T>(f, 1); \
    } \
    inline T __float2##N##_rd(const float f) { \
        return numbalite_sim::sixteen_toward<T>(f, -1); \
    } \
    NUMBALITE_SIM_INLINE T __double2##N(const double f) { \
        return T(f); \
    } \
    NUMBALITE_SIM_INLINE short __##N##_as_short(const T h) { \
        return static_cast<short>(h.__x); \
    } \
    NUMBALITE_SIM_INLINE unsigned short __##N##_as_ushort(const T h) { \
        return h.__x; \
    } \
    NUMBALITE_SIM_INLINE T __short_as_##N(const short i) { \
        return T(T##_raw{static_cast<unsigned short>(i)}); \
    } \
    NUMBALITE_SIM_INLINE T __ushort_as_##N(const unsigned short i) { \
        return T(T##_raw{i}); \
    } \
    NUMBALITE_SIM_INLINE T##2 __float2##N##2_rn(const float f) { \
        return T##2(T(f), T(f)); \
    } \
    NUMBALITE_SIM_INLINE T##2 __floats2##N##2_rn(const float x, const float y) { \
        return T##2(T(x), T(y)); \
    } \
    NUMBALITE_SIM_INLINE T##2 __float22##N##2_rn(const float2 v) { \
        return T##2(T(v.x), T(v.y)); \
    } \
    NUMBALITE_SIM_INLINE float2 __##N##22float2(const T##2 v) { \
        return float2{static_cast<float>(v.x), static_cast<float>(v.y)}; \
    } \
    NUMBALITE_SIM_INLINE T##2 __##N##2##N##2(const T h) { \
        return T##2(h, h); \
    } \
    NUMBALITE_SIM_INLINE T##2 __halves2##N##2(const T x, const T y) { \
        return T##2(x, y); \
    } \
    NUMBALITE_SIM_INLINE T __low2##N(const T##2 v) { \
        return v.x; \
    } \
    NUMBALITE_SIM_INLINE T __high2##N(const T##2 v) { \
        return v.y; \
    } \
    NUMBALITE_SIM_INLINE T##2 __low2##N##2(const T##2 v) { \
        return T##2(v.x, v.x); \
    } \
    NUMBALITE_SIM_INLINE T##2 __high2##N##2(const T##2 v) { \
        return T##2(v.y, v.y); \
    } \
    NUMBALITE_SIM_INLINE T##2 __lows2##N##2(const T##2 a, const T##2 b) { \
        return T##2(a.x, b.x); \
    } \
    NUMBALITE_SIM_INLINE T##2 __highs2##N##2(const T##2 a, const T##2 b) { \
        return T##2(a.y, b.y); \
    } \
    NUMBALITE_SIM_INLINE T##2 __lowhigh2highlow(const T##2 v) { \
        return T##2(v.y, v.x); \
    } \
    NUMBALITE_SIM_INLINE float __low2float(const T##2 v) { \
        return static_cast<float>(v.x); \
    } \
    NUMBALITE_SIM_INLINE float __high2float(const T##2 v) { \
        return static_cast<float>(v.y); \
    } \
    NUMBALITE_SIM_INLINE T##2 make_##N##2(const T x, const T y) { \
        return T##2(x, y); \
    }

#endif
