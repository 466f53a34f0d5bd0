/* sim/intrinsics: defines CUDA's integer intrinsics, and reinterpreting casts. */
#ifndef NUMBALITE_SIM_INTRINSICS_H
#define NUMBALITE_SIM_INTRINSICS_H

/* ---- counting and permuting bits ---- */

NUMBALITE_SIM_INLINE int __popc(unsigned x) {
    return __builtin_popcount(x);
}
NUMBALITE_SIM_INLINE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
NUMBALITE_SIM_INLINE int __clz(int x) {
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
NUMBALITE_SIM_INLINE int __clzll(long long x) {
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
NUMBALITE_SIM_INLINE int __ffs(int x) {
    return __builtin_ffs(x);
}
NUMBALITE_SIM_INLINE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}

NUMBALITE_SIM_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
NUMBALITE_SIM_INLINE unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
NUMBALITE_SIM_INLINE unsigned short __nv_bswap16(unsigned short x) {
    return __builtin_bswap16(x);
}
NUMBALITE_SIM_INLINE unsigned __nv_bswap32(unsigned x) {
    return __builtin_bswap32(x);
}
NUMBALITE_SIM_INLINE unsigned long long __nv_bswap64(unsigned long long x) {
    return __builtin_bswap64(x);
}

/* Byte i of the result is the byte of y:x whose index is in the low three bits of nibble i of the
 * selector. */
NUMBALITE_SIM_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned byte = static_cast<unsigned>(both >> (8 * (selector >> (4 * i) & 7))) & 255;
        result |= byte << (8 * i);
    }
    return result;
}

NUMBALITE_SIM_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both << (shift & 31) >> 32);
}
NUMBALITE_SIM_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both >> (shift & 31));
}
NUMBALITE_SIM_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
NUMBALITE_SIM_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* Returns the position of the offset-th set bit from `base` on, upwards for a positive offset. */
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
    if (offset == 0)
        return mask >> (base & 31) & 1 ? base : ~0u;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return static_cast<unsigned>(at);
    return ~0u;
}

/* ---- arithmetic ---- */

NUMBALITE_SIM_INLINE int __mulhi(int a, int b) {
    return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
NUMBALITE_SIM_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
NUMBALITE_SIM_INLINE long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
NUMBALITE_SIM_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
NUMBALITE_SIM_INLINE int mulhi(int a, int b) {
    return __mulhi(a, b);
}
NUMBALITE_SIM_INLINE unsigned mulhi(unsigned a, unsigned b) {
    return __umulhi(a, b);
}
NUMBALITE_SIM_INLINE int __mul24(int a, int b) {
    /* sign-extends 24 bits; the product wraps around */
    return static_cast<int>(static_cast<unsigned>(static_cast<int>(a * 256u) >> 8) *
                            static_cast<unsigned>(static_cast<int>(b * 256u) >> 8));
}
NUMBALITE_SIM_INLINE unsigned __umul24(unsigned a, unsigned b) {
    return (a & 0xffffffu) * (b & 0xffffffu);
}
NUMBALITE_SIM_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) {
    return (a > b ? a - b : b - a) + c;
}
NUMBALITE_SIM_INLINE unsigned __sad(int a, int b, unsigned c) {
    unsigned x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    return (a > b ? x - y : y - x) + c;
}
NUMBALITE_SIM_INLINE int __hadd(int a, int b) {
    return (a & b) + ((a ^ b) >> 1);
}
NUMBALITE_SIM_INLINE int __rhadd(int a, int b) {
    return (a | b) - ((a ^ b) >> 1);
}
NUMBALITE_SIM_INLINE unsigned __uhadd(unsigned a, unsigned b) {
    return (a & b) + ((a ^ b) >> 1);
}
NUMBALITE_SIM_INLINE unsigned __urhadd(unsigned a, unsigned b) {
    return (a | b) - ((a ^ b) >> 1);
}

/* ---- dot products of bytes and halves ---- */

namespace numbalite_sim {
template <class Byte> NUMBALITE_SIM_INLINE unsigned byte_of(unsigned x, int i) {
    return static_cast<unsigned>(static_cast<Byte>(x >> (8 * i)));
}
template <class A, class B> NUMBALITE_SIM_INLINE unsigned dot4(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i)
        c += byte_of<A>(a, i) * byte_of<B>(b, i);
    return c;
}
template <class Half, class Byte>
NUMBALITE_SIM_INLINE unsigned dot2(unsigned a, unsigned b, unsigned c, int first) {
    for (int i = 0; i < 2; ++i)
        c += static_cast<unsigned>(static_cast<Half>(a >> (16 * i))) * byte_of<Byte>(b, first + i);
    return c;
}
} // namespace numbalite_sim

NUMBALITE_SIM_INLINE int __dp4a(int a, int b, int c) {
    return static_cast<int>(numbalite_sim::dot4<signed char, signed char>(a, b, c));
}
NUMBALITE_SIM_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    return numbalite_sim::dot4<unsigned char, unsigned char>(a, b, c);
}
NUMBALITE_SIM_INLINE int __dp4a(char4 a, char4 b, int c) {
    return __dp4a(numbalite_sim::bits<int>(a), numbalite_sim::bits<int>(b), c);
}
NUMBALITE_SIM_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
    return __dp4a(numbalite_sim::bits<unsigned>(a), numbalite_sim::bits<unsigned>(b), c);
}
#define NUMBALITE_SIM_DP2A(name, first) \
    NUMBALITE_SIM_INLINE int name(int a, int b, int c) { \
        return static_cast<int>(numbalite_sim::dot2<short, signed char>(a, b, c, first)); \
    } \
    NUMBALITE_SIM_INLINE unsigned name(unsigned a, unsigned b, unsigned c) { \
        return numbalite_sim::dot2<unsigned short, unsigned char>(a, b, c, first); \
    } \
    NUMBALITE_SIM_INLINE int name(short2 a, char4 b, int c) { \
        return name(numbalite_sim::bits<int>(a), numbalite_sim::bits<int>(b), c); \
    } \
    NUMBALITE_SIM_INLINE unsigned name(ushort2 a, uchar4 b, unsigned c) { \
        return name(numbalite_sim::bits<unsigned>(a), numbalite_sim::bits<unsigned>(b), c); \
    }
NUMBALITE_SIM_DP2A(__dp2a_lo, 0)
NUMBALITE_SIM_DP2A(__dp2a_hi, 2)
#undef NUMBALITE_SIM_DP2A

/* ---- reinterpreting casts ---- */

NUMBALITE_SIM_INLINE int __float_as_int(float x) {
    return numbalite_sim::bits<int>(x);
}
NUMBALITE_SIM_INLINE unsigned __float_as_uint(float x) {
    return numbalite_sim::bits<unsigned>(x);
}
NUMBALITE_SIM_INLINE float __int_as_float(int x) {
    return numbalite_sim::bits<float>(x);
}
NUMBALITE_SIM_INLINE float __uint_as_float(unsigned x) {
    return numbalite_sim::bits<float>(x);
}
NUMBALITE_SIM_INLINE long long __double_as_longlong(double x) {
    return numbalite_sim::bits<long long>(x);
}
NUMBALITE_SIM_INLINE double __longlong_as_double(long long x) {
    return numbalite_sim::bits<double>(x);
}
NUMBALITE_SIM_INLINE int __double2hiint(double x) {
    return static_cast<int>(numbalite_sim::bits<unsigned long long>(x) >> 32);
}
NUMBALITE_SIM_INLINE int __double2loint(double x) {
    return static_cast<int>(numbalite_sim::bits<unsigned long long>(x));
}
NUMBALITE_SIM_INLINE double __hiloint2double(int high, int low) {
    return numbalite_sim::bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(high))
                                           << 32 |
                                       static_cast<unsigned>(low));
}

#endif
