/* core/dtype: the element types of arrays. The codes of element types are small and stable, because
 * argument matching compares them. */
#ifndef NL_CORE_DTYPE_H
#define NL_CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

typedef enum nl_dtype {
    NL_OPAQUE = 0, /* bytes of a given size: structs, records, void* */
    NL_BOOL,
    NL_INT8,
    NL_INT16,
    NL_INT32,
    NL_INT64,
    NL_UINT8,
    NL_UINT16,
    NL_UINT32,
    NL_UINT64,
    NL_FLOAT16,
    NL_FLOAT32,
    NL_FLOAT64,
    NL_COMPLEX64,
    NL_COMPLEX128,
    NL_DTYPE_COUNT
} nl_dtype;

static inline int nl_dtype_is_integer(nl_dtype dtype) {
    return dtype >= NL_INT8 && dtype <= NL_UINT64;
}
size_t nl_dtype_size(nl_dtype dtype);      /* bytes; 0 for NL_OPAQUE */
size_t nl_dtype_align(nl_dtype dtype);     /* bytes; complex: of one part */
const char *nl_dtype_name(nl_dtype dtype); /* NumPy's name */
/* Returns the dtype of a NumPy name ("float32"), NL_OPAQUE for "", or -1 for an unknown name. */
int nl_dtype_from_name(const char *name);
/* Returns the dtype of NumPy's kind letter ('b', 'i', 'u', 'f', 'c') and size; returns NL_OPAQUE if
 * no dtype has that kind and size. */
nl_dtype nl_dtype_from_kind(char kind, int64_t size);

#endif
