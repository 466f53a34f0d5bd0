/* core/scalar: one number on its way from a value to the bytes of another type, with NumPy's and
 * Python's kinds kept apart: an integer is no float that happens to be whole. */
#ifndef NL_CORE_SCALAR_H
#define NL_CORE_SCALAR_H

#include "core/dtype.h"

typedef enum nl_scalar_kind {
    NL_SCALAR_BOOL,
    NL_SCALAR_INT,  /* fits in int64 */
    NL_SCALAR_UINT, /* fits in uint64 only */
    NL_SCALAR_BIG,  /* an integer beyond both; `real` approximates it */
    NL_SCALAR_FLOAT,
    NL_SCALAR_COMPLEX,
} nl_scalar_kind;

typedef struct nl_scalar {
    nl_scalar_kind kind;
    int64_t integer; /* BOOL, INT; the bits of UINT */
    double real, imaginary;
} nl_scalar;

typedef enum nl_store { NL_STORED, NL_STORE_TYPE, NL_STORE_RANGE } nl_store;

/* The value of one element of a type that is not NL_OPAQUE. */
void nl_scalar_load(nl_scalar *scalar, nl_dtype dtype, const void *bytes);
/* Writes the value as `dtype` if the type admits it (bool to int to float to complex) and it fits.
 */
nl_store nl_scalar_store(const nl_scalar *scalar, nl_dtype dtype, void *bytes);
/* Writes the value as C casts it: integers wrap, floats are cut off or become infinite, of a
 * complex number the real part is left. */
void nl_scalar_cast(const nl_scalar *scalar, nl_dtype dtype, void *bytes);
/* Smallest and largest value of an integer type. */
void nl_scalar_limits(nl_dtype dtype, int64_t *low, uint64_t *high);

#endif
