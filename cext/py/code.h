/* py/code: the bits of a type code, by which overloads are selected; py/typecode computes the
 * codes. */
#ifndef NL_PY_CODE_H
#define NL_PY_CODE_H

#include "core/params.h"

/* A type code: bits 0-7 nl_dtype, 8-13 ndim, 14-15 nl_order, 16-19 kind (0 value, 1 array, 3
 * read-only array, 4 another object), 20-31 index of an object. The object with this index is the
 * dtype of records, dates and times; for kind 4 it is None, a dtype, or, for a tuple, the tuple's
 * class with the type codes of its items as bytes. Records and 0-D arrays are arrays for a kernel,
 * which accesses them by address, but values for a function on the host. */
#define NL_PY_CODE_ARRAY (1u << 16)
#define NL_PY_CODE_READONLY (2u << 16)
#define NL_PY_CODE_OBJECT (4u << 16)
#define NL_PY_CODE_INDEX_SHIFT 20
#define NL_PY_CODE_INDEX_MAX 4095

static inline uint32_t nl_py_code_of_array(nl_dtype dtype, int ndim, int is_c, int is_f,
                                           uint32_t index) {
    nl_order order = is_c ? NL_ORDER_C : is_f ? NL_ORDER_F : NL_ORDER_ANY;
    return (uint32_t)dtype | index << NL_PY_CODE_INDEX_SHIFT | NL_PY_CODE_ARRAY |
           (uint32_t)ndim << 8 | (uint32_t)order << 14;
}

#endif
