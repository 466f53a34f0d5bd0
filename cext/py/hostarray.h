/* py/hostarray: the one file that knows NumPy's C API. The others see dtypes as plain objects, and
 * arrays and scalars through these functions. */
#ifndef NL_PY_HOSTARRAY_H
#define NL_PY_HOSTARRAY_H

#include "py/compat.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/scalar.h"

/* What kernels make of a dtype. */
typedef enum nl_element_class {
    NL_ELEMENT_PLAIN,   /* one of nl_dtype */
    NL_ELEMENT_RECORD,  /* structured or void, or defined outside NumPy: bytes */
    NL_ELEMENT_SWAPPED, /* the other byte order */
    NL_ELEMENT_TIME,    /* datetime64, timedelta64 */
    NL_ELEMENT_OTHER,   /* longdouble, text, ...: bytes that no kernel takes */
    NL_ELEMENT_OBJECT,  /* Python objects: cannot leave the host at all */
} nl_element_class;

typedef struct nl_element {
    nl_dtype dtype; /* NL_OPAQUE unless PLAIN */
    nl_element_class class;
    int64_t itemsize;
} nl_element;

typedef struct nl_host_array {
    PyObject *array; /* borrowed, as is descr */
    PyObject *descr;
    char *data;
    nl_element element;
    int writable;
    nl_layout layout;
} nl_host_array;

/* dtypes */
PyObject *nl_host_descr(PyObject *specification); /* numpy.dtype(specification): new reference */
/* The dtype of a new array: as in NumPy, texts without a length have one character. */
PyObject *nl_host_descr_of_new(PyObject *specification);
PyObject *nl_host_descr_plain(nl_dtype dtype); /* new reference */
int nl_host_is_descr(PyObject *obj);
nl_element nl_host_element(PyObject *descr);
int nl_host_same_dtype(PyObject *a, PyObject *b);
/* NULL-terminated name for messages, in `text`. */
const char *nl_host_dtype_name(PyObject *descr, char *text, size_t size);
/* Is it a structured dtype? */
int nl_host_has_fields(PyObject *descr);
/* Looks a field up: 1 and a new reference to its dtype, 0 if there is none, -1. */
int nl_host_field(PyObject *descr, PyObject *name, PyObject **field, int64_t *offset);

/* arrays */
int nl_host_is_array(PyObject *obj);
int nl_host_is_exact_array(PyObject *obj);
PyObject *nl_host_array_type(void); /* numpy.ndarray, borrowed */
int nl_host_array_read(PyObject *array, nl_host_array *out);
/* A new array whose elements lie without gaps: over `data`, which `base` keeps (a reference that it
 * takes), or over memory of NumPy's own, not initialised, if data is NULL. */
PyObject *nl_host_array_new(PyObject *descr, const nl_layout *layout, void *data, PyObject *base);
/* What the memory of an array belongs to, through all views: borrowed; NULL if it is the array's.
 */
PyObject *nl_host_array_root(PyObject *array);
int nl_host_array_writable(PyObject *array);
void nl_host_array_lock(PyObject *array); /* makes it read-only */
/* New references: numpy.asarray(obj); a copy in this machine's byte order. */
PyObject *nl_host_array_from(PyObject *obj);
PyObject *nl_host_array_native(PyObject *array);
/* to[...] = from */
int nl_host_array_assign(PyObject *to, PyObject *from);
/* A NumPy scalar of an array without dimensions: new reference. */
PyObject *nl_host_array_item(PyObject *array);

/* scalars */
int nl_host_is_scalar(PyObject *obj);       /* numpy.generic */
int nl_host_is_exact_scalar(PyObject *obj); /* a number of NumPy's own types, not of a subclass */
int nl_host_is_bool(PyObject *obj);         /* Python's, or NumPy's scalar */
int nl_host_is_scalar_type(PyObject *obj);  /* numpy.float32 itself */
/* A NumPy scalar of the element at `bytes`, which is copied. */
PyObject *nl_host_scalar(PyObject *descr, const void *bytes);
/* The dtype code and value (at most 16 bytes, in `bytes`) of a scalar of one of NumPy's plain types
 * or a sub-class; NL_OPAQUE for all others. */
nl_dtype nl_host_scalar_read(PyObject *scalar, void *bytes);
/* The value of any other numpy.generic as bytes: its dtype (new reference) and, for void scalars, a
 * pointer into the scalar; -1 on failure. */
int nl_host_void_read(PyObject *scalar, PyObject **descr, const void **bytes);
/* An array without dimensions over the memory of a void scalar, which may be an array's: new
 * reference. */
PyObject *nl_host_void_array(PyObject *scalar);
int nl_host_is_void(PyObject *obj);
/* datetime64, timedelta64 and arrays of one without dimensions: 1 and its 8 bytes at `bytes`, or 0
 * for anything else. */
int nl_host_time_read(PyObject *obj, void *bytes);
/* longdouble and clongdouble, rounded to double: 1, or 0 if it is neither. */
int nl_host_long_double_read(PyObject *scalar, nl_scalar *value);

#endif
