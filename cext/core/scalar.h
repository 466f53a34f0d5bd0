/* core/scalar: a number of any kind, for conversions to the bytes of a dtype. The struct records
 * the kind of the number (bool, integer, float, complex), because the integer 1 and the float 1.0
 * convert differently. */
#ifndef NL_CORE_SCALAR_H
#define NL_CORE_SCALAR_H

#include "core/dtype.h"

typedef enum nl_scalar_kind {
    NL_SCALAR_BOOL,
    NL_SCALAR_INT,  /* fits in int64 */
    NL_SCALAR_UINT, /* fits only in uint64 */
    NL_SCALAR_BIG,  /* a larger integer; `real` approximates it */
    NL_SCALAR_FLOAT,
    NL_SCALAR_COMPLEX,
} nl_scalar_kind;

typedef struct nl_scalar {
    nl_scalar_kind kind;
    int64_t integer; /* value for BOOL and INT, or the bits for UINT */
    double real, imaginary;
} nl_scalar;

typedef enum nl_store { NL_STORED, NL_STORE_TYPE, NL_STORE_RANGE } nl_store;

/* Reads one element of any dtype except NL_OPAQUE. */
void nl_scalar_load(nl_scalar *scalar, nl_dtype dtype, const void *bytes);
/* Writes the value as `dtype`, if the conversion is permitted (bool to int to float to complex) and
 * the value fits. */
nl_store nl_scalar_store(const nl_scalar *scalar, nl_dtype dtype, void *bytes);
/* Writes the value as a C cast does: integers wrap, floats are truncated or become infinite, and
 * the imaginary part of a complex number is dropped. */
void nl_scalar_cast(const nl_scalar *scalar, nl_dtype dtype, void *bytes);
/* Sets *low and *high to the smallest and the largest value of an integer type. */
void nl_scalar_limits(nl_dtype dtype, int64_t *low, uint64_t *high);

#endif
