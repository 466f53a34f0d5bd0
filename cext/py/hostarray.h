/* py/hostarray: functions for NumPy's dtypes, arrays and scalars. Only hostarray.c and
 * hostufunc.c use NumPy's C API; for other files, dtypes are plain objects. */
#ifndef NL_PY_HOSTARRAY_H
#define NL_PY_HOSTARRAY_H

#include "py/compat.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/scalar.h"

/* The kind of a dtype for kernels. */
typedef enum nl_element_class {
    NL_ELEMENT_PLAIN,   /* one of nl_dtype */
    NL_ELEMENT_RECORD,  /* structured dtypes, void, and dtypes of other libraries: copied as plain
                         * bytes */
    NL_ELEMENT_SWAPPED, /* numbers in the byte order that is not the machine's */
    NL_ELEMENT_TIME,    /* datetime64, timedelta64 */
    NL_ELEMENT_OTHER,   /* longdouble, strings and similar types, which no kernel accepts */
    NL_ELEMENT_OBJECT,  /* Python objects, which cannot be copied to a device */
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
PyObject *nl_py_hostarray_convert_descr(
    PyObject *specification); /* numpy.dtype(specification): new reference */
/* Returns the dtype of a new array: as in NumPy, strings without a length have one character.
 * Returns a new reference. */
PyObject *nl_py_hostarray_descr_of_new_array(PyObject *specification);
PyObject *nl_py_hostarray_descr_of_dtype(nl_dtype dtype); /* new reference */
int nl_py_hostarray_is_descr(PyObject *obj);
nl_element nl_py_hostarray_element_of_descr(PyObject *descr);
int nl_py_hostarray_same_dtype(PyObject *a, PyObject *b);
/* Writes the name of a dtype for messages to `text`, with a terminating NUL. */
const char *nl_py_hostarray_dtype_name(PyObject *descr, char *text, size_t size);
/* Returns whether the dtype is a structured one. */
int nl_py_hostarray_has_fields(PyObject *descr);
/* Looks up a field. Returns 1 and a new reference to the field's dtype, 0 if there is no such
 * field, -1 with an exception. */
int nl_py_hostarray_find_field(PyObject *descr, PyObject *name, PyObject **field, int64_t *offset);

/* arrays */
int nl_py_hostarray_is_array(PyObject *obj);
int nl_py_hostarray_is_exact_array(PyObject *obj);
PyObject *nl_py_hostarray_type(void); /* numpy.ndarray, borrowed */
int nl_py_hostarray_read(PyObject *array, nl_host_array *out);
/* Returns a new array with a contiguous layout in any axis order. If `data` is not NULL, the array
 * is a view of `data`, and `base` (a stolen reference) keeps this memory alive. If `data` is NULL,
 * new memory is allocated, which is not initialized. */
PyObject *nl_py_hostarray_new(PyObject *descr, const nl_layout *layout, void *data, PyObject *base);
/* Returns a borrowed reference to the object that owns an array's memory, found through all views;
 * returns NULL if the array itself owns the memory. */
PyObject *nl_py_hostarray_find_root(PyObject *array);
int nl_py_hostarray_is_writable(PyObject *array);
void nl_py_hostarray_make_read_only(PyObject *array); /* makes it read-only */
/* These functions return new references: to numpy.asarray(obj), and to a copy in this machine's
 * byte order. */
PyObject *nl_py_hostarray_from_object(PyObject *obj);
PyObject *nl_py_hostarray_to_native_order(PyObject *array);
/* to[...] = from */
int nl_py_hostarray_copy_into(PyObject *to, PyObject *from);
/* Returns the element of a 0-D array as a NumPy scalar, a new reference. */
PyObject *nl_py_hostarray_read_item(PyObject *array);

/* scalars */
int nl_py_hostarray_is_scalar(PyObject *obj); /* numpy.generic */
/* returns whether the type is exactly one of NumPy's number types, not a subclass */
int nl_py_hostarray_is_exact_scalar(PyObject *obj);
int nl_py_hostarray_is_bool(PyObject *obj);        /* a Python or NumPy bool */
int nl_py_hostarray_is_scalar_type(PyObject *obj); /* a class such as numpy.float32 */
/* Returns a NumPy scalar with a copy of the element at `bytes`. Returns a new reference. */
PyObject *nl_py_hostarray_new_scalar(PyObject *descr, const void *bytes);
/* Reads the dtype code and value (at most 16 bytes, to `bytes`) of a scalar of NumPy's plain types
 * or a subclass; returns NL_OPAQUE for other scalars. */
nl_dtype nl_py_hostarray_read_scalar(PyObject *scalar, void *bytes);
/* Reads a numpy.generic of any other type: sets a new reference to its dtype, and a pointer into
 * the scalar if it is a void scalar, else NULL. 0, or -1 with an exception. */
int nl_py_hostarray_read_void(PyObject *scalar, PyObject **descr, const void **bytes);
/* Returns a 0-D array over the memory of a void scalar, which may be memory of an array. Returns a
 * new reference. */
PyObject *nl_py_hostarray_array_of_void(PyObject *scalar);
int nl_py_hostarray_is_void(PyObject *obj);
/* Reads a datetime64, a timedelta64, or a 0-D array of one of these types. Returns 1 and writes 8
 * bytes to `bytes`, or 0 for any other object. */
int nl_py_hostarray_read_time(PyObject *obj, void *bytes);
/* Reads a longdouble or clongdouble, rounded to double. Returns 1 on success, or 0 if the object is
 * neither. */
int nl_py_hostarray_read_long_double(PyObject *scalar, nl_scalar *value);

#endif
