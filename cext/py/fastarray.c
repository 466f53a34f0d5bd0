/* py/fastarray: the fast path for CuPy and PyTorch arrays, which reads their attributes.
 *
 * The property __cuda_array_interface__ of these libraries builds a dictionary, which takes longer
 * than a launch; reading a few attributes is faster. The fast path accepts an array only if its
 * class is exactly the library's array class, its element type is supported, a CuPy array is
 * C-contiguous, a PyTorch array has no negative stride, and the interface would accept the array.
 * For any other array, and after any exception, the caller uses the array's CUDA Array Interface.
 *
 * A class is registered when its module and its name have been verified. The fast path never
 * imports the library: if an array of the library exists, the library is loaded. */
#include "py/fastarray.h"

#include <string.h>
#include "base/lock.h"
#include "py/devarray.h"

enum {
    NAME_SHAPE,
    NAME_DTYPE,
    NAME_DATA,
    NAME_PTR,
    NAME_CONTIGUOUS,
    NAME_IS_CUDA,
    NAME_REQUIRES_GRAD,
    NAME_IS_SPARSE,
    NAME_DATA_PTR,
    NAME_IS_CONTIGUOUS,
    NAME_STRIDE,
    NAME_COUNT
};
static const char *const names[NAME_COUNT] = {
    "shape",         "dtype",     "data",     "ptr",           "_c_contiguous", "is_cuda",
    "requires_grad", "is_sparse", "data_ptr", "is_contiguous", "stride"};

static const struct {
    const char *name;
    nl_dtype dtype;
} torch_types[] = {
    {"bool", NL_BOOL},           {"int8", NL_INT8},
    {"int16", NL_INT16},         {"int32", NL_INT32},
    {"int64", NL_INT64},         {"uint8", NL_UINT8},
    {"uint16", NL_UINT16},       {"uint32", NL_UINT32},
    {"uint64", NL_UINT64},       {"float16", NL_FLOAT16},
    {"float32", NL_FLOAT32},     {"float64", NL_FLOAT64},
    {"complex64", NL_COMPLEX64}, {"complex128", NL_COMPLEX128},
};

static PyObject *get_attribute(const nl_py_state *state, PyObject *obj, int which) {
    return PyObject_GetAttr(obj, PyTuple_GET_ITEM(state->known_names, which));
}

static PyObject *call_method(const nl_py_state *state, PyObject *obj, int which) {
    return PyObject_CallMethodNoArgs(obj, PyTuple_GET_ITEM(state->known_names, which));
}

/* Returns 1 for True, 0 for False, -1 for another object or NULL, and steals the reference. */
static int read_stolen_bool(PyObject *value) {
    int result = value == Py_True ? 1 : value == Py_False ? 0 : -1;
    Py_XDECREF(value);
    return result;
}

/* Converts an int, which is an address or a handle, and steals the reference to it. Returns 0 or
 * -1. */
static int read_stolen_address(PyObject *value, CUdeviceptr *address) {
    if (value == NULL)
        return -1;
    *address = PyLong_Check(value) ? PyLong_AsUnsignedLongLong(value) : (CUdeviceptr)-1;
    Py_DECREF(value);
    return *address == (CUdeviceptr)-1 ? -1 : 0;
}

/* Reads a tuple of non-negative ints, multiplies each int by `unit`, and steals the reference to
 * the tuple. Returns 0 or -1. */
static int read_stolen_ints(PyObject *tuple, int64_t *values, int *count, int64_t unit) {
    int good = tuple != NULL && PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) <= NL_MAX_DIMS;
    Py_ssize_t n = good ? PyTuple_GET_SIZE(tuple) : 0;
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        long long value = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
        good = value >= 0 && !__builtin_mul_overflow(value, unit, &values[i]);
    }
    *count = (int)n;
    Py_XDECREF(tuple);
    return good ? 0 : -1;
}

/* Checks that the address range is valid, unless the array is empty, as the import of the CUDA
 * Array Interface does. */
static int check_address_range(nl_py_foreign *f) {
    int64_t low, high;
    if (nl_layout_count_elements(&f->layout) == 0)
        f->address = 0;
    return nl_py_geometry_byte_extent(&f->layout, &low, &high) == 0 &&
                   (high <= low || (f->address != 0 && f->address + (CUdeviceptr)low <=
                                                           f->address + (CUdeviceptr)high))
               ? 0
               : -1;
}

/* ---- CuPy ---- */

/* Reads CuPy's current stream, which CuPy's interface dictionary also contains. *keeper is a new
 * reference to CuPy's stream object, or NULL. */
static int cupy_stream(const nl_py_state *state, CUstream *handle, PyObject **keeper) {
    CUdeviceptr value;
    *keeper = PyObject_CallNoArgs(state->cupy_stream);
    if (*keeper == NULL)
        return -1;
    if (read_stolen_address(get_attribute(state, *keeper, NAME_PTR), &value) < 0) {
        Py_CLEAR(*keeper);
        return -1;
    }
    *handle = value ? (CUstream)(uintptr_t)value : CU_STREAM_LEGACY;
    return 0;
}

static int read_cupy_stream(const nl_py_state *state, nl_py_foreign *f) {
    PyObject *keeper;
    f->has_stream = 1;
    int result = cupy_stream(state, &f->stream, &keeper);
    Py_XDECREF(keeper);
    return result;
}

static int read_cupy(const nl_py_state *state, PyObject *obj, nl_py_foreign *f) {
    PyObject *descr = NULL, *data = NULL;
    int result = -1;
    if (read_stolen_bool(get_attribute(state, obj, NAME_CONTIGUOUS)) != 1 ||
        (descr = get_attribute(state, obj, NAME_DTYPE)) == NULL || !nl_py_hostarray_is_descr(descr))
        goto done;
    f->element = nl_py_hostarray_element_of_descr(descr);
    if (f->element.class != NL_ELEMENT_PLAIN)
        goto done;
    f->layout.itemsize = f->element.itemsize;
    if (read_stolen_ints(get_attribute(state, obj, NAME_SHAPE), f->layout.shape, &f->layout.ndim,
                         1) < 0 ||
        nl_py_geometry_strides(&f->layout, 'C') < 0 ||
        (data = get_attribute(state, obj, NAME_DATA)) == NULL ||
        read_stolen_address(get_attribute(state, data, NAME_PTR), &f->address) < 0)
        goto done;
    result = read_cupy_stream(state, f);
done:
    Py_XDECREF(descr);
    Py_XDECREF(data);
    return result;
}

/* ---- PyTorch ---- */

static PyObject *torch_dtype_table(const nl_py_state *state) {
    return PyTuple_GET_ITEM(state->torch_parts, 0);
}

/* Reads the current stream of a device. Returns 1 on success, or 0 if this version of PyTorch has
 * no function that returns the current stream, or -1 with an exception. */
static int read_torch_stream(const nl_py_state *state, int device, CUstream *handle) {
    CUdeviceptr value;
    PyObject *function = PyTuple_GET_ITEM(state->torch_parts, 1);
    if (function == Py_None)
        return 0;
    if (read_stolen_address(PyObject_CallFunction(function, "i", device), &value) < 0)
        return -1;
    *handle = value ? (CUstream)(uintptr_t)value : CU_STREAM_LEGACY;
    return 1;
}

static int read_torch(const nl_py_state *state, PyObject *obj, nl_py_foreign *f) {
    if (read_stolen_bool(get_attribute(state, obj, NAME_IS_CUDA)) != 1 ||
        read_stolen_bool(get_attribute(state, obj, NAME_REQUIRES_GRAD)) != 0 ||
        read_stolen_bool(get_attribute(state, obj, NAME_IS_SPARSE)) != 0)
        return -1;
    PyObject *dtype = get_attribute(state, obj, NAME_DTYPE);
    PyObject *code =
        dtype != NULL ? PyDict_GetItemWithError(torch_dtype_table(state), dtype) : NULL;
    Py_XDECREF(dtype);
    if (code == NULL)
        return -1;
    f->element.dtype = (nl_dtype)PyLong_AsLong(code);
    f->element.class = NL_ELEMENT_PLAIN;
    f->layout.itemsize = f->element.itemsize = (int64_t)nl_dtype_size(f->element.dtype);
    f->has_stream = read_torch_stream(state, nl_device_selected(), &f->stream);
    if (f->has_stream < 0)
        return -1;
    if (read_stolen_ints(get_attribute(state, obj, NAME_SHAPE), f->layout.shape, &f->layout.ndim,
                         1) < 0)
        return -1;
    int count, contiguous = read_stolen_bool(call_method(state, obj, NAME_IS_CONTIGUOUS));
    if (contiguous < 0)
        return -1;
    if (contiguous ? nl_py_geometry_strides(&f->layout, 'C') < 0
                   : read_stolen_ints(call_method(state, obj, NAME_STRIDE), f->layout.strides,
                                      &count, f->layout.itemsize) < 0 ||
                         count != f->layout.ndim)
        return -1;
    return read_stolen_address(call_method(state, obj, NAME_DATA_PTR), &f->address);
}

/* ---- registered classes ---- */

/* lock of the registered classes; never held while Python code runs */
static nl_mutex lock = NL_MUTEX_INIT;

/* Returns the module if it is loaded and its attribute `name` is `type`. NULL otherwise. */
static PyObject *find_module_of_class(PyTypeObject *type, const char *module, const char *name) {
    PyObject *text = PyUnicode_FromString(module);
    PyObject *found = text != NULL ? PyImport_GetModule(text) : NULL;
    PyObject *class = found != NULL ? PyObject_GetAttrString(found, name) : NULL;
    if (class != (PyObject *)type)
        Py_CLEAR(found);
    Py_XDECREF(class);
    Py_XDECREF(text);
    return found;
}

void nl_py_fastarray_store_class(PyTypeObject **slot, PyTypeObject *type, PyObject **helper_slot,
                                 PyObject *helper) {
    nl_mutex_lock(&lock);
    int first = *slot == NULL;
    if (first) {
        *helper_slot = helper;
        nl_atomic_store_entry(slot, (PyTypeObject *)Py_NewRef((PyObject *)type));
    }
    nl_mutex_unlock(&lock);
    if (!first)
        Py_DECREF(helper);
}

static void register_cupy(nl_py_state *state, PyTypeObject *type) {
    PyObject *module = find_module_of_class(type, "cupy", "ndarray");
    PyObject *cuda = module != NULL ? PyObject_GetAttrString(module, "cuda") : NULL;
    PyObject *stream = cuda != NULL ? PyObject_GetAttrString(cuda, "get_current_stream") : NULL;
    if (stream != NULL)
        nl_py_fastarray_store_class(&state->cupy_array, type, &state->cupy_stream, stream);
    Py_XDECREF(cuda);
    Py_XDECREF(module);
}

static PyObject *read_torch_dtypes(PyObject *module) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < sizeof torch_types / sizeof *torch_types; i++) {
        PyObject *dtype = PyObject_GetAttrString(module, torch_types[i].name);
        PyObject *code = PyLong_FromLong(torch_types[i].dtype);
        if (dtype == NULL) /* older versions of PyTorch lack some dtypes */
            PyErr_Clear();
        else if (code == NULL || PyDict_SetItem(dict, dtype, code) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(dtype);
        Py_XDECREF(code);
    }
    return dict;
}

/* Returns PyTorch's function that maps a device to the handle of its current stream, or None in
 * builds without CUDA. */
static PyObject *torch_stream_function(PyObject *module) {
    PyObject *internals = PyObject_GetAttrString(module, "_C");
    PyObject *function =
        internals != NULL ? PyObject_GetAttrString(internals, "_cuda_getCurrentRawStream") : NULL;
    Py_XDECREF(internals);
    if (function != NULL)
        return function;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static void register_torch(nl_py_state *state, PyTypeObject *type) {
    PyObject *module = find_module_of_class(type, "torch", "Tensor");
    PyObject *dtypes = module != NULL ? read_torch_dtypes(module) : NULL;
    PyObject *function = dtypes != NULL ? torch_stream_function(module) : NULL;
    PyObject *parts = function != NULL ? PyTuple_Pack(2, dtypes, function) : NULL;
    if (parts != NULL)
        nl_py_fastarray_store_class(&state->torch_tensor, type, &state->torch_parts, parts);
    Py_XDECREF(function);
    Py_XDECREF(dtypes);
    Py_XDECREF(module);
}

/* Registers the class if it is CuPy's or PyTorch's array. Returns 1 if this call registered it. */
static int register_array_class(nl_py_state *state, PyTypeObject *type) {
    PyTypeObject **slot;
    if (strcmp(type->tp_name, "ndarray") == 0)
        slot = &state->cupy_array;
    else if (strcmp(type->tp_name, "Tensor") == 0)
        slot = &state->torch_tensor;
    else
        return 0;
    if (nl_atomic_load_entry(slot) != NULL)
        return 0;
    (slot == &state->cupy_array ? register_cupy : register_torch)(state, type);
    PyErr_Clear();
    return nl_atomic_load_entry(slot) == type;
}

int nl_py_fastarray_read(nl_py_state *state, PyObject *obj, nl_py_foreign *out) {
    PyTypeObject *type = Py_TYPE(obj);
    int is_cupy = type == nl_atomic_load_entry(&state->cupy_array);
    if (!is_cupy && type != nl_atomic_load_entry(&state->torch_tensor)) {
        if (!register_array_class(state, type))
            return 0;
        is_cupy = type == nl_atomic_load_entry(&state->cupy_array);
    }
    out->descr = NULL;
    out->readonly = 0;
    if ((is_cupy ? read_cupy : read_torch)(state, obj, out) == 0 && check_address_range(out) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

int nl_py_fastarray_has_stream(nl_py_state *state, PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    if (type == nl_atomic_load_entry(&state->cupy_array))
        return 1;
    if (type != nl_atomic_load_entry(&state->torch_tensor) && !register_array_class(state, type))
        return 0;
    return type == nl_atomic_load_entry(&state->cupy_array) ||
           PyTuple_GET_ITEM(state->torch_parts, 1) != Py_None;
}

int nl_py_fastarray_read_stream(nl_py_state *state, PyObject *obj, int device, CUstream *stream,
                                PyObject **keeper) {
    *keeper = NULL;
    if (Py_TYPE(obj) == nl_atomic_load_entry(&state->torch_tensor))
        return read_torch_stream(state, device, stream);
    return cupy_stream(state, stream, keeper) < 0 ? -1 : 1;
}

PyObject *nl_py_fastarray_stream_object(nl_py_state *state, PyObject *obj) {
    if (Py_TYPE(obj) != nl_atomic_load_entry(&state->cupy_array))
        return NULL;
    PyObject *stream = PyObject_CallNoArgs(state->cupy_stream);
    if (stream == NULL)
        PyErr_Clear();
    return stream;
}

int nl_py_fastarray_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->known_names = nl_py_state_intern(names, NAME_COUNT);
    return state->known_names ? 0 : -1;
}
