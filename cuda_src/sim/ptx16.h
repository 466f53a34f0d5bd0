/* sim/ptx16: PTX's arithmetic with numbers of 16 bits. */
#ifndef NUMBALITE_SIM_PTX16_H
#define NUMBALITE_SIM_PTX16_H

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
        static NUMBALITE_SIM_INLINE T neg(T a) { return a ^ 0x8000; } \
        static NUMBALITE_SIM_INLINE T abs(T a) { return a & 0x7fff; } \
        /* Rounded once: the double is made odd where it is not exact. */ \
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
        static NUMBALITE_SIM_INLINE T add(T a, T b) { \
            return of(name::add(low(a), low(b)), name::add(high(a), high(b))); \
        } \
        static NUMBALITE_SIM_INLINE T sub(T a, T b) { \
            return of(name::sub(low(a), low(b)), name::sub(high(a), high(b))); \
        } \
        static NUMBALITE_SIM_INLINE T mul(T a, T b) { \
            return of(name::mul(low(a), low(b)), name::mul(high(a), high(b))); \
        } \
        static NUMBALITE_SIM_INLINE T fma(T a, T b, T c) { \
            return of(name::fma(low(a), low(b), low(c)), name::fma(high(a), high(b), high(c))); \
        } \
        static NUMBALITE_SIM_INLINE T min(T a, T b) { \
            return of(name::min(low(a), low(b)), name::min(high(a), high(b))); \
        } \
        static NUMBALITE_SIM_INLINE T max(T a, T b) { \
            return of(name::max(low(a), low(b)), name::max(high(a), high(b))); \
        } \
        static NUMBALITE_SIM_INLINE T neg(T a) { return a ^ 0x80008000u; } \
        static NUMBALITE_SIM_INLINE T abs(T a) { return a & 0x7fff7fffu; } \
    }; \
    } \
    }
NUMBALITE_SIM_PTX16(f16, half_from_float, half_to_float)
NUMBALITE_SIM_PTX16(bf16, bfloat16_from_float, bfloat16_to_float)
#undef NUMBALITE_SIM_PTX16

namespace numbalite_sim {
namespace ptx {
/* Of atom and red; a pair is added one by one on a GPU, too, which nobody can see who adds alone. */
template <class Format> NUMBALITE_SIM_INLINE typename Format::T atomic_add(unsigned long long at, typename Format::T value) {
    typedef typename Format::T T;
    return update((T *)at, [value](T old) { return Format::add(old, value); });
}
/* Two numbers of 8 or 6 bits in 16, of 4 bits in 8. */
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
