/* core/dtype: the table of element types: names, kinds, sizes and alignments. */
#include "core/dtype.h"

#include <string.h>

/* A complex number is aligned like its real part, as in NumPy and in complex<T> of this project's
 * headers. */
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
