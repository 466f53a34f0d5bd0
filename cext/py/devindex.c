/* py/devindex: d[key] with NumPy's basic indexing. Python code handles keys that contain arrays.
 * The key is read from left to right into a new layout. `...` selects all dimensions that the
 * other items do not use. If integers select one element, it is read and returned as a NumPy
 * scalar (a record with fields as an object over its memory); otherwise the result is a view. The
 * error messages are NumPy's. */
#include "py/devindex.h"

#include "py/devcopy.h"
typedef struct cursor {
    const nl_py_array *array;
    const int64_t *strides;
    int axis; /* axis of the array that the next item indexes */
    CUdeviceptr address;
    nl_layout layout; /* layout of the result so far */
} cursor;

static void initialize_cursor(cursor *c, const nl_py_array *a) {
    c->array = a;
    c->strides = nl_py_devarray_strides(a);
    c->axis = 0;
    c->address = a->address;
    c->layout.ndim = 0;
    c->layout.itemsize = a->itemsize;
}

static int raise_out_of_bounds(Py_ssize_t index, int axis, int64_t size) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %lld", index,
                 axis, (long long)size);
    return -1;
}

static int apply_integer(cursor *c, Py_ssize_t index) {
    int64_t size = c->array->shape[c->axis];
    Py_ssize_t i = index < 0 ? index + (Py_ssize_t)size : index;
    if (i < 0 || i >= size)
        return raise_out_of_bounds(index, c->axis, size);
    c->address += (CUdeviceptr)(i * c->strides[c->axis++]);
    return 0;
}

static int add_dimension(cursor *c, int64_t shape, int64_t stride) {
    if (c->layout.ndim == NL_MAX_DIMS) {
        PyErr_Format(PyExc_IndexError, "the result would have more than %d dimensions",
                     NL_MAX_DIMS);
        return -1;
    }
    c->layout.shape[c->layout.ndim] = shape;
    c->layout.strides[c->layout.ndim++] = stride;
    return 0;
}

static int apply_slice(cursor *c, PyObject *slice) {
    Py_ssize_t first, stop, step;
    if (PySlice_Unpack(slice, &first, &stop, &step) < 0)
        return -1;
    int64_t stride = c->strides[c->axis];
    Py_ssize_t size = (Py_ssize_t)c->array->shape[c->axis++];
    Py_ssize_t length = PySlice_AdjustIndices(size, &first, &stop, step);
    if (length > 0)
        c->address += (CUdeviceptr)(first * stride);
    /* an axis with at most one element keeps its stride: the step has no effect, and the product
     * might overflow */
    return add_dimension(c, length, length > 1 ? stride * step : stride);
}

static int append_full_axes(cursor *c, int count) {
    for (; count > 0; count--, c->axis++)
        if (add_dimension(c, c->array->shape[c->axis], c->strides[c->axis]) < 0)
            return -1;
    return 0;
}

/* Returns whether the item is an integer index, which a bool is not, because NumPy reads it as a
 * mask. */
static int is_integer(PyObject *item) {
    if (PyLong_CheckExact(item))
        return 1;
    return PyIndex_Check(item) && !PyBool_Check(item) && !nl_py_hostarray_is_array(item) &&
           !PySequence_Check(item);
}

static int read_integer(PyObject *item, Py_ssize_t *index) {
    *index = PyNumber_AsSsize_t(item, PyExc_IndexError);
    return *index == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Returns whether the item is a mask or an index array: a list, or an array of any library. Returns
 * 0 for a string. */
static int is_index_array(PyObject *item) {
    return nl_py_hostarray_is_bool(item) || nl_py_hostarray_is_array(item) ||
           (PySequence_Check(item) && !PyUnicode_Check(item) && !PyBytes_Check(item)) ||
           PyObject_HasAttrString(item, "__cuda_array_interface__");
}

static int raise_invalid_index(PyObject *item) {
    PyErr_Format(PyExc_IndexError,
                 "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) "
                 "and arrays of integers or booleans are valid indices, not %.80s",
                 Py_TYPE(item)->tp_name);
    return -1;
}

/* Fancy indexing: numbalite/ndarray/indexing.py gathers the elements into a new array. */
static PyObject *subscript_by_arrays(const nl_py_array *a, PyObject *key) {
    return PyObject_CallMethod((PyObject *)a, "_by_arrays", "(O)", key);
}

static int has_index_array(PyObject *const *items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyLong_CheckExact(items[i]) && !PySlice_Check(items[i]) && is_index_array(items[i]))
            return 1;
    return 0;
}

/* Returns the number of dimensions that the items use; -1 with an exception for an invalid index.
 */
static int count_indexed_dims(const nl_py_array *a, PyObject *const *items, Py_ssize_t n) {
    int taken = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = items[i];
        if (PySlice_Check(item) || is_integer(item)) {
            taken++;
        } else if (item == Py_Ellipsis) {
            if (ellipses++) {
                PyErr_SetString(PyExc_IndexError,
                                "an index can only have a single ellipsis ('...')");
                return -1;
            }
        } else if (item != Py_None) {
            return raise_invalid_index(item);
        }
    }
    if (taken > a->ndim) {
        PyErr_Format(PyExc_IndexError,
                     "too many indices for array: array is %d-dimensional, but %d were indexed",
                     a->ndim, taken);
        return -1;
    }
    return taken;
}

/* Returns an element as a NumPy scalar. For a record with fields, returns an object over its
 * memory, so that its fields can be assigned to. */
static PyObject *read_element_at(const nl_py_array *a, CUdeviceptr address) {
    if (a->class == NL_ELEMENT_RECORD && nl_py_hostarray_has_fields(a->descr))
        return nl_py_devarray_record_at(a, address);
    return nl_py_devcopy_read_element(a, address);
}

static PyObject *subscript_items(const nl_py_array *a, PyObject *const *items, Py_ssize_t n) {
    cursor c;
    int view = 0, ellipsis = 0, taken = count_indexed_dims(a, items, n);
    if (taken < 0)
        return NULL;
    initialize_cursor(&c, a);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = items[i];
        int result, integer = 0;
        if (PySlice_Check(item)) {
            result = apply_slice(&c, item);
        } else if (item == Py_None) {
            result = add_dimension(&c, 1, 0);
        } else if (item == Py_Ellipsis) {
            result = append_full_axes(&c, a->ndim - taken);
            ellipsis = 1;
        } else {
            Py_ssize_t index;
            integer = 1;
            result = read_integer(item, &index) < 0 ? -1 : apply_integer(&c, index);
        }
        view |= !integer;
        if (result < 0)
            return NULL;
    }
    if (!ellipsis && append_full_axes(&c, a->ndim - taken) < 0)
        return NULL;
    if (!view && c.layout.ndim == 0)
        return read_element_at(a, c.address);
    return nl_py_devarray_view(a, c.address, &c.layout);
}

/* Returns a view of a field of the records, for d["x"]. The dimensions of an array field become the
 * last dimensions of the view. */
static PyObject *subscript_field(const nl_py_array *a, PyObject *name) {
    PyObject *field, *result = NULL, *shape = NULL, *base = NULL;
    int64_t offset;
    nl_layout layout;
    int found = nl_py_hostarray_find_field(a->descr, name, &field, &offset);
    if (found < 0)
        return NULL;
    if (!found && a->class == NL_ELEMENT_RECORD)
        return PyErr_Format(PyExc_ValueError, "no field of name %U", name);
    if (!found) {
        raise_invalid_index(name);
        return NULL;
    }
    nl_py_devarray_layout(a, &layout);
    shape = PyObject_GetAttrString(field, "shape");
    base = shape ? PyObject_GetAttrString(field, "base") : NULL;
    nl_layout inner;
    if (!base || nl_py_geometry_read_shape(shape, &inner) < 0)
        goto done;
    if (layout.ndim + inner.ndim > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "the field has more than %d dimensions", NL_MAX_DIMS);
        goto done;
    }
    nl_py_array_parts parts = nl_py_devarray_shared_members(a);
    parts.address = a->address + (CUdeviceptr)offset;
    parts.descr = base;
    parts.element = nl_py_hostarray_element_of_descr(base);
    inner.itemsize = layout.itemsize = parts.element.itemsize;
    if (nl_py_geometry_strides(&inner, 'C') < 0)
        goto done;
    for (int i = 0; i < inner.ndim; i++) {
        layout.shape[layout.ndim] = inner.shape[i];
        layout.strides[layout.ndim++] = inner.strides[i];
    }
    result = nl_py_devarray_new(a->state, &parts, &layout);
done:
    Py_XDECREF(base);
    Py_XDECREF(shape);
    Py_DECREF(field);
    return result;
}

/* Returns a view of several fields, for d[["x", "y"]], with a dtype that skips the other fields. */
static PyObject *subscript_fields(const nl_py_array *a, PyObject *names) {
    nl_layout layout;
    PyObject *result = NULL, *descr = PyObject_GetItem(a->descr, names);
    if (!descr)
        return NULL;
    nl_py_array_parts parts = nl_py_devarray_shared_members(a);
    parts.address = a->address;
    parts.descr = descr;
    parts.element = nl_py_hostarray_element_of_descr(descr);
    nl_py_devarray_layout(a, &layout);
    if (parts.element.itemsize == a->itemsize)
        result = nl_py_devarray_new(a->state, &parts, &layout);
    else
        PyErr_SetString(PyExc_ValueError, "the selected fields cannot be a view of the records");
    Py_DECREF(descr);
    return result;
}

PyObject *nl_py_devindex_subscript(PyObject *self, PyObject *key) {
    const nl_py_array *a = (nl_py_array *)self;
    if (PyTuple_Check(key)) {
        PyObject *const *items = &PyTuple_GET_ITEM(key, 0);
        Py_ssize_t count = PyTuple_GET_SIZE(key);
        return has_index_array(items, count) ? subscript_by_arrays(a, key)
                                             : subscript_items(a, items, count);
    }
    if (PyUnicode_Check(key))
        return subscript_field(a, key);
    if (PyList_Check(key) && a->class == NL_ELEMENT_RECORD && PyList_GET_SIZE(key) > 0 &&
        PyUnicode_Check(PyList_GET_ITEM(key, 0)))
        return subscript_fields(a, key);
    return has_index_array(&key, 1) ? subscript_by_arrays(a, key) : subscript_items(a, &key, 1);
}

/* Implements the sequence protocol, whose caller has already converted negative indices. */
PyObject *nl_py_devindex_item(PyObject *self, Py_ssize_t index) {
    const nl_py_array *a = (nl_py_array *)self;
    if (a->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
        return NULL;
    }
    cursor c;
    initialize_cursor(&c, a);
    if (apply_integer(&c, index) < 0 || append_full_axes(&c, a->ndim - 1) < 0)
        return NULL;
    if (c.layout.ndim == 0)
        return read_element_at(a, c.address);
    return nl_py_devarray_view(a, c.address, &c.layout);
}
