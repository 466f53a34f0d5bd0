/* py/geometry: reads shapes and strides that are arguments of users' calls. This file checks all
 * conditions on which later arithmetic relies: no product overflows, and the offset of each element
 * fits in an int64. */
#include "py/geometry.h"

#include <limits.h>
#include <string.h>
#include "py/state.h"

/* Maximum size of an array in bytes: larger sizes leave no bits for offsets, and no
 * device has so much memory. */
#define MAX_BYTES ((int64_t)1 << 61)

static int read_dimension(PyObject *obj, int64_t *value) {
    if (PyBool_Check(obj) || !PyIndex_Check(obj)) {
        PyErr_Format(PyExc_TypeError, "a shape must be an int or a sequence of ints, not %.80s",
                     Py_TYPE(obj)->tp_name);
        return -1;
    }
    Py_ssize_t n = PyNumber_AsSsize_t(obj, PyExc_ValueError);
    if (n == -1 && PyErr_Occurred())
        return -1;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "negative dimensions are not allowed");
        return -1;
    }
    *value = n;
    return 0;
}

/* Returns whether a shape was passed as a single integer. NumPy's 0-D arrays also count as
 * integers: they define the sequence protocol, but have no length. */
static int is_number(PyObject *obj) {
    if (!PyIndex_Check(obj))
        return 0;
    if (!PySequence_Check(obj))
        return 1;
    Py_ssize_t n = PySequence_Size(obj);
    if (n < 0)
        PyErr_Clear();
    return n < 0;
}

static PyObject *raise_too_many_items(Py_ssize_t length, Py_ssize_t limit) {
    return length < 0 ? PyErr_Format(PyExc_ValueError, "more than the limit of %zd items", limit)
                      : PyErr_Format(PyExc_ValueError, "%zd items are more than the limit of %zd",
                                     length, limit);
}

/* The sequence may return a wrong length, so the items are also counted. */
PyObject *nl_py_geometry_bounded_tuple(PyObject *sequence, Py_ssize_t limit) {
    Py_ssize_t length = PyTuple_CheckExact(sequence) ? 0 : PySequence_Size(sequence);
    if (PyTuple_CheckExact(sequence))
        return Py_NewRef(sequence);
    if (length > limit)
        return raise_too_many_items(length, limit);
    PyErr_Clear(); /* iterators have no length */
    PyObject *iterator = PyObject_GetIter(sequence), *items = iterator ? PyList_New(0) : NULL;
    PyObject *item, *tuple;
    while (items && (item = PyIter_Next(iterator))) {
        if (PyList_GET_SIZE(items) == limit)
            raise_too_many_items(-1, limit);
        if (PyErr_Occurred() || PyList_Append(items, item) < 0)
            Py_CLEAR(items);
        Py_DECREF(item);
    }
    tuple = items && !PyErr_Occurred() ? PyList_AsTuple(items) : NULL;
    Py_XDECREF(items);
    Py_XDECREF(iterator);
    return tuple;
}

int nl_py_geometry_read_shape(PyObject *obj, nl_layout *layout) {
    if (is_number(obj)) {
        layout->ndim = 1;
        return read_dimension(obj, &layout->shape[0]);
    }
    if (PyUnicode_Check(obj) || PyBytes_Check(obj) || !PySequence_Check(obj)) {
        PyErr_Format(PyExc_TypeError, "a shape must be an int or a sequence of ints, not %.80s",
                     Py_TYPE(obj)->tp_name);
        return -1;
    }
    PyObject *items = nl_py_geometry_bounded_tuple(obj, NL_MAX_DIMS);
    if (!items)
        return -1;
    int result = -1;
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (n > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%zd items are more than the limit of %d", n, NL_MAX_DIMS);
        goto done;
    }
    layout->ndim = (int)n;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_dimension(PyTuple_GET_ITEM(items, i), &layout->shape[i]) < 0)
            goto done;
    result = 0;
done:
    Py_DECREF(items);
    return result;
}

int nl_py_geometry_read_strides(PyObject *obj, nl_layout *layout, const char *what) {
    if (PyUnicode_Check(obj) || PyBytes_Check(obj) ||
        !(PySequence_Check(obj) || PyIndex_Check(obj))) {
        PyErr_Format(PyExc_TypeError, "%s must be a sequence of ints, not %.80s", what,
                     Py_TYPE(obj)->tp_name);
        return -1;
    }
    PyObject *items = PySequence_Check(obj) ? nl_py_geometry_bounded_tuple(obj, NL_MAX_DIMS)
                                            : PyTuple_Pack(1, obj);
    if (!items)
        return -1;
    int result = -1;
    if (PyTuple_GET_SIZE(items) != layout->ndim) {
        PyErr_Format(PyExc_ValueError, "%s has %zd items for %d dimensions", what,
                     PyTuple_GET_SIZE(items), layout->ndim);
        goto done;
    }
    for (int i = 0; i < layout->ndim; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (!PyIndex_Check(item)) {
            PyErr_Format(PyExc_TypeError, "%s must be a sequence of ints, not of %.80s", what,
                         Py_TYPE(item)->tp_name);
            goto done;
        }
        layout->strides[i] = PyNumber_AsSsize_t(item, PyExc_ValueError);
        if (layout->strides[i] == -1 && PyErr_Occurred())
            goto done;
    }
    result = 0;
done:
    Py_DECREF(items);
    return result;
}

int nl_py_geometry_byte_extent(const nl_layout *layout, int64_t *low, int64_t *high) {
    int64_t count = 1, first = 0, last = 0, reach;
    int empty = 0;
    for (int i = 0; i < layout->ndim; i++) {
        /* as in NumPy, the product of the nonzero dimensions must also be a valid size */
        if (layout->shape[i] == 0) {
            empty = 1;
            continue;
        }
        if (__builtin_mul_overflow(count, layout->shape[i], &count) || count > MAX_BYTES)
            goto too_big;
        if (__builtin_mul_overflow(layout->shape[i] - 1, layout->strides[i], &reach) ||
            reach > MAX_BYTES || reach < -MAX_BYTES)
            goto too_big;
        if (reach < 0)
            first += reach;
        else
            last += reach;
        if (first < -MAX_BYTES || last > MAX_BYTES)
            goto too_big;
    }
    if (__builtin_mul_overflow(count, layout->itemsize, &reach) || reach > MAX_BYTES ||
        layout->itemsize > MAX_BYTES)
        goto too_big;
    *low = empty ? 0 : first;
    *high = empty ? 0 : last + layout->itemsize;
    return 0;
too_big:
    PyErr_SetString(PyExc_ValueError, "array is too big: its size in bytes cannot be represented");
    return -1;
}

int nl_py_geometry_strides(nl_layout *layout, char order) {
    int64_t low, high;
    for (int i = 0; i < layout->ndim; i++)
        layout->strides[i] = 0;
    if (nl_py_geometry_byte_extent(layout, &low, &high) < 0)
        return -1;
    if (order == 'F')
        nl_layout_set_f(layout);
    else
        nl_layout_set_c(layout);
    return 0;
}

PyObject *nl_py_geometry_new_tuple(const int64_t *values, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *item = PyLong_FromLongLong(values[i]);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* ---- functions for Python ---- */

/* Reads shape and itemsize. Raises ValueError if the size cannot be represented. */
static int read_shape(PyObject *shape, PyObject *itemsize, nl_layout *layout) {
    int64_t low, high;
    if (nl_py_geometry_read_shape(shape, layout) < 0)
        return -1;
    layout->itemsize = PyLong_AsLongLong(itemsize);
    if (layout->itemsize < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "itemsize must not be negative");
        return -1;
    }
    memset(layout->strides, 0, (size_t)layout->ndim * sizeof(int64_t));
    return nl_py_geometry_byte_extent(layout, &low, &high);
}

static int check_count(const char *name, Py_ssize_t nargs, Py_ssize_t count) {
    if (nargs == count)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() accepts %zd arguments", name, count);
    return -1;
}

static PyObject *tuple_of_strides(const nl_layout *layout) {
    return nl_py_geometry_new_tuple(layout->strides, layout->ndim);
}

static PyObject *packed_strides(PyObject *Py_UNUSED(module), PyObject *const *args,
                                Py_ssize_t nargs) {
    nl_layout layout;
    if (check_count("packed_strides", nargs, 3) < 0 || read_shape(args[0], args[1], &layout) < 0)
        return NULL;
    if (PyUnicode_Check(args[2]) && PyUnicode_CompareWithASCIIString(args[2], "F") == 0)
        nl_layout_set_f(&layout);
    else
        nl_layout_set_c(&layout);
    return tuple_of_strides(&layout);
}

static PyObject *strides_like(PyObject *Py_UNUSED(module), PyObject *const *args,
                              Py_ssize_t nargs) {
    nl_layout layout, other;
    if (check_count("strides_like", nargs, 3) < 0 || read_shape(args[0], args[2], &layout) < 0)
        return NULL;
    other.ndim = layout.ndim;
    if (nl_py_geometry_read_strides(args[1], &other, "strides") < 0)
        return NULL;
    nl_layout_set_like(&layout, other.strides);
    return tuple_of_strides(&layout);
}

/* Reads the strides of several arrays to `into`; rows[i] points to the strides of array i. */
static int read_strides_of_arrays(PyObject *const *given, Py_ssize_t count, int ndim, int64_t *into,
                                  const int64_t **rows) {
    nl_layout other = {.ndim = ndim};
    for (Py_ssize_t i = 0; i < count; i++, into += ndim) {
        if (nl_py_geometry_read_strides(given[i], &other, "strides") < 0)
            return -1;
        memcpy(into, other.strides, (size_t)ndim * sizeof(int64_t));
        rows[i] = into;
    }
    return 0;
}

static PyObject *strides_for_arrays_order(PyObject *Py_UNUSED(module), PyObject *const *args,
                                          Py_ssize_t nargs) {
    enum { INLINE_ARRAYS = 8 };
    nl_layout layout;
    int64_t few[INLINE_ARRAYS * NL_MAX_DIMS], *strides = few;
    const int64_t *few_rows[INLINE_ARRAYS], **rows = few_rows;
    Py_ssize_t count = nargs - 2;
    PyObject *result = NULL;
    if (count < 0 || count > INT_MAX)
        return PyErr_Format(PyExc_TypeError, "strides_as() accepts a shape, an itemsize, strides");
    if (read_shape(args[0], args[1], &layout) < 0)
        return NULL;
    if (count > INLINE_ARRAYS) {
        strides = PyMem_New(int64_t, (size_t)count * ((size_t)layout.ndim + 1));
        rows = PyMem_New(const int64_t *, (size_t)count);
    }
    if (!strides || !rows) {
        PyErr_NoMemory();
    } else if (read_strides_of_arrays(args + 2, count, layout.ndim, strides, rows) == 0) {
        nl_layout_set_like_several(&layout, rows, (int)count);
        result = tuple_of_strides(&layout);
    }
    if (count > INLINE_ARRAYS) {
        PyMem_Free(strides);
        PyMem_Free(rows);
    }
    return result;
}

static PyObject *broadcast_strides(PyObject *Py_UNUSED(module), PyObject *const *args,
                                   Py_ssize_t nargs) {
    nl_layout from, to;
    int extra = 0;
    if (check_count("broadcast_strides", nargs, 3) < 0 ||
        nl_py_geometry_read_shape(args[0], &from) < 0 ||
        nl_py_geometry_read_strides(args[1], &from, "strides") < 0 ||
        nl_py_geometry_read_shape(args[2], &to) < 0)
        return NULL;
    while (from.ndim - extra > to.ndim && from.shape[extra] == 1)
        extra++;
    if (!nl_layout_broadcast(from.ndim - extra, from.shape + extra, from.strides + extra, to.ndim,
                             to.shape, to.strides))
        return Py_NewRef(Py_None);
    return tuple_of_strides(&to);
}

static PyObject *reshaped_strides(PyObject *Py_UNUSED(module), PyObject *const *args,
                                  Py_ssize_t nargs) {
    nl_layout from, to;
    if (check_count("reshaped_strides", nargs, 4) < 0 || read_shape(args[0], args[2], &from) < 0 ||
        nl_py_geometry_read_strides(args[1], &from, "strides") < 0 ||
        read_shape(args[3], args[2], &to) < 0)
        return NULL;
    if (nl_layout_count_elements(&from) != nl_layout_count_elements(&to)) {
        PyErr_SetString(PyExc_ValueError,
                        "reshaped_strides(): the shapes must have the same number of elements");
        return NULL;
    }
    return nl_layout_reshape(&from, &to) ? tuple_of_strides(&to) : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"packed_strides", (PyCFunction)(void (*)(void))packed_strides, METH_FASTCALL,
     "packed_strides(shape, itemsize, order): "
     "returns the strides of a contiguous array in order C or F."},
    {"strides_like", (PyCFunction)(void (*)(void))strides_like, METH_FASTCALL,
     "strides_like(shape, strides, itemsize): "
     "returns the strides of a contiguous array that has the axis order of `strides`."},
    {"strides_as", (PyCFunction)(void (*)(void))strides_for_arrays_order, METH_FASTCALL,
     "strides_as(shape, itemsize, *strides): "
     "returns the strides of a contiguous array in the axis order of NumPy's iterator. "
     "strides: of the arrays over which the iterator runs (order K)."},
    {"broadcast_strides", (PyCFunction)(void (*)(void))broadcast_strides, METH_FASTCALL,
     "broadcast_strides(shape, strides, wanted): "
     "returns the strides of the array broadcast to the shape `wanted`. "
     "Leading axes of length 1 may be dropped. "
     "Returns None if the shapes cannot be broadcast."},
    {"reshaped_strides", (PyCFunction)(void (*)(void))reshaped_strides, METH_FASTCALL,
     "reshaped_strides(shape, strides, itemsize, new_shape): "
     "returns the strides of a view with a new shape and elements in C order. "
     "Returns None if no view has the new shape."},
    {NULL, NULL, 0, NULL}};

int nl_py_geometry_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
