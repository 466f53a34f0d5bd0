/* core/dtype: one table of element types, and half precision, which C has no portable type for. */
#include "core/dtype.h"

#include <string.h>

/* Complex numbers are aligned as one of their parts, which is what NumPy and our complex<T> have.
 */
static const struct {
    const char *name;
    uint8_t size, align;
    char kind;
} dtypes[NL_DTYPE_COUNT] = {
    [NL_OPAQUE] = {"", 0, 1, 'V'},
    [NL_BOOL] = {"bool", 1, 1, 'b'},
    [NL_INT8] = {"int8", 1, 1, 'i'},
    [NL_INT16] = {"int16", 2, 2, 'i'},
    [NL_INT32] = {"int32", 4, 4, 'i'},
    [NL_INT64] = {"int64", 8, 8, 'i'},
    [NL_UINT8] = {"uint8", 1, 1, 'u'},
    [NL_UINT16] = {"uint16", 2, 2, 'u'},
    [NL_UINT32] = {"uint32", 4, 4, 'u'},
    [NL_UINT64] = {"uint64", 8, 8, 'u'},
    [NL_FLOAT16] = {"float16", 2, 2, 'f'},
    [NL_FLOAT32] = {"float32", 4, 4, 'f'},
    [NL_FLOAT64] = {"float64", 8, 8, 'f'},
    [NL_COMPLEX64] = {"complex64", 8, 4, 'c'},
    [NL_COMPLEX128] = {"complex128", 16, 8, 'c'},
};

size_t nl_dtype_size(nl_dtype dtype) {
    return dtypes[dtype].size;
}

size_t nl_dtype_align(nl_dtype dtype) {
    return dtypes[dtype].align;
}

const char *nl_dtype_name(nl_dtype dtype) {
    return dtypes[dtype].name;
}

int nl_dtype_from_name(const char *name) {
    for (int i = 0; i < NL_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

nl_dtype nl_dtype_from_kind(char kind, int64_t size) {
    for (int i = NL_OPAQUE + 1; i < NL_DTYPE_COUNT; i++)
        if (dtypes[i].kind == kind && dtypes[i].size == size)
            return (nl_dtype)i;
    return NL_OPAQUE;
}

/* The 53-bit significand is cut to 11 bits (fewer for subnormals, whose exponent is -14 at least)
 * and rounded by what is cut off; a carry runs into the exponent by itself, up to infinity. */
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
    /* kept holds the implicit bit (1 << 10) for normal numbers: it adds one to the exponent field
     */
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

uint16_t nl_bfloat16_from_double(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    /* the float towards zero, made odd where it is not exact: no tie is seen that is none */
    if (f != value)
        bits = (bits - (__builtin_fabs(f) > __builtin_fabs(value))) | 1;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
