/* py/arraytype: the type DeviceArray: its attributes, its methods, and the functions that create
 * arrays. */
#include "base/mem.h"
#include "core/capture.h"
#include "py/arrayfunction.h"
#include "py/arrayufunc.h"
#include "py/devarray.h"
#include "py/devcopy.h"
#include "py/devindex.h"
#include "py/dlpackout.h"
#include "py/arrayinterface.h"
#include "py/matmul.h"
#include "py/operators.h"
#include "py/lender.h"
#include "py/stream.h"

static int devarray_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_array *a = (nl_py_array *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(a->owner);
    Py_VISIT(a->stream);
    return 0;
}

static int devarray_clear(PyObject *self) {
    nl_py_array *a = (nl_py_array *)self;
    Py_CLEAR(a->stream);
    return 0; /* the reference to the owner is not cleared: a reachable array must keep its
               * memory */
}

static void devarray_dealloc(PyObject *self) {
    nl_py_array *a = (nl_py_array *)self;
    PyObject_GC_UnTrack(self);
    if (a->weakrefs)
        PyObject_ClearWeakRefs(self);
    nl_py_devarray_buffer_release(a->buffer);
    if (a->shape != a->dims)
        nl_mem_free(a->shape);
    Py_XDECREF(a->descr);
    Py_XDECREF(a->owner);
    Py_XDECREF(a->stream);
    nl_py_free_object(self);
}

/* Arrays are created by functions, not by the constructor; a subclass that needs a constructor
 * defines __new__ in Python and calls these functions. */
static PyObject *devarray_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                              PyObject *Py_UNUSED(kwargs)) {
    PyErr_Format(PyExc_TypeError,
                 "%.80s objects are made by cuda.to_device, cuda.device_array and their like",
                 type->tp_name);
    return NULL;
}

/* ---- attributes ---- */

static PyObject *devarray_shape(PyObject *self, void *Py_UNUSED(closure)) {
    return nl_py_geometry_new_tuple(((nl_py_array *)self)->shape, ((nl_py_array *)self)->ndim);
}

static PyObject *devarray_strides(PyObject *self, void *Py_UNUSED(closure)) {
    nl_py_array *a = (nl_py_array *)self;
    return nl_py_geometry_new_tuple(nl_py_devarray_strides(a), a->ndim);
}

static PyObject *devarray_dtype(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((nl_py_array *)self)->descr);
}

static PyObject *devarray_ndim(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLong(((nl_py_array *)self)->ndim);
}

static PyObject *devarray_size(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLongLong(nl_py_devarray_count((nl_py_array *)self));
}

static PyObject *devarray_itemsize(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLongLong(((nl_py_array *)self)->itemsize);
}

static PyObject *devarray_nbytes(PyObject *self, void *Py_UNUSED(closure)) {
    nl_py_array *a = (nl_py_array *)self;
    return PyLong_FromLongLong(nl_py_devarray_count(a) * a->itemsize);
}

static PyObject *devarray_address_unexposed(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(((nl_py_array *)self)->address);
}

/* The caller may use the returned address on any stream, so the buffer is marked as exposed. */
static PyObject *devarray_address(PyObject *self, void *closure) {
    nl_error err;
    const nl_buffer *buffer = ((nl_py_array *)self)->buffer;
    if (nl_device_check_generation(buffer->device, buffer->generation, &err) < 0)
        return nl_py_raise(&err);
    nl_buffer_mark_exposed(((nl_py_array *)self)->buffer);
    return devarray_address_unexposed(self, closure);
}

static PyObject *devarray_device(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLong(((nl_py_array *)self)->buffer->device->ordinal);
}

static PyObject *devarray_base_nbytes(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(((nl_py_array *)self)->buffer->size);
}

static PyObject *devarray_readonly(PyObject *self, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(((nl_py_array *)self)->flags & NL_PY_ARRAY_NO_TARGET);
}

static PyObject *devarray_owner(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *owner = ((nl_py_array *)self)->owner;
    return Py_NewRef(owner ? owner : Py_None);
}

static PyObject *devarray_is_view(PyObject *self, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(((nl_py_array *)self)->flags & NL_PY_ARRAY_VIEW);
}

static PyObject *devarray_stream(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *stream = nl_py_lender_array_stream((nl_py_array *)self);
    return stream || PyErr_Occurred() ? stream : PyLong_FromLong(0);
}

static PyObject *devarray_is_c(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    return PyBool_FromLong(((nl_py_array *)self)->flags & NL_PY_ARRAY_C);
}

static PyObject *devarray_is_f(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    return PyBool_FromLong(((nl_py_array *)self)->flags & NL_PY_ARRAY_F);
}

static Py_ssize_t devarray_length(PyObject *self) {
    nl_py_array *a = (nl_py_array *)self;
    if (a->ndim > 0)
        return (Py_ssize_t)a->shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of unsized object");
    return -1;
}

/* _bind(stream): returns the same array, a view or not, with another default stream. */
static PyObject *devarray_bind_stream(PyObject *self, PyObject *stream) {
    nl_py_array *a = (nl_py_array *)self;
    CUstream handle;
    nl_layout layout;
    if (nl_py_stream_read(a->state, stream, &handle, NULL) < 0)
        return NULL;
    nl_py_devarray_layout(a, &layout);
    nl_py_array *view = (nl_py_array *)nl_py_devarray_view(a, a->address, &layout);
    if (view) {
        Py_XSETREF(view->stream, handle ? Py_NewRef(stream) : NULL);
        view->flags &= (uint8_t)(~NL_PY_ARRAY_VIEW | (a->flags & NL_PY_ARRAY_VIEW));
    }
    return (PyObject *)view;
}

/* _call_key(): returns a cache key for library calls, as bytes: the layout, alignment and dtype,
 * the array's device and the current device, and the number of the stream (-1 for the stream that
 * the thread captures). */
static PyObject *devarray_call_key(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    enum { HEAD = 5 };
    const nl_py_array *a = (nl_py_array *)self;
    int64_t words[HEAD + 2 * NL_MAX_DIMS];
    CUstream handle = NULL;
    PyObject *stream = devarray_stream(self, NULL);
    int status = stream ? nl_py_stream_number(a->state, stream, &handle) : -1;
    Py_XDECREF(stream);
    if (status < 0)
        return NULL;
    words[0] = a->ndim | a->dtype << 8 | a->class << 16 | a->flags << 24;
    words[1] = (int64_t)(a->address & 15) | (int64_t)nl_device_selected() << 8 |
               (int64_t)a->buffer->device->ordinal << 32;
    words[2] = (int64_t)nl_atomic_load(&a->buffer->device->generation);
    words[3] = handle == NULL && nl_capture_is_active_in_thread() ? -1 : (int64_t)(uintptr_t)handle;
    words[4] = a->itemsize;
    memcpy(&words[HEAD], a->shape, 2 * (size_t)a->ndim * sizeof words[0]);
    return PyBytes_FromStringAndSize((const char *)words, (HEAD + 2 * (Py_ssize_t)a->ndim) *
                                                              (Py_ssize_t)sizeof words[0]);
}

/* ---- constructors ---- */

/* Reads a dtype, sets the layout's itemsize, and checks that device memory can contain the
 * elements. */
static PyObject *element_dtype(PyObject *specification, nl_element *element, nl_layout *layout) {
    PyObject *descr = nl_py_hostarray_convert_descr(specification);
    if (!descr)
        return NULL;
    *element = nl_py_hostarray_element_of_descr(descr);
    layout->itemsize = element->itemsize;
    if (element->class != NL_ELEMENT_OBJECT)
        return descr;
    PyErr_Format(PyExc_TypeError, "dtype %R cannot be held in device memory", descr);
    Py_DECREF(descr);
    return NULL;
}

/* Creates an array from the arguments of device_array; an argument that was not passed is NULL. */
static PyObject *create_array_from_arguments(nl_py_state *state, PyObject *shape, PyObject *dtype,
                                             PyObject *strides, PyObject *order_text,
                                             PyObject *stream) {
    PyObject *result = NULL;
    Py_UCS4 order = 'C';
    nl_py_array_parts parts = {0};
    nl_layout layout;
    CUstream handle = NULL;
    if (order_text) {
        order = PyUnicode_Check(order_text) && PyUnicode_GET_LENGTH(order_text) == 1
                    ? PyUnicode_READ_CHAR(order_text, 0)
                    : 0;
        if (order != 'C' && order != 'F')
            return PyErr_Format(PyExc_ValueError, "order must be 'C' or 'F', not %R", order_text);
    }
    if (stream && nl_py_stream_read(state, stream, &handle, NULL) < 0)
        return NULL;
    if (nl_py_geometry_read_shape(shape, &layout) < 0)
        return NULL;
    PyObject *of_new = nl_py_hostarray_descr_of_new_array(dtype);
    if (!of_new)
        return NULL;
    parts.descr = element_dtype(of_new, &parts.element, &layout);
    Py_DECREF(of_new);
    if (!parts.descr)
        return NULL;
    parts.stream = handle ? stream : NULL;
    if (!strides || strides == Py_None
            ? nl_py_geometry_strides(&layout, (char)order) == 0
            : nl_py_geometry_read_strides(strides, &layout, "strides") == 0)
        result = nl_py_devarray_allocate(state, &parts, &layout);
    Py_DECREF(parts.descr);
    return result;
}

enum { MAKE_SHAPE, MAKE_DTYPE, MAKE_STRIDES, MAKE_ORDER, MAKE_STREAM, MAKE_COUNT };

/* device_array(): small arrays are created often, so the arguments are parsed here, without the
 * slower functions of the C API. */
static PyObject *device_array(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *keywords) {
    static const char *const names[MAKE_COUNT] = {"shape", "dtype", "strides", "order", "stream"};
    PyObject *values[MAKE_COUNT] = {NULL};
    Py_ssize_t named = nl_py_count_keywords(keywords);
    if (nargs > MAKE_COUNT)
        return PyErr_Format(PyExc_TypeError, "device_array() takes at most %d arguments, not %zd",
                            MAKE_COUNT, nargs);
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        int which = 0;
        while (which < MAKE_COUNT && PyUnicode_CompareWithASCIIString(name, names[which]) != 0)
            which++;
        if (which == MAKE_COUNT || values[which])
            return PyErr_Format(PyExc_TypeError, "device_array() got %s argument %R",
                                which == MAKE_COUNT ? "an unexpected keyword" : "twice the", name);
        values[which] = args[nargs + i];
    }
    if (!values[MAKE_SHAPE])
        return PyErr_Format(PyExc_TypeError, "device_array() needs a shape");
    if (!values[MAKE_DTYPE])
        values[MAKE_DTYPE] = (PyObject *)&PyFloat_Type;
    return create_array_from_arguments(nl_py_state_of(module), values[MAKE_SHAPE],
                                       values[MAKE_DTYPE], values[MAKE_STRIDES], values[MAKE_ORDER],
                                       values[MAKE_STREAM]);
}

static PyObject *device_empty(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shape", "dtype", "order", "strides", NULL};
    PyObject *shape, *dtype, *order = NULL, *strides = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:device_empty", names, &shape, &dtype,
                                     &order, &strides))
        return NULL;
    return create_array_from_arguments(nl_py_state_of(module), shape, dtype, strides, order, NULL);
}

static int read_address(PyObject *obj, CUdeviceptr *address) {
    PyObject *index = PyNumber_Index(obj);
    if (!index)
        return -1;
    *address = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    return *address == (CUdeviceptr)-1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *array_from_pointer(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"address", "shape", "strides", "dtype", "owner", "readonly", NULL};
    PyObject *where, *shape, *strides, *dtype, *owner = NULL, *result = NULL;
    nl_py_array_parts parts = {0};
    CUdeviceptr address;
    nl_layout layout;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|Op:from_pointer", names, &where, &shape,
                                     &strides, &dtype, &owner, &parts.readonly))
        return NULL;
    if (read_address(where, &address) < 0 || nl_py_geometry_read_shape(shape, &layout) < 0)
        return NULL;
    parts.descr = element_dtype(dtype, &parts.element, &layout);
    if (!parts.descr)
        return NULL;
    parts.owner = owner == Py_None ? NULL : owner;
    if (strides == Py_None ? nl_py_geometry_strides(&layout, 'C') == 0
                           : nl_py_geometry_read_strides(strides, &layout, "strides") == 0)
        result = nl_py_devarray_over_address(nl_py_state_of(module), address, &layout, &parts);
    Py_DECREF(parts.descr);
    return result;
}

/* _view(shape, strides, dtype, offset=0): returns a view with any geometry inside the buffer. */
static PyObject *devarray_view(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shape",    "strides", "dtype", "offset_bytes",
                            "repeated", "is_view", NULL};
    nl_py_array *a = (nl_py_array *)self;
    PyObject *shape, *strides, *dtype, *result = NULL;
    nl_py_array_parts parts = nl_py_devarray_shared_members(a);
    int repeated = 0, is_view = 1;
    Py_ssize_t offset = 0;
    int64_t low, high;
    nl_layout layout;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|npp:_view", names, &shape, &strides, &dtype,
                                     &offset, &repeated, &is_view))
        return NULL;
    parts.view = is_view;
    parts.repeated = repeated || a->flags & NL_PY_ARRAY_REPEATED;
    if (nl_py_geometry_read_shape(shape, &layout) < 0)
        return NULL;
    parts.descr = element_dtype(dtype == Py_None ? a->descr : dtype, &parts.element, &layout);
    if (!parts.descr)
        return NULL;
    if (strides == Py_None ? nl_py_geometry_strides(&layout, 'C') < 0
                           : nl_py_geometry_read_strides(strides, &layout, "strides") < 0)
        goto done;
    if (nl_py_geometry_byte_extent(&layout, &low, &high) < 0)
        goto done;
    __int128 start = (__int128)a->address - a->buffer->address + offset;
    if (high > low ? start + low < 0 || start + high > (__int128)a->buffer->size
                   : offset != 0 && (start < 0 || start > (__int128)a->buffer->size)) {
        PyErr_SetString(PyExc_ValueError, "the view would reach outside of the array's memory");
        goto done;
    }
    parts.address = a->address + (CUdeviceptr)offset;
    result = nl_py_devarray_new(a->state, &parts, &layout);
done:
    Py_DECREF(parts.descr);
    return result;
}

static int check_array_class(const nl_py_state *state, PyObject *class, const char *function) {
    if (PyType_Check(class) && PyType_IsSubtype((PyTypeObject *)class, state->devarray_type))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s takes a sub-class of DeviceArray", function);
    return -1;
}

static PyObject *register_array_class(PyObject *module, PyObject *class) {
    nl_py_state *state = nl_py_state_of(module);
    if (check_array_class(state, class, "register_array_class") < 0)
        return NULL;
    Py_XSETREF(state->devarray_class, (PyTypeObject *)Py_NewRef(class));
    Py_RETURN_NONE;
}

static PyObject *register_record_class(PyObject *module, PyObject *class) {
    nl_py_state *state = nl_py_state_of(module);
    if (check_array_class(state, class, "register_record_class") < 0)
        return NULL;
    Py_XSETREF(state->devrecord_class, (PyTypeObject *)Py_NewRef(class));
    Py_RETURN_NONE;
}

/* _record(): returns an array of one record as a record object. */
static PyObject *devarray_record(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    nl_py_array *a = (nl_py_array *)self;
    if (nl_py_devarray_count(a) == 1 && a->class == NL_ELEMENT_RECORD)
        return nl_py_devarray_record_at(a, a->address);
    PyErr_SetString(PyExc_TypeError, "only an array of one record is a record");
    return NULL;
}

/* ---- type ---- */

static PyGetSetDef devarray_getset[] = {
    {"shape", devarray_shape, NULL, "The length of each dimension, in elements.", NULL},
    {"strides", devarray_strides, NULL,
     "For each dimension, the distance between neighbouring elements in bytes.", NULL},
    {"dtype", devarray_dtype, NULL, "The NumPy dtype of the elements.", NULL},
    {"ndim", devarray_ndim, NULL, "Number of dimensions.", NULL},
    {"size", devarray_size, NULL, "Number of elements.", NULL},
    {"itemsize", devarray_itemsize, NULL, "Bytes of one element.", NULL},
    {"nbytes", devarray_nbytes, NULL, "Bytes of all elements.", NULL},
    {"address", devarray_address, NULL, "Device address of the first element.", NULL},
    {"_address", devarray_address_unexposed, NULL,
     "The address of the first element, for use inside numbalite only: "
     "reading it does not mark the memory as exposed to other code.",
     NULL},
    {"device", devarray_device, NULL, "Index of the device that contains the memory.", NULL},
    {"base_nbytes", devarray_base_nbytes, NULL,
     "Size in bytes of the allocation that contains the array's memory.", NULL},
    {"alloc_size", devarray_base_nbytes, NULL,
     "Size in bytes of the allocation that contains the array's memory.", NULL},
    {"readonly", devarray_readonly, NULL,
     "Whether the array is read-only: memory that another library exports as read-only, "
     "or the result of broadcast_to, which only kernels may write to.",
     NULL},
    {"stream", devarray_stream, NULL,
     "The default stream of the array's methods; 0 is the default stream of the device.", NULL},
    {"_is_view", devarray_is_view, NULL, "True for a view of another array.", NULL},
    {"_owner", devarray_owner, NULL,
     "The object of another library that owns the memory, "
     "or None if numbalite allocated it.",
     NULL},
    {"__cuda_array_interface__", nl_py_arrayinterface_get, NULL, "CUDA Array Interface, version 3.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS
static PyMethodDef devarray_methods[] = {
    {"is_c_contiguous", devarray_is_c, METH_NOARGS, "Whether the array is C-contiguous."},
    {"is_f_contiguous", devarray_is_f, METH_NOARGS, "Whether the array is Fortran-contiguous."},
    {"_record", devarray_record, METH_NOARGS,
     "_record(): returns an array of one record as a record object."},
    {"_call_key", devarray_call_key, METH_NOARGS,
     "_call_key(): returns the part of the key of a cached library call that describes the array."},
    {"_bind", devarray_bind_stream, METH_O,
     "_bind(stream): returns a view of the array with another default stream."},
    {"_view", KEYWORDS(devarray_view),
     "_view(shape, strides, dtype, offset_bytes=0, repeated=False, is_view=True): "
     "returns a view of the same memory, with any geometry inside this memory. "
     "repeated: elements of the view share memory, so only kernels may write to the view. "
     "If not is_view, the flag OWNDATA is set."},
    {"_read", KEYWORDS(nl_py_devcopy_read), "_read(dest, stream=None): copies to a NumPy array."},
    {"_download", KEYWORDS(nl_py_devcopy_download),
     "_download(order, stream=None): "
     "copies the elements, waits, and returns them as a new NumPy array."},
    {"_in_capture", nl_py_devcopy_would_be_captured, METH_NOARGS,
     "_in_capture(): "
     "returns whether a capture, in any thread, forbids a copy of the elements to the host."},
    {"_write", KEYWORDS(nl_py_devcopy_write),
     "_write(src, stream=None): copies from a NumPy array."},
    {"_copy", KEYWORDS(nl_py_devcopy_copy), "_copy(src, stream=None): copies from a device array."},
    {"_fill", KEYWORDS(nl_py_devcopy_fill),
     "_fill(value, stream=None): sets all elements to value, a 0-dimensional NumPy array."},
    {"__array_ufunc__", (PyCFunction)(void (*)(void))nl_py_array_ufunc,
     METH_FASTCALL | METH_KEYWORDS,
     "__array_ufunc__(ufunc, method, *inputs, **keywords): calls NumPy's ufunc on the device."},
    {"__array_function__", (PyCFunction)(void (*)(void))nl_py_array_function, METH_FASTCALL,
     "__array_function__(function, types, args, keywords): calls NumPy's function on the device."},
    {"__dlpack__", KEYWORDS(nl_py_dlpackout_dlpack),
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): "
     "returns a DLPack capsule of the memory; on the simulator, this is host memory. "
     "With dl_device=(1, 0), a GPU copies the elements to host memory."},
    {"__dlpack_device__", nl_py_dlpackout_dlpack_device, METH_NOARGS,
     "__dlpack_device__(): "
     "returns (2, device) (kDLCUDA) on a GPU, (1, 0) (kDLCPU) on the simulator."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef functions[] = {
    {"device_array", (PyCFunction)(void (*)(void))device_array, METH_FASTCALL | METH_KEYWORDS,
     "device_array(shape, dtype='float64', strides=None, order='C', stream=0)\n--\n\n"
     "Creates an uninitialized array on the current device.\n\n"
     "Parameters\n----------\n"
     "shape : int or tuple of ints\n"
     "dtype : dtype\n    Any dtype of NumPy except objects.\n"
     "strides : tuple of ints, optional\n"
     "    Strides in bytes; gaps between elements are allowed.\n"
     "order : {'C', 'F'}\n    The memory layout, without strides.\n"
     "stream : Stream or int\n    The default stream of the array's methods.\n\n"
     "Returns\n-------\n"
     "DeviceNDArray\n\n"
     "Raises\n------\n"
     "TypeError, ValueError\n    An argument is invalid.\n"
     "CudaAPIError\n    The device's memory is full.\n\n"
     "Examples\n--------\n"
     ">>> d = cuda.device_array((2, 3), np.float32)\n"
     ">>> d[:] = 1\n"
     ">>> d.copy_to_host().sum()\n"
     "np.float32(6.0)"},
    {"device_empty", KEYWORDS(device_empty),
     "device_empty(shape, dtype, order='C', strides=None): returns a new uninitialized array."},
    {"from_pointer", KEYWORDS(array_from_pointer),
     "from_pointer(address, shape, strides, dtype, owner=None, readonly=False): "
     "returns an array over the memory at an address. "
     "The memory must stay allocated while owner is alive."},
    {"register_array_class", register_array_class, METH_O,
     "register_array_class(cls): sets the subclass of DeviceArray for all new arrays."},
    {"register_record_class", register_record_class, METH_O,
     "register_record_class(cls): sets the subclass of DeviceArray for records."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef devarray_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_array, weakrefs), Py_READONLY, NULL},
    {"_low_bits", Py_T_UBYTE, offsetof(nl_py_array, misaligned), Py_READONLY,
     "Bitwise OR of the lowest eight address bits of all elements."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot devarray_slots[] = {
    {Py_tp_doc, "Array in device memory: a dtype, a shape and strides over a buffer."},
    {Py_tp_new, devarray_new},
    {Py_tp_dealloc, devarray_dealloc},
    {Py_tp_traverse, devarray_traverse},
    {Py_tp_clear, devarray_clear},
    {Py_tp_getset, devarray_getset},
    {Py_tp_methods, devarray_methods},
    {Py_tp_members, devarray_members},
    {Py_mp_length, devarray_length},
    {Py_sq_length, devarray_length},
    {Py_mp_subscript, nl_py_devindex_subscript},
    {Py_sq_item, nl_py_devindex_item},
    {Py_nb_matrix_multiply, nl_py_matmul},
    NL_OPERATOR_SLOTS{0, NULL}};

static PyType_Spec devarray_spec = {
    .name = "numbalite._core.DeviceArray",
    .basicsize = sizeof(nl_py_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = devarray_slots,
};

int nl_py_arraytype_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_state_add_type(module, &devarray_spec, NULL, &state->devarray_type) < 0)
        return -1;
    state->devarray_class = (PyTypeObject *)Py_NewRef(state->devarray_type);
    state->devrecord_class = (PyTypeObject *)Py_NewRef(state->devarray_type);
    return nl_py_state_add_functions(module, functions);
}
