/* sim/ptx16: PTX's 16-bit floating-point arithmetic. */
#ifndef NUMBALITE_SIM_PTX16_H
#define NUMBALITE_SIM_PTX16_H

/* Applies an operation to each number of a pair. */
#define NUMBALITE_SIM_PTX16_EACH(name, operation) \
    static NUMBALITE_SIM_INLINE T operation(T a) { return of(name::operation(low(a)), name::operation(high(a))); }
#define NUMBALITE_SIM_PTX16_EACH2(name, operation) \
    static NUMBALITE_SIM_INLINE T operation(T a, T b) { \
        return of(name::operation(low(a), low(b)), name::operation(high(a), high(b))); \
    }
#define NUMBALITE_SIM_PTX16(name, from_float, to_float) \
    namespace numbalite_sim { \
    namespace ptx { \
    struct name { \
        static NUMBALITE_SIM_INLINE float real(unsigned short a) { return to_float(a); } \
        static NUMBALITE_SIM_INLINE unsigned short from(float a) { return from_float(a); } \
        typedef unsigned short T; \
        static NUMBALITE_SIM_INLINE T add(T a, T b) { return from(real(a) + real(b)); } \
        static NUMBALITE_SIM_INLINE T sub(T a, T b) { return from(real(a) - real(b)); } \
        static NUMBALITE_SIM_INLINE T mul(T a, T b) { return from(real(a) * real(b)); } \
        static NUMBALITE_SIM_INLINE T fma(T a, T b, T c) { return fused(real(a), real(b), real(c)); } \
        static NUMBALITE_SIM_INLINE T min(T a, T b) { return from(ptx::min<float>(real(a), real(b))); } \
        static NUMBALITE_SIM_INLINE T max(T a, T b) { return from(ptx::max<float>(real(a), real(b))); } \
        static NUMBALITE_SIM_INLINE T min_nan(T a, T b) { return is_nan(a) || is_nan(b) ? 0x7fff : min(a, b); } \
        static NUMBALITE_SIM_INLINE T max_nan(T a, T b) { return is_nan(a) || is_nan(b) ? 0x7fff : max(a, b); } \
        static NUMBALITE_SIM_INLINE T neg(T a) { return a ^ 0x8000; } \
        static NUMBALITE_SIM_INLINE T abs(T a) { return a & 0x7fff; } \
        static NUMBALITE_SIM_INLINE T tanh(T a) { return from(::tanh(real(a))); } \
        static NUMBALITE_SIM_INLINE T ex2(T a) { return from(::exp2(real(a))); } \
        static NUMBALITE_SIM_INLINE T sat(T a) { return from(saturate(real(a))); } \
        static NUMBALITE_SIM_INLINE T relu(T a) { return is_nan(a) ? 0x7fff : a & 0x8000 ? 0 : a; } \
        static NUMBALITE_SIM_INLINE bool is_nan(T a) { return real(a) != real(a); } \
        /* The result is rounded once, because an inexact double is rounded to odd first. */ \
        static NUMBALITE_SIM_INLINE T fused(double a, double b, double c) { \
            double product = a * b, sum = product + c; \
            double rest = sum - product, error = (product - (sum - rest)) + (c - rest); \
            float narrow = static_cast<float>(sum); \
            if ((narrow != sum || error != 0) && narrow - narrow == 0) { \
                unsigned word = bits<unsigned>(narrow); \
                double off = (sum - narrow) + error; \
                if (off != 0 && !(word & 1)) \
                    narrow = bits<float>((off > 0) == (narrow > 0) ? word | 1 : word - 1); \
            } \
            return from(narrow); \
        } \
    }; \
    struct name##x2 { \
        typedef unsigned T; \
        static NUMBALITE_SIM_INLINE unsigned short low(T a) { return static_cast<unsigned short>(a); } \
        static NUMBALITE_SIM_INLINE unsigned short high(T a) { return static_cast<unsigned short>(a >> 16); } \
        static NUMBALITE_SIM_INLINE T of(unsigned short a, unsigned short b) { return a | static_cast<T>(b) << 16; } \
        static NUMBALITE_SIM_INLINE T both(float a, float b) { return of(name::from(a), name::from(b)); } \
        NUMBALITE_SIM_PTX16_EACH2(name, add) \
        NUMBALITE_SIM_PTX16_EACH2(name, sub) \
        NUMBALITE_SIM_PTX16_EACH2(name, mul) \
        static NUMBALITE_SIM_INLINE T fma(T a, T b, T c) { \
            return of(name::fma(low(a), low(b), low(c)), name::fma(high(a), high(b), high(c))); \
        } \
        NUMBALITE_SIM_PTX16_EACH2(name, min) \
        NUMBALITE_SIM_PTX16_EACH2(name, max) \
        NUMBALITE_SIM_PTX16_EACH2(name, min_nan) \
        NUMBALITE_SIM_PTX16_EACH2(name, max_nan) \
        NUMBALITE_SIM_PTX16_EACH(name, tanh) \
        NUMBALITE_SIM_PTX16_EACH(name, ex2) \
        NUMBALITE_SIM_PTX16_EACH(name, sat) \
        NUMBALITE_SIM_PTX16_EACH(name, relu) \
        static NUMBALITE_SIM_INLINE T neg(T a) { return a ^ 0x80008000u; } \
        static NUMBALITE_SIM_INLINE T abs(T a) { return a & 0x7fff7fffu; } \
    }; \
    } \
    }
NUMBALITE_SIM_PTX16(f16, half_from_float, half_to_float)
NUMBALITE_SIM_PTX16(bf16, bfloat16_from_float, bfloat16_to_float)
#undef NUMBALITE_SIM_PTX16
#undef NUMBALITE_SIM_PTX16_EACH
#undef NUMBALITE_SIM_PTX16_EACH2

namespace numbalite_sim {
namespace ptx {
/* Two floats in 64 bits. */
struct f32x2 {
    typedef unsigned long long T;
    static NUMBALITE_SIM_INLINE float low(T a) { return bits<float>(static_cast<unsigned>(a)); }
    static NUMBALITE_SIM_INLINE float high(T a) { return bits<float>(static_cast<unsigned>(a >> 32)); }
    static NUMBALITE_SIM_INLINE T of(float a, float b) { return bits<unsigned>(a) | static_cast<T>(bits<unsigned>(b)) << 32; }
    static NUMBALITE_SIM_INLINE T add(T a, T b) { return of(low(a) + low(b), high(a) + high(b)); }
    static NUMBALITE_SIM_INLINE T sub(T a, T b) { return of(low(a) - low(b), high(a) - high(b)); }
    static NUMBALITE_SIM_INLINE T mul(T a, T b) { return of(low(a) * low(b), high(a) * high(b)); }
    static NUMBALITE_SIM_INLINE T fma(T a, T b, T c) {
        return of(::fmaf(low(a), low(b), low(c)), ::fmaf(high(a), high(b), high(c)));
    }
};
/* Implements atom and red on pairs. As on a GPU, the numbers of a pair are added one by one, which
 * a program that only adds cannot observe. */
template <class Format> NUMBALITE_SIM_INLINE typename Format::T atomic_add(unsigned long long at, typename Format::T value) {
    typedef typename Format::T T;
    return update((T *)at, [value](T old) { return Format::add(old, value); });
}
/* Types that contain two numbers: of 8 or 6 bits in 16 bits, or of 4 bits in 8 bits. */
template <class Format> struct pair {
    static constexpr int place = Format::width > 4 ? 8 : 4;
    static NUMBALITE_SIM_INLINE unsigned of(float x) { return Format::of(x != x ? bits<float>(0x7fffffffu) : x, true); }
};
template <class Format> NUMBALITE_SIM_INLINE unsigned short pair_of_floats(float low, float high) {
    typedef pair<Format> two;
    return static_cast<unsigned short>(two::of(low) | two::of(high) << two::place);
}
template <class Format> NUMBALITE_SIM_INLINE unsigned short pair_of_halves(unsigned halves) {
    return pair_of_floats<Format>(f16::real(f16x2::low(halves)), f16::real(f16x2::high(halves)));
}
template <class Format> NUMBALITE_SIM_INLINE unsigned halves_of_pair(unsigned short word) {
    return f16x2::both(Format::value(word), Format::value(word >> pair<Format>::place));
}
} // namespace ptx
} // namespace numbalite_sim

#endif
