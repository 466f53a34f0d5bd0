/* base/half: conversions of half precision and bfloat16, for which C has no portable type. */
#include "base/half.h"

#include <string.h>

/* Truncates the 53-bit significand to 11 bits (fewer for subnormals, whose exponent is at least
 * -14), then rounds to nearest even according to the removed bits. A carry of the rounding
 * increments the exponent field; the result may be infinity. */
uint16_t nl_half_from_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & 0xfffffffffffffULL;
    if (exponent == 1024)
        return (uint16_t)(sign | 0x7c00 | (fraction ? 0x200 : 0));
    if (exponent > 15)
        return sign | 0x7c00;
    if (exponent < -25)
        return sign;
    int cut = exponent < -14 ? 42 + (-14 - exponent) : 42;
    uint64_t significand = fraction | 1ULL << 52;
    uint64_t kept = significand >> cut, rest = significand & ((1ULL << cut) - 1);
    uint64_t half_way = 1ULL << (cut - 1);
    if (rest > half_way || (rest == half_way && (kept & 1)))
        kept++;
    /* for normal numbers, the implicit bit (1 << 10) of `kept` adds 1 to the exponent field */
    uint64_t field = exponent < -14 ? 0 : (uint64_t)(exponent + 14) << 10;
    return (uint16_t)(sign | (field + kept));
}

double nl_half_to_double(uint16_t half) {
    int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    double magnitude;
    if (exponent == 0x1f)
        magnitude = fraction ? __builtin_nan("") : __builtin_inf();
    else if (exponent == 0)
        magnitude = fraction * 0x1p-24;
    else
        magnitude = (fraction + 1024) * 0x1p-25 * (double)(1ULL << exponent);
    return half & 0x8000 ? -magnitude : magnitude;
}

uint16_t nl_half_bfloat16_from_double(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    /* if the float is not exact, uses the float rounded towards zero with its last bit set (round
     * to odd) then the second rounding, to bfloat16, does not mistake an inexact value for a tie */
    if (f != value)
        bits = (bits - (__builtin_fabs(f) > __builtin_fabs(value))) | 1;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float nl_half_bfloat16_to_float(uint16_t bits) {
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}
