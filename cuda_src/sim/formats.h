/* sim/formats: converts numbers to and from floating-point formats of 16 bits and fewer. */
#ifndef NUMBALITE_SIM_FORMATS_H
#define NUMBALITE_SIM_FORMATS_H

namespace numbalite_sim {

/* Converts a double to a float that still rounds to the same narrower number: inexact results have
 * an odd last bit. */
inline float round_to_odd(double x) {
    float near = static_cast<float>(x);
    if (static_cast<double>(near) == x || near != near)
        return near;
    unsigned word = bits<unsigned>(near);
    if (__builtin_fabs(static_cast<double>(near)) > __builtin_fabs(x))
        --word; /* towards 0 */
    return bits<float>(word | 1);
}

/* Returns the nearest half, ties to even. */
NUMBALITE_SIM_INLINE unsigned short half_from_float(float f) {
    unsigned word = bits<unsigned>(f), sign = word >> 16 & 0x8000;
    word &= 0x7fffffff;
    if (word >= 0x477ff000) { /* at least 65520, infinite, or NaN */
#if defined(NUMBALITE_SIM_CHECKED) && NUMBALITE_SIM_CHECKED & 64 /* nan */
        if (word < 0x7f800000)
            nl_sim_report_not_finite(__builtin_inf(), f, f, 'h');
#endif
        return static_cast<unsigned short>(word > 0x7f800000 ? 0x7fff : sign | 0x7c00);
    }
    if (word < 0x38800000) /* subnormal: adding 0.5f rounds to the last bit of a half */
        return static_cast<unsigned short>(sign |
                                           (bits<unsigned>(bits<float>(word) + 0.5f) - 0x3f000000));
    word += 0xc8000fff + (word >> 13 & 1);
    return static_cast<unsigned short>(sign | word >> 13);
}
NUMBALITE_SIM_INLINE float half_to_float(unsigned short h) {
    unsigned word = (h & 0x7fffu) << 13, exponent = word & 0x0f800000;
    float magnitude;
    if (exponent == 0x0f800000)
        magnitude = bits<float>(word + 0x70000000);
    else if (exponent == 0)
        magnitude = bits<float>(word + 0x38800000) - 6.103515625e-05f;
    else
        magnitude = bits<float>(word + 0x38000000);
    return bits<float>(bits<unsigned>(magnitude) | (h & 0x8000u) << 16);
}

/* Returns the nearest bfloat16, ties to even. */
NUMBALITE_SIM_INLINE unsigned short bfloat16_from_float(float f) {
    unsigned word = bits<unsigned>(f);
    if ((word & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return static_cast<unsigned short>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}
NUMBALITE_SIM_INLINE float bfloat16_to_float(unsigned short h) {
    return bits<float>(static_cast<unsigned>(h) << 16);
}

/* Returns the value of a tf32 number: a float of which a GPU uses 19 bits. */
NUMBALITE_SIM_INLINE float tf32_to_float(unsigned word) {
    return bits<float>(word & ~0x1fffu);
}
NUMBALITE_SIM_INLINE float tf32_nearest(float x) { /* cvt.rna.tf32.f32 */
    unsigned word = bits<unsigned>(x);
    if ((word & 0x7f800000u) == 0x7f800000u)
        return x;
    return bits<float>((word + 0x1000u) & ~0x1fffu);
}

/* Formats of 8, 6 and 4 bits: sign, exponent, and `digits` bits of the fraction. `largest` is the
 * code of the largest finite number; larger codes are NaN, or infinity and NaN, or do not exist. */
template <int exponent, int digits, int largest_code, bool infinite = false> struct narrow {
    static constexpr int width = 1 + exponent + digits;
    static constexpr int bias = (1 << (exponent - 1)) - 1;
    static constexpr int largest = largest_code;
    static constexpr int magnitudes = 1 << (width - 1); /* without the sign bit */
    static constexpr bool has_nan = largest < magnitudes - 1;

    static NUMBALITE_SIM_INLINE double power(int e) {
        return bits<double>(static_cast<unsigned long long>(1023 + e) << 52);
    }
    static NUMBALITE_SIM_INLINE float value(unsigned x) {
        int code = x & (magnitudes - 1), e = code >> digits, fraction = code & ((1 << digits) - 1);
        if (code > largest)
            return infinite && code == largest + 1 ? bits<float>(x & magnitudes ? 0xff800000u : 0x7f800000u)
                                                   : bits<float>(0x7fffffffu);
        double size = e ? (fraction + (1 << digits)) * power(e - bias - digits) : fraction * power(1 - bias - digits);
        return static_cast<float>(x & magnitudes ? -size : size);
    }
    /* If the format has no NaN, the caller must handle NaN. */
    static NUMBALITE_SIM_INLINE unsigned of(double x, bool saturates, bool to_zero = false) {
        unsigned long long word = bits<unsigned long long>(x), size = word & ~(1ull << 63);
        unsigned sign = word >> 63 ? magnitudes : 0;
        if (size > 0x7ffull << 52)
            return !has_nan ? unsigned(largest)
                            : sign | (infinite ? (magnitudes - 2) | static_cast<unsigned>(word >> 50 & 3)
                                               : unsigned(magnitudes - 1));
        unsigned beyond = saturates || !has_nan ? largest : largest + 1;
        if (size == 0x7ffull << 52)
            return sign | beyond;
        int e = static_cast<int>(size >> 52) - 1023;
        e = e < 1 - bias ? 1 - bias : e;
        double scaled = bits<double>(size) * power(digits - e);
        double whole = to_zero ? __builtin_floor(scaled) : __builtin_rint(scaled);
        unsigned code = static_cast<unsigned>(static_cast<int>(whole) + ((e + bias - 1) << digits));
        return sign | (code > static_cast<unsigned>(largest) ? beyond : code);
    }
    template <class I> static NUMBALITE_SIM_INLINE unsigned of_integer(I x) {
        return of(static_cast<float>(x), true);
    }
};
typedef narrow<4, 3, 0x7e> e4m3;
typedef narrow<5, 2, 0x7b, true> e5m2;
typedef narrow<2, 3, 0x1f> e2m3;
typedef narrow<3, 2, 0x1f> e3m2;
typedef narrow<2, 1, 0x7> e2m1;

/* A format of scale factors, which consists only of the exponent of a power of two. 0xff is NaN. */
struct e8m0 {
    static NUMBALITE_SIM_INLINE float value(unsigned x) {
        x &= 0xff;
        return bits<float>(x == 0 ? 0x00400000u : x == 0xff ? 0x7fffffffu : x << 23);
    }
    /* The sign of the number is ignored. A number that is not a power of two is rounded up to
     * one. */
    static NUMBALITE_SIM_INLINE unsigned of(double x, bool saturates, bool to_zero = false) {
        constexpr unsigned long long infinity = 0x7ffull << 52;
        unsigned long long size = bits<unsigned long long>(x) & ~(1ull << 63);
        if (size > infinity)
            return 0xff;
        int code = static_cast<int>(size >> 52) - 1023 + 127 + (!to_zero && size << 12);
        int largest = saturates || (to_zero && size < infinity) ? 0xfe : 0xff;
        return static_cast<unsigned>(code < 0 ? 0 : code > largest ? largest : code);
    }
    template <class I> static NUMBALITE_SIM_INLINE unsigned of_integer(I x) {
        unsigned long long size = static_cast<unsigned long long>(x);
        size = x < 0 ? 0 - size : size;
        unsigned long long high = size >> 32;
        bool is_more = static_cast<unsigned>(size) != 0; /* a double cannot represent all digits */
        return of(high ? static_cast<double>(2 * high + is_more) * 2147483648.0 : static_cast<double>(size), true);
    }
};

} // namespace numbalite_sim

#endif
