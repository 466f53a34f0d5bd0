/* core/scalar: converts between a number and the bytes of an array element. A finite value that
 * would become infinite does not fit; a loss of precision is permitted. */
#include "core/scalar.h"

#include <math.h>
#include <string.h>
#include "base/half.h"

static void set_integer(nl_scalar *s, int64_t value) {
    s->kind = NL_SCALAR_INT;
    s->integer = value;
}

static void set_unsigned(nl_scalar *s, uint64_t value) {
    s->kind = value > INT64_MAX ? NL_SCALAR_UINT : NL_SCALAR_INT;
    s->integer = (int64_t)value;
}

static void set_float(nl_scalar *s, double real) {
    s->kind = NL_SCALAR_FLOAT;
    s->real = real;
}

static void set_complex(nl_scalar *s, double real, double imaginary) {
    s->kind = NL_SCALAR_COMPLEX;
    s->real = real;
    s->imaginary = imaginary;
}

/* Loads a value from an address that may be unaligned. */
#define LOAD(type) (*(type *)memcpy(&(type){0}, bytes, sizeof(type)))

void nl_scalar_load(nl_scalar *s, nl_dtype dtype, const void *bytes) {
    const char *second = bytes;
    memset(s, 0, sizeof *s);
    switch (dtype) {
    case NL_BOOL:
        s->kind = NL_SCALAR_BOOL;
        s->integer = *(const unsigned char *)bytes != 0;
        return;
    case NL_INT8:
        set_integer(s, LOAD(int8_t));
        return;
    case NL_INT16:
        set_integer(s, LOAD(int16_t));
        return;
    case NL_INT32:
        set_integer(s, LOAD(int32_t));
        return;
    case NL_INT64:
        set_integer(s, LOAD(int64_t));
        return;
    case NL_UINT8:
        set_unsigned(s, LOAD(uint8_t));
        return;
    case NL_UINT16:
        set_unsigned(s, LOAD(uint16_t));
        return;
    case NL_UINT32:
        set_unsigned(s, LOAD(uint32_t));
        return;
    case NL_UINT64:
        set_unsigned(s, LOAD(uint64_t));
        return;
    case NL_FLOAT16:
        set_float(s, nl_half_to_double(LOAD(uint16_t)));
        return;
    case NL_FLOAT32:
        set_float(s, (double)LOAD(float));
        return;
    case NL_FLOAT64:
        set_float(s, LOAD(double));
        return;
    case NL_COMPLEX64: {
        float real = LOAD(float);
        bytes = second + sizeof real;
        set_complex(s, (double)real, (double)LOAD(float));
        return;
    }
    case NL_COMPLEX128: {
        double real = LOAD(double);
        bytes = second + sizeof real;
        set_complex(s, real, LOAD(double));
        return;
    }
    case NL_OPAQUE:
    case NL_DTYPE_COUNT:
        return;
    }
}

void nl_scalar_limits(nl_dtype dtype, int64_t *low, uint64_t *high) {
    unsigned bits = 8 * (unsigned)nl_dtype_size(dtype);
    if (dtype == NL_BOOL) {
        *low = 0;
        *high = 1;
    } else if (dtype >= NL_UINT8) {
        *low = 0;
        *high = UINT64_MAX >> (64 - bits);
    } else {
        *low = INT64_MIN >> (64 - bits);
        *high = (uint64_t)INT64_MAX >> (64 - bits);
    }
}

static nl_store store_integer(const nl_scalar *s, nl_dtype dtype, void *bytes) {
    int64_t low;
    uint64_t high;
    if (s->kind == NL_SCALAR_FLOAT || s->kind == NL_SCALAR_COMPLEX)
        return NL_STORE_TYPE;
    if (s->kind == NL_SCALAR_BIG)
        return NL_STORE_RANGE;
    nl_scalar_limits(dtype, &low, &high);
    int negative = s->kind != NL_SCALAR_UINT && s->integer < 0;
    if (negative ? s->integer < low : (uint64_t)s->integer > high)
        return NL_STORE_RANGE;
    /* the byte order is little-endian, so the low bytes come first */
    memcpy(bytes, &s->integer, nl_dtype_size(dtype));
    return NL_STORED;
}

static double scalar_to_double(const nl_scalar *s) {
    switch (s->kind) {
    case NL_SCALAR_BOOL:
    case NL_SCALAR_INT:
        return (double)s->integer;
    case NL_SCALAR_UINT:
        return (double)(uint64_t)s->integer;
    default:
        return s->real;
    }
}

static nl_store store_half(double value, void *bytes) {
    uint16_t half = nl_half_from_double(value);
    memcpy(bytes, &half, sizeof half);
    return (half & 0x7fff) == 0x7c00 && isfinite(value) ? NL_STORE_RANGE : NL_STORED;
}

static nl_store store_single(double value, void *bytes) {
    float single = (float)value;
    memcpy(bytes, &single, sizeof single);
    return isinf(single) && isfinite(value) ? NL_STORE_RANGE : NL_STORED;
}

nl_store nl_scalar_store(const nl_scalar *s, nl_dtype dtype, void *bytes) {
    char *second = bytes;
    nl_store real, imaginary;
    if (dtype >= NL_BOOL && dtype <= NL_UINT64)
        return store_integer(s, dtype, bytes);
    if (dtype < NL_COMPLEX64 && s->kind == NL_SCALAR_COMPLEX)
        return NL_STORE_TYPE;
    double value = scalar_to_double(s);
    /* an integer that is too large for a double must not be stored as infinity in a narrower
     * type */
    if (s->kind == NL_SCALAR_BIG && isinf(value))
        return NL_STORE_RANGE;
    switch (dtype) {
    case NL_FLOAT16:
        return store_half(value, bytes);
    case NL_FLOAT32:
        return store_single(value, bytes);
    case NL_FLOAT64:
        memcpy(bytes, &value, sizeof value);
        return NL_STORED;
    case NL_COMPLEX64:
        real = store_single(value, bytes);
        imaginary = store_single(s->imaginary, second + sizeof(float));
        return real == NL_STORED ? imaginary : real;
    case NL_COMPLEX128:
        memcpy(bytes, &value, sizeof value);
        memcpy(second + sizeof value, &s->imaginary, sizeof(double));
        return NL_STORED;
    default:
        return NL_STORE_TYPE;
    }
}

/* For values outside the range, returns the smallest int64, as the processor does, because C leaves
 * this case undefined. */
static int64_t scalar_to_integer(const nl_scalar *s, int is_unsigned) {
    if (s->kind <= NL_SCALAR_UINT)
        return s->integer;
    if (s->real > -0x1p63 && s->real < 0x1p63)
        return (int64_t)s->real;
    if (is_unsigned && s->real >= 0x1p63 && s->real < 0x1p64)
        return (int64_t)(uint64_t)s->real;
    return INT64_MIN;
}

void nl_scalar_cast(const nl_scalar *s, nl_dtype dtype, void *bytes) {
    nl_scalar value = *s;
    if (dtype == NL_BOOL) {
        double real = scalar_to_double(s);
        *(unsigned char *)bytes = real != 0 || isnan(real) || s->imaginary != 0;
    } else if (dtype <= NL_UINT64) {
        int64_t integer = scalar_to_integer(s, dtype >= NL_UINT8);
        memcpy(bytes, &integer, nl_dtype_size(dtype));
    } else {
        if (dtype < NL_COMPLEX64 && s->kind == NL_SCALAR_COMPLEX)
            value.kind = NL_SCALAR_FLOAT;
        if (s->kind == NL_SCALAR_BIG)
            value.kind = NL_SCALAR_FLOAT;
        /* if the value does not fit, the result is infinity */
        (void)nl_scalar_store(&value, dtype, bytes);
    }
}
