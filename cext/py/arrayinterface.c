/* py/arrayinterface: the CUDA Array Interface, import and export.
 *
 * Export: version 3. `stream` is the stream to which the array is bound, or None. If `stream` is
 * None, no wait is needed for work on the legacy default stream and on streams ordered with it; a
 * program that uses a non-blocking stream must order that stream itself. Import: versions 0 to 3.
 * The dictionary may come from any library, so each field is checked, and error messages contain
 * the field. Simple element types are parsed from the typestr without a NumPy call, so that
 * launches are fast. */
#include "py/arrayinterface.h"

#include <string.h>
#include "core/graph.h"
#include "core/stream.h"
#include "py/devarray.h"
#include "py/dlpack.h"
#include "py/fastarray.h"
#include "py/lender.h"
#include "py/stream.h"

/* Indices of the interned names, in the order of `keys` below. */
enum {
    KEY_ATTRIBUTE,
    KEY_SHAPE,
    KEY_TYPESTR,
    KEY_DATA,
    KEY_VERSION,
    KEY_STRIDES,
    KEY_STREAM,
    KEY_MASK,
    KEY_DESCR,
    KEY_COUNT
};
static const char *const keys[KEY_COUNT] = {"__cuda_array_interface__",
                                            "shape",
                                            "typestr",
                                            "data",
                                            "version",
                                            "strides",
                                            "stream",
                                            "mask",
                                            "descr"};

static PyObject *interned_interface_key(const nl_py_state *state, int which) {
    return PyTuple_GET_ITEM(state->interface_keys, which);
}

/* ---- import ---- */

static const char possible[] = "of a size that fits in the address space";

static int raise_invalid_interface(PyObject *exception, const char *field, const char *wanted) {
    PyErr_Format(exception, "__cuda_array_interface__: '%s' must be %s", field, wanted);
    return -1;
}

static int read_ints(PyObject *tuple, int64_t *values, int *count, const char *field) {
    if (!PyTuple_Check(tuple))
        return raise_invalid_interface(PyExc_TypeError, field, "a tuple of ints");
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    if (n > NL_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError,
                     "__cuda_array_interface__: '%s' has %zd items, the limit is %d", field, n,
                     NL_MAX_DIMS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        int overflow;
        if (!PyLong_Check(item) && !PyIndex_Check(item))
            return raise_invalid_interface(PyExc_TypeError, field, "a tuple of ints");
        PyObject *index = PyNumber_Index(item);
        if (!index)
            return -1;
        values[i] = PyLong_AsLongLongAndOverflow(index, &overflow);
        Py_DECREF(index);
        if (overflow)
            return raise_invalid_interface(PyExc_ValueError, field, "a tuple of 64-bit ints");
    }
    *count = (int)n;
    return 0;
}

static int read_shape(PyObject *obj, nl_py_foreign *f) {
    if (read_ints(obj, f->layout.shape, &f->layout.ndim, "shape") < 0)
        return -1;
    for (int i = 0; i < f->layout.ndim; i++)
        if (f->layout.shape[i] < 0)
            return raise_invalid_interface(PyExc_ValueError, "shape",
                                           "a tuple of ints that are not negative");
    return 0;
}

/* Reads a typestr such as "<f4" without NumPy. Returns NL_OPAQUE for any other typestr. */
static nl_dtype parse_simple_typestr(PyObject *typestr) {
    if (!PyUnicode_IS_ASCII(typestr))
        return NL_OPAQUE;
    const char *t = (const char *)PyUnicode_1BYTE_DATA(typestr);
    Py_ssize_t n = PyUnicode_GET_LENGTH(typestr);
    if (n < 3 || n > 4 || t[2] < '1' || t[2] > '9' || (n == 4 && (t[3] < '0' || t[3] > '9')))
        return NL_OPAQUE;
    int size = n == 4 ? (t[2] - '0') * 10 + (t[3] - '0') : t[2] - '0';
    if (t[0] != '<' && t[0] != '=' && !(size == 1 && (t[0] == '|' || t[0] == '>')))
        return NL_OPAQUE;
    return nl_dtype_from_kind(t[1], size);
}

static int read_type(const nl_py_state *state, PyObject *dict, PyObject *typestr,
                     nl_py_foreign *f) {
    PyObject *fields = NULL;
    if (!PyUnicode_Check(typestr))
        return raise_invalid_interface(PyExc_TypeError, "typestr", "a str");
    f->element.dtype = parse_simple_typestr(typestr);
    if (f->element.dtype != NL_OPAQUE) {
        f->element.class = NL_ELEMENT_PLAIN;
        f->layout.itemsize = f->element.itemsize = (int64_t)nl_dtype_size(f->element.dtype);
        return 0;
    }
    f->descr = nl_py_hostarray_convert_descr(typestr);
    if (!f->descr) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError))
            return raise_invalid_interface(PyExc_TypeError, "typestr",
                                           "the type string of a NumPy dtype");
        return -1;
    }
    f->element = nl_py_hostarray_element_of_descr(f->descr);
    if (f->element.class == NL_ELEMENT_OBJECT)
        return raise_invalid_interface(PyExc_TypeError, "typestr",
                                       "a type that device memory supports");
    if (f->element.class == NL_ELEMENT_RECORD) {
        if (PyDict_GetItemRef(dict, interned_interface_key(state, KEY_DESCR), &fields) < 0)
            return -1;
        if (fields && fields != Py_None) {
            PyObject *record = PyList_Check(fields) ? nl_py_hostarray_convert_descr(fields) : NULL;
            Py_DECREF(fields);
            if (!record) {
                if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError) ||
                    PyErr_ExceptionMatches(PyExc_ValueError))
                    return raise_invalid_interface(PyExc_TypeError, "descr",
                                                   "a list that describes a NumPy dtype");
                return -1;
            }
            nl_element element = nl_py_hostarray_element_of_descr(record);
            /* if the total size of the fields differs from the typestr's size, they are ignored:
             * the elements are plain bytes */
            if (element.itemsize != f->element.itemsize || element.class == NL_ELEMENT_OBJECT) {
                Py_DECREF(record);
            } else {
                Py_SETREF(f->descr, record);
                f->element = element;
            }
        } else {
            Py_XDECREF(fields);
        }
    }
    f->layout.itemsize = f->element.itemsize;
    return 0;
}

static int read_data(PyObject *data, nl_py_foreign *f) {
    static const char wanted[] = "a tuple of the address (an int) and whether it is read-only";
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
        return raise_invalid_interface(PyExc_TypeError, "data", wanted);
    PyObject *address = PyTuple_GET_ITEM(data, 0);
    if (address == Py_None) {
        f->address = 0;
    } else {
        if (!PyIndex_Check(address))
            return raise_invalid_interface(PyExc_TypeError, "data", wanted);
        PyObject *index = PyNumber_Index(address);
        if (!index)
            return -1;
        f->address = PyLong_AsUnsignedLongLong(index);
        Py_DECREF(index);
        if (f->address == (CUdeviceptr)-1 && PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_OverflowError))
                return -1;
            return raise_invalid_interface(PyExc_ValueError, "data", "an address of 64 bits");
        }
    }
    f->readonly = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    return f->readonly < 0 ? -1 : 0;
}

static int read_version(PyObject *obj) {
    int overflow;
    if (!PyLong_Check(obj))
        return raise_invalid_interface(PyExc_TypeError, "version", "an int");
    long version = PyLong_AsLongAndOverflow(obj, &overflow);
    if (overflow || version < 0 || version > 3)
        return raise_invalid_interface(PyExc_ValueError, "version", "one of 0, 1, 2 and 3");
    return 0;
}

static int read_strides(PyObject *obj, nl_py_foreign *f) {
    int count, ndim = f->layout.ndim;
    if (obj == NULL || obj == Py_None)
        return nl_py_geometry_strides(&f->layout, 'C') == 0
                   ? 0
                   : raise_invalid_interface(PyExc_ValueError, "shape", possible);
    if (read_ints(obj, f->layout.strides, &count, "strides") < 0)
        return -1;
    return count == ndim
               ? 0
               : raise_invalid_interface(PyExc_ValueError, "strides", "as long as 'shape'");
}

static int read_stream(PyObject *obj, nl_py_foreign *f) {
    f->has_stream = 0;
    f->stream = NULL;
    if (obj == NULL || obj == Py_None)
        return 0;
    if (!PyLong_Check(obj))
        return raise_invalid_interface(PyExc_TypeError, "stream", "an int or None");
    unsigned long long handle = PyLong_AsUnsignedLongLong(obj);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return -1;
        return raise_invalid_interface(PyExc_ValueError, "stream", "a stream handle, 1, 2 or None");
    }
    if (handle == 0)
        return raise_invalid_interface(
            PyExc_ValueError, "stream",
            "a stream handle, 1, 2 or None: 0 could mean two default streams");
    f->has_stream = 1;
    f->stream = (CUstream)(uintptr_t)handle;
    return 0;
}

/* Checks that the address range is valid for all elements. */
static int check_address_range(const nl_py_foreign *f) {
    int64_t low, high;
    if (nl_py_geometry_byte_extent(&f->layout, &low, &high) < 0)
        return raise_invalid_interface(PyExc_ValueError, "shape", possible);
    if (high > low && f->address == 0)
        return raise_invalid_interface(PyExc_ValueError, "data",
                                       "a nonzero address if the array has elements");
    if (high > low && f->address + (CUdeviceptr)low > f->address + (CUdeviceptr)high)
        return raise_invalid_interface(
            PyExc_ValueError, "data", "an address such that all elements are in the address space");
    return 0;
}

static int read_fields(const nl_py_state *state, PyObject *dict, nl_py_foreign *f) {
    PyObject *values[KEY_COUNT] = {NULL};
    int result = -1;
    for (int i = KEY_SHAPE; i < KEY_DESCR; i++)
        if (PyDict_GetItemRef(dict, interned_interface_key(state, i), &values[i]) < 0)
            goto done;
    if (!values[KEY_SHAPE] || !values[KEY_TYPESTR] || !values[KEY_DATA]) {
        int missing = !values[KEY_SHAPE]     ? KEY_SHAPE
                      : !values[KEY_TYPESTR] ? KEY_TYPESTR
                                             : KEY_DATA;
        PyErr_Format(PyExc_ValueError, "__cuda_array_interface__: '%s' is missing", keys[missing]);
        goto done;
    }
    if (values[KEY_MASK] && values[KEY_MASK] != Py_None) {
        PyErr_SetString(
            PyExc_NotImplementedError,
            "__cuda_array_interface__: Masked arrays are not supported ('mask' must be None)");
        goto done;
    }
    if ((values[KEY_VERSION] && read_version(values[KEY_VERSION]) < 0) ||
        read_shape(values[KEY_SHAPE], f) < 0 ||
        read_type(state, dict, values[KEY_TYPESTR], f) < 0 || read_data(values[KEY_DATA], f) < 0 ||
        read_strides(values[KEY_STRIDES], f) < 0 || read_stream(values[KEY_STREAM], f) < 0 ||
        check_address_range(f) < 0)
        goto done;
    result = 0;
done:
    for (int i = KEY_SHAPE; i < KEY_DESCR; i++)
        Py_XDECREF(values[i]);
    return result;
}

/* Reads the dictionary __cuda_array_interface__ of an object. Returns 1 on success, or 0 if the
 * object has no CUDA Array Interface, or -1 with an exception. */
static int read_dictionary(nl_py_state *state, PyObject *obj, nl_py_foreign *out) {
    PyObject *dict;
    int found = nl_py_lookup_attribute(obj, interned_interface_key(state, KEY_ATTRIBUTE), &dict);
    if (found <= 0)
        return found;
    if (PyDict_Check(dict))
        found = read_fields(state, dict, out) == 0 ? 1 : -1;
    else {
        PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ must be a dict, not %.80s",
                     Py_TYPE(dict)->tp_name);
        found = -1;
    }
    Py_DECREF(dict);
    return found;
}

int nl_py_arrayinterface_read(nl_py_state *state, PyObject *obj, nl_py_foreign *out) {
    nl_dl_current current = {.of = NULL};
    out->descr = NULL;
    /* for a class, the attribute is the descriptor that its instances use */
    if (PyType_Check(obj))
        return 0;
    int found = nl_py_dlpack_read(state, obj, &current, out);
    if (found != 0)
        return found;
    if (!nl_py_fastarray_read(state, obj, out) && (found = read_dictionary(state, obj, out)) == 0)
        return 0;
    if (found >= 0)
        out->orders = (uint8_t)nl_layout_contiguous_orders(&out->layout);
    if (found >= 0 && !nl_py_dlpack_has_lazy_flag(state, obj, out))
        return 1;
    nl_py_arrayinterface_clear(out);
    return -1;
}

void nl_py_arrayinterface_clear(nl_py_foreign *foreign) {
    Py_CLEAR(foreign->descr);
}

int nl_py_arrayinterface_needs_stream_order(const nl_py_foreign *foreign, CUstream stream,
                                            int blocking) {
    if (!foreign->has_stream || foreign->stream == stream ||
        (foreign->stream == CU_STREAM_LEGACY && blocking))
        return 0;
    /* during a capture, the program that launches the graph is responsible for the order */
    return !(nl_capture_is_any_active() && nl_capture_has_stream(stream));
}

int nl_py_arrayinterface_order_stream(const nl_py_foreign *foreign, CUstream stream, int blocking) {
    nl_error err;
    int result;
    if (!nl_py_arrayinterface_needs_stream_order(foreign, stream, blocking))
        return 0;
    nl_device *dev = nl_device_current(&err);
    NL_UNLOCKED(result = dev ? nl_stream_order_after(dev, stream, foreign->stream, &err) : -1);
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

/* Waits on the host, so that any stream may use the memory next. */
static int synchronize_owner(const nl_py_foreign *foreign) {
    nl_error err;
    int result;
    if (!foreign->has_stream)
        return 0;
    nl_device *dev = nl_device_current(&err);
    NL_UNLOCKED(result = dev ? NL_CU(&err, StreamSynchronize, foreign->stream) : -1);
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

PyObject *nl_py_arrayinterface_new_array(nl_py_state *state, PyObject *obj, nl_py_foreign *f) {
    if (!f->descr && !(f->descr = nl_py_hostarray_descr_of_dtype(f->element.dtype)))
        return NULL;
    nl_py_array_parts parts = {.descr = f->descr,
                               .element = f->element,
                               .owner = obj,
                               .readonly = f->readonly,
                               .lent = nl_py_lender_has_stream(state, obj),
                               .find_device = 1};
    return nl_py_devarray_over_address(state, f->address, &f->layout, &parts);
}

/* Makes the producer's stream the default stream of the array. If the host has waited for the
 * producer's stream and this stream is not ordered with the default stream, the array remains on
 * the default stream. Steals the reference to `array` and returns it, or NULL with an exception. */
static PyObject *bind_producer_stream(nl_py_state *state, PyObject *array, CUstream handle,
                                      int waited, PyObject *owner) {
    PyObject *stream_object = nl_py_fastarray_stream_object(state, owner);
    PyObject *stream =
        nl_py_stream_wrap_handle(state, handle, stream_object ? stream_object : owner);
    nl_error err;
    int blocking = 1;
    Py_XDECREF(stream_object);
    if (stream && waited &&
        nl_stream_read_blocking(((nl_py_stream *)stream)->stream, &blocking, &err) < 0) {
        nl_py_raise(&err);
        Py_CLEAR(stream);
    }
    if (stream && !blocking)
        Py_DECREF(stream);
    else if (stream)
        Py_XSETREF(((nl_py_array *)array)->stream, stream);
    else
        Py_CLEAR(array);
    return array;
}

static PyObject *array_from_interface(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"obj", "sync", "optional", NULL};
    nl_py_state *state = nl_py_state_of(module);
    nl_py_foreign foreign;
    PyObject *obj, *result = NULL;
    int sync = 1, optional = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pp:from_interface", names, &obj, &sync,
                                     &optional))
        return NULL;
    int found = nl_py_arrayinterface_read(state, obj, &foreign);
    if (found < 0)
        return NULL;
    if (!found && optional)
        Py_RETURN_NONE;
    if (!found)
        return PyErr_Format(PyExc_TypeError,
                            "*obj* doesn't implement the cuda array interface: it is %.80s",
                            Py_TYPE(obj)->tp_name);
    /* no wait: each use of an array of PyTorch or CuPy reads the library's current stream */
    if (!sync || nl_py_lender_has_stream(state, obj) || synchronize_owner(&foreign) == 0)
        result = nl_py_arrayinterface_new_array(state, obj, &foreign);
    if (result && foreign.has_stream && foreign.stream != CU_STREAM_LEGACY &&
        !nl_py_lender_has_stream(state, obj))
        result = bind_producer_stream(state, result, foreign.stream, sync, obj);
    nl_py_arrayinterface_clear(&foreign);
    return result;
}

/* Imports a tensor of a class with DLPack's exchange API. The array keeps the tensor itself alive,
 * not a capsule, so that each use of the array can read the current stream of the tensor's library.
 * Returns 1 and *array, 0 if the object's class has no exchange API, -1 with an exception. */
static int import_tensor(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array) {
    nl_dl_current current = {.of = NULL};
    nl_py_foreign foreign;
    nl_error err;
    int blocking = 1;
    if (!nl_device_current(&err) || nl_stream_read_handle_blocking(stream, &blocking, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    int found = nl_py_dlpack_read(state, obj, &current, &foreign);
    if (found <= 0)
        return found;
    if (nl_py_arrayinterface_order_stream(&foreign, stream, blocking) < 0)
        found = -1;
    else if (!(*array = nl_py_arrayinterface_new_array(state, obj, &foreign)))
        found = -1;
    nl_py_arrayinterface_clear(&foreign);
    return found;
}

static PyObject *array_from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"obj", "stream", NULL};
    nl_py_state *state = nl_py_state_of(module);
    PyObject *obj, *stream = NULL, *array = NULL;
    CUstream handle;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:from_dlpack", keywords, &obj, &stream) ||
        nl_py_stream_from_argument(state, stream, &handle, NULL) < 0)
        return NULL;
    int found = import_tensor(state, obj, handle, &array);
    if (found == 0)
        found = nl_py_dlpack_import(state, obj, handle, &array);
    return found < 0 ? NULL : found ? array : Py_NewRef(Py_None);
}

/* ---- export ---- */

/* Returns the list of fields in NumPy's form. A dtype that the interface cannot describe is
 * exported as bytes. */
static PyObject *list_fields(const nl_py_array *a, PyObject *typestr) {
    if (a->class == NL_ELEMENT_RECORD) {
        PyObject *list = PyObject_GetAttrString(a->descr, "descr");
        if (list || !PyErr_ExceptionMatches(PyExc_ValueError))
            return list;
        PyErr_Clear();
    }
    return Py_BuildValue("[(sO)]", "", typestr);
}

static int set_new_item(PyObject *dict, PyObject *name, PyObject *value) {
    int result = value ? PyDict_SetItem(dict, name, value) : -1;
    Py_XDECREF(value);
    return result;
}

static PyObject *interface_stream(nl_py_array *a) {
    CUstream handle = NULL;
    PyObject *stream = nl_py_lender_array_stream(a);
    if (!stream && PyErr_Occurred())
        return NULL;
    int result = stream ? nl_py_stream_from_argument(a->state, stream, &handle, NULL) : 0;
    Py_XDECREF(stream);
    if (result < 0)
        return NULL;
    return handle ? PyLong_FromVoidPtr(handle) : Py_NewRef(Py_None);
}

PyObject *nl_py_arrayinterface_get(PyObject *self, void *Py_UNUSED(closure)) {
    nl_py_array *a = (nl_py_array *)self;
    const nl_py_state *state = a->state;
    nl_error err;
    if (nl_device_check_generation(a->buffer->device, a->buffer->generation, &err) < 0)
        return nl_py_raise(&err);
    CUdeviceptr address = nl_py_devarray_count(a) > 0 && a->itemsize > 0 ? a->address : 0;
    PyObject *dict = PyDict_New(), *typestr = PyObject_GetAttrString(a->descr, "str");
    nl_buffer_mark_exposed(a->buffer);
    if (!dict || !typestr ||
        set_new_item(dict, interned_interface_key(state, KEY_SHAPE),
                     nl_py_geometry_new_tuple(a->shape, a->ndim)) < 0 ||
        set_new_item(dict, interned_interface_key(state, KEY_STRIDES),
                     a->flags & NL_PY_ARRAY_C
                         ? Py_NewRef(Py_None)
                         : nl_py_geometry_new_tuple(nl_py_devarray_strides(a), a->ndim)) < 0 ||
        set_new_item(dict, interned_interface_key(state, KEY_TYPESTR), Py_NewRef(typestr)) < 0 ||
        set_new_item(dict, interned_interface_key(state, KEY_DESCR), list_fields(a, typestr)) < 0 ||
        set_new_item(dict, interned_interface_key(state, KEY_DATA),
                     Py_BuildValue("(KO)", (unsigned long long)address,
                                   a->flags & NL_PY_ARRAY_READONLY ? Py_True : Py_False)) < 0 ||
        set_new_item(dict, interned_interface_key(state, KEY_STREAM), interface_stream(a)) < 0 ||
        set_new_item(dict, interned_interface_key(state, KEY_VERSION), PyLong_FromLong(3)) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(typestr);
    return dict;
}

static PyMethodDef functions[] = {
    {"from_interface", (PyCFunction)(void (*)(void))array_from_interface,
     METH_VARARGS | METH_KEYWORDS,
     "from_interface(obj, sync=True, optional=False): "
     "returns a device array over the memory of an object with __cuda_array_interface__. "
     "Waits for the stream in the dictionary, if sync. "
     "For an object without that attribute: returns None if optional, else raises TypeError."},
    {"from_dlpack", (PyCFunction)(void (*)(void))array_from_dlpack, METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(obj, stream=None): "
     "returns a device array over the memory of an object with __dlpack__ or of a capsule. "
     "Returns None if the memory is not device memory."},
    {NULL, NULL, 0, NULL}};

int nl_py_arrayinterface_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->interface_keys = nl_py_state_intern(keys, KEY_COUNT);
    return state->interface_keys ? nl_py_state_add_functions(module, functions) : -1;
}
