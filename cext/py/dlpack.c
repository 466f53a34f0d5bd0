/* py/dlpack: imports arrays of other libraries through DLPack.
 *
 * The import first reads the producer's device, then requests a capsule for the stream on which the
 * array will be used; the producer orders its own work before that stream. An accepted tensor is
 * moved from the producer's capsule, which is renamed, to a capsule of this file. The capsule of
 * this file is the owner of the array and its views: when the last array over the memory is freed,
 * the producer's deleter is called, once. A refused tensor stays in the producer's capsule, whose
 * destructor releases it.
 *
 * Tensors of a class with DLPack's exchange API are read in place: nothing is exported, no Python
 * object is created, and the tensor object keeps its memory alive.
 *
 * This file does not import host memory: the caller uses it as a host array. On the simulator,
 * device memory is host memory, and device arrays are exported as host memory. For an address in
 * host memory, a driver call returns whether a simulated device has allocated it. */
#include "py/dlpack.h"

#include <string.h>
#include "base/lock.h"
#include "core/graph.h"
#include "core/stream.h"
#include "py/fastarray.h"
#include "py/stream.h"

static const char *const capsule_names[2] = {"dltensor", "dltensor_versioned"};
static const char *const used_names[2] = {"used_dltensor", "used_dltensor_versioned"};
static const char *const owner_names[2] = {"numbalite.dltensor", "numbalite.dltensor_versioned"};

void nl_py_dlpack_release_tensor(void *managed, int versioned) {
    nl_dl_versioned *v = managed;
    nl_dl_managed *m = managed;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (versioned && v->deleter)
        v->deleter(v);
    else if (!versioned && m->deleter)
        m->deleter(m);
    PyErr_Restore(type, value, traceback);
}

/* The destructor of the capsule that owns an imported tensor. */
static void free_tensor_owner(PyObject *owner) {
    int versioned = PyCapsule_IsValid(owner, owner_names[1]);
    nl_py_dlpack_release_tensor(PyCapsule_GetPointer(owner, owner_names[versioned]), versioned);
}

/* ---- the tensor ---- */

static nl_dtype dtype_of_tensor(const nl_dl_tensor *t) {
    static const nl_dtype dtypes[][5] = {
        [NL_DL_INT] = {NL_INT8, NL_INT16, NL_INT32, NL_INT64},
        [NL_DL_UINT] = {NL_UINT8, NL_UINT16, NL_UINT32, NL_UINT64},
        [NL_DL_FLOAT] = {NL_OPAQUE, NL_FLOAT16, NL_FLOAT32, NL_FLOAT64},
        [NL_DL_BFLOAT] = {NL_OPAQUE},
        [NL_DL_COMPLEX] = {[3] = NL_COMPLEX64, [4] = NL_COMPLEX128},
        [NL_DL_BOOL] = {NL_BOOL},
    };
    const int size = t->bits / 8;
    if (t->lanes != 1 || t->bits % 8 || t->code > NL_DL_BOOL || size == 0 || size > 16 ||
        (size & (size - 1)))
        return NL_OPAQUE;
    return dtypes[t->code][__builtin_ctz((unsigned)size)];
}

static int raise_unsupported_type(const nl_dl_tensor *t) {
    if (t->lanes != 1)
        PyErr_Format(PyExc_BufferError, "DLPack: elements of %d lanes are not supported",
                     (int)t->lanes);
    else if (t->code == NL_DL_BFLOAT)
        PyErr_Format(PyExc_BufferError,
                     "DLPack: NumPy has no dtype for bfloat%d: "
                     "convert the array to float32, or pass its bits as integers",
                     (int)t->bits);
    else
        PyErr_Format(PyExc_BufferError,
                     "DLPack: elements of type code %d with %d bits are not supported",
                     (int)t->code, (int)t->bits);
    return -1;
}

/* Reads and checks the shape, the strides in bytes and the element type. The other fields of the
 * struct are not trusted and not used. */
static int read_layout(const nl_dl_tensor *t, nl_layout *layout, nl_element *element) {
    element->class = NL_ELEMENT_PLAIN;
    element->dtype = dtype_of_tensor(t);
    if (element->dtype == NL_OPAQUE)
        return raise_unsupported_type(t);
    layout->itemsize = element->itemsize = (int64_t)nl_dtype_size(element->dtype);
    if (t->ndim < 0 || t->ndim > NL_MAX_DIMS) {
        PyErr_Format(PyExc_BufferError, "DLPack: %d dimensions, the limit is %d", (int)t->ndim,
                     NL_MAX_DIMS);
        return -1;
    }
    layout->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        layout->shape[i] = t->shape ? t->shape[i] : -1;
        if (layout->shape[i] < 0) {
            PyErr_SetString(PyExc_BufferError, "DLPack: the tensor has no valid shape");
            return -1;
        }
        if (t->strides &&
            __builtin_mul_overflow(t->strides[i], layout->itemsize, &layout->strides[i])) {
            PyErr_SetString(PyExc_BufferError, "DLPack: a stride cannot be expressed in bytes");
            return -1;
        }
    }
    return t->strides ? 0 : nl_py_geometry_strides(layout, 'C');
}

/* ---- the memory ---- */

/* For the simulator only: finds the device on which the tensor's memory was allocated as device
 * memory. Returns 1 and *ordinal, 0 for other memory, or -1 with *err. */
static int find_simulated_device(const nl_dl_tensor *t, int *ordinal, nl_error *err) {
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)t->data + t->byte_offset;
    nl_address a;
    if (!address || !nl_cu.memory_is_host)
        return 0;
    if (nl_device_query_pointer(address, &a, err) < 0)
        return -1;
    if (a.type == 0 || a.type == CU_MEMORYTYPE_HOST)
        return 0;
    *ordinal = a.ordinal;
    return 1;
}

/* Returns 1 and the device of the tensor's memory, 0 for host memory, -1 with an exception. */
static int find_device(const nl_dl_tensor *t, int empty, nl_device **dev) {
    nl_error err;
    int ordinal = t->device_id;
    *dev = nl_device_current(&err);
    if (!*dev)
        goto fail;
    int found = find_simulated_device(t, &ordinal, &err);
    if (found < 0)
        goto fail;
    switch (t->device_type) {
    case NL_DL_CPU:
    case NL_DL_CUDA_HOST:
        if (!found)
            return 0;
        break;
    case NL_DL_CUDA:
        if (nl_cu.memory_is_host && !found && !empty) {
            PyErr_SetString(
                PyExc_BufferError,
                "DLPack: the array is in a real GPU's memory, but kernels run on the simulator: "
                "copy the array to the host");
            return -1;
        }
        break;
    case NL_DL_CUDA_MANAGED:
        return 1;
    default:
        PyErr_Format(PyExc_BufferError,
                     "DLPack: memory of device type %d is not supported: "
                     "pass an array in host memory or on a CUDA device",
                     (int)t->device_type);
        return -1;
    }
    *dev = nl_device_get(ordinal, &err);
    if (*dev)
        return 1;
fail:
    nl_py_raise(&err);
    return -1;
}

/* Moves the tensor to a new owner, whose destructor calls the deleter, and renames the producer's
 * capsule, so that it no longer releases the tensor. */
static PyObject *move_tensor_to_owner(PyObject *capsule, void *managed, int versioned) {
    PyObject *owner = PyCapsule_New(managed, owner_names[versioned], NULL);
    if (!owner)
        return NULL;
    if (PyCapsule_SetName(capsule, used_names[versioned]) < 0 ||
        PyCapsule_SetDestructor(owner, free_tensor_owner) < 0)
        Py_CLEAR(owner);
    return owner;
}

static PyObject *array_over_tensor(nl_py_state *state, CUdeviceptr address, const nl_layout *layout,
                                   nl_py_array_parts *parts) {
    int64_t low, high;
    if (nl_py_geometry_byte_extent(layout, &low, &high) < 0)
        return NULL;
    if (!nl_py_address_range_is_valid(address, low, high)) {
        PyErr_SetString(PyExc_BufferError, "DLPack: the tensor has elements but no valid address");
        return NULL;
    }
    return nl_py_devarray_over_address(state, address, layout, parts);
}

/* Makes an array from a capsule. Returns 1 and the array, 0 for host memory, -1 with an exception.
 * `lender`, if not NULL, is the array that exported the capsule, whose library has a current
 * stream. The new array then keeps `lender` alive instead of the capsule, so that each call on the
 * array can read this stream. */
static int import_capsule(nl_py_state *state, PyObject *capsule, PyObject *lender,
                          PyObject **array) {
    int versioned = PyCapsule_IsValid(capsule, capsule_names[1]);
    if (!versioned && !PyCapsule_IsValid(capsule, capsule_names[0])) {
        int used =
            PyCapsule_IsValid(capsule, used_names[0]) || PyCapsule_IsValid(capsule, used_names[1]);
        PyErr_SetString(used ? PyExc_ValueError : PyExc_TypeError,
                        used ? "DLPack: the capsule was already consumed"
                             : "DLPack: __dlpack__ must return a capsule "
                               "named 'dltensor' or 'dltensor_versioned'");
        return -1;
    }
    void *managed = PyCapsule_GetPointer(capsule, capsule_names[versioned]);
    nl_dl_versioned *v = managed;
    if (versioned && v->major != 1) {
        PyErr_Format(PyExc_BufferError,
                     "DLPack: version %u.%u is not supported; "
                     "the supported version is 1",
                     (unsigned)v->major, (unsigned)v->minor);
        return -1;
    }
    const nl_dl_tensor *t = versioned ? &v->tensor : &((nl_dl_managed *)managed)->tensor;
    nl_py_array_parts parts = {.readonly = versioned && (v->flags & NL_DL_READ_ONLY),
                               .lent = lender != NULL};
    nl_layout layout;
    if (t->device_type == NL_DL_CPU && !nl_cu.memory_is_host)
        return 0;
    if (read_layout(t, &layout, &parts.element) < 0)
        return -1;
    int found = find_device(t, nl_layout_count_elements(&layout) == 0, &parts.device);
    if (found <= 0)
        return found;
    *array = NULL;
    parts.owner = lender ? Py_NewRef(lender) : move_tensor_to_owner(capsule, managed, versioned);
    parts.descr = parts.owner ? nl_py_hostarray_descr_of_dtype(parts.element.dtype) : NULL;
    if (parts.descr)
        *array = array_over_tensor(state, (CUdeviceptr)(uintptr_t)t->data + t->byte_offset, &layout,
                                   &parts);
    Py_XDECREF(parts.descr);
    Py_XDECREF(parts.owner);
    return *array ? 1 : -1;
}

/* ---- the producer ---- */

/* Reads the device type from __dlpack_device__. Returns 1 on success, 0 if the object has no method
 * __dlpack_device__, -1 with an exception. */
static int call_dlpack_device(PyObject *obj, int *type) {
    PyObject *method, *name, *pair = NULL;
    int id, found;
    if (PyType_Check(obj))
        return 0;
    if (!(name = PyUnicode_InternFromString("__dlpack_device__")))
        return -1;
    found = nl_py_lookup_attribute(obj, name, &method);
    Py_DECREF(name);
    if (found <= 0)
        return found;
    PyObject *answer = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (answer)
        pair = PySequence_Tuple(answer);
    Py_XDECREF(answer);
    if (!pair)
        return -1;
    found = PyArg_ParseTuple(pair, "ii;__dlpack_device__ must return two ints", type, &id);
    Py_DECREF(pair);
    return found ? 1 : -1;
}

/* Calls __dlpack__(stream=..., max_version=(1, 1)). Producers older than version 1 have no
 * parameter max_version, so after a TypeError the call is repeated without it. Steals the
 * reference to `stream`, which may be NULL with an exception. */
static PyObject *call_dlpack(PyObject *obj, PyObject *stream) {
    PyObject *capsule = NULL, *method = NULL, *none = PyTuple_New(0);
    PyObject *keywords =
        stream ? Py_BuildValue("{sOs(ii)}", "stream", stream, "max_version", 1, 1) : NULL;
    if (none && keywords)
        method = PyObject_GetAttrString(obj, "__dlpack__");
    if (method)
        capsule = PyObject_Call(method, none, keywords);
    if (method && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (PyDict_DelItemString(keywords, "max_version") == 0)
            capsule = PyObject_Call(method, none, keywords);
    }
    Py_XDECREF(method);
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_XDECREF(stream);
    return capsule;
}

/* Returns the number of a stream in DLPack, where 1 is the legacy default stream. */
static PyObject *stream_number(CUstream stream) {
    if (nl_capture_is_any_active() && nl_capture_has_stream(stream))
        /* -1: no wait, because the program that launches the graph is responsible for the order */
        return PyLong_FromLong(-1);
    return PyLong_FromVoidPtr(stream ? stream : CU_STREAM_LEGACY);
}

int nl_py_dlpack_import(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array) {
    nl_error err;
    int type, found;
    if (PyCapsule_CheckExact(obj)) {
        if (nl_device_current(&err))
            return import_capsule(state, obj, NULL, array);
        nl_py_raise(&err);
        return -1;
    }
    found = call_dlpack_device(obj, &type);
    if (found <= 0)
        return found;
    if (!nl_device_current(&err)) {
        nl_py_raise(&err);
        return -1;
    }
    int host = type == NL_DL_CPU || type == NL_DL_CUDA_HOST;
    if (host && !nl_cu.memory_is_host)
        return 0;
    PyObject *capsule = call_dlpack(obj, host ? Py_NewRef(Py_None) : stream_number(stream));
    if (!capsule) {
        /* an array that DLPack cannot export may still be usable as a host array */
        if (host && PyErr_ExceptionMatches(PyExc_BufferError)) {
            PyErr_Clear();
            return 0;
        }
        return -1;
    }
    PyObject *lender = !host && nl_py_fastarray_has_stream(state, obj) ? obj : NULL;
    found = import_capsule(state, capsule, lender, array);
    Py_DECREF(capsule);
    if (found < 0 && host && PyErr_ExceptionMatches(PyExc_BufferError)) {
        PyErr_Clear();
        return 0;
    }
    return found;
}

int nl_py_dlpack_import_array(nl_py_state *state, PyObject *obj, CUstream stream,
                              PyObject **array) {
    int type, found = nl_py_dlpack_import(state, obj, stream, array);
    if (found != 0 || PyCapsule_CheckExact(obj) || (found = call_dlpack_device(obj, &type)) <= 0)
        return found;
    PyObject *numpy = PyImport_ImportModule("numpy");
    *array = numpy ? PyObject_CallMethod(numpy, "from_dlpack", "O", obj) : NULL;
    Py_XDECREF(numpy);
    return *array ? 1 : -1;
}

/* ---- exchange API ---- */

/* Attribute names, interned once. */
enum { NAME_EXCHANGE, NAME_REQUIRES_GRAD, NAME_IS_CONJ, NAME_IS_NEG, NAME_COUNT };
static const char *const names[NAME_COUNT] = {"__dlpack_c_exchange_api__", "requires_grad",
                                              "is_conj", "is_neg"};

static PyObject *interned_dlpack_name(const nl_py_state *state, int which) {
    return PyTuple_GET_ITEM(state->dlpack_names, which);
}

/* Returns the C functions of a class, which live as long as the process. Returns NULL if the class
 * has no functions of a supported version. */
static const nl_dl_exchange *exchange_functions_of_capsule(PyObject *capsule) {
    const nl_dl_exchange *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (api && api->major > 1)
        api = api->previous;
    return api && api->major == 1 && api->view_tensor ? api : NULL;
}

/* Registers a class, with its exchange functions and the descriptor of requires_grad. Reading the
 * attribute through the descriptor takes half as long as by name. */
static void register_class(nl_py_state *state, PyTypeObject *type, PyObject *capsule) {
    PyObject *grad = NULL;
    if (nl_py_lookup_attribute((PyObject *)type, interned_dlpack_name(state, NAME_REQUIRES_GRAD),
                               &grad) < 0)
        PyErr_Clear();
    PyObject *parts = PyTuple_Pack(2, capsule, grad ? grad : Py_None);
    Py_XDECREF(grad);
    if (!parts) {
        PyErr_Clear();
        return;
    }
    nl_py_fastarray_store_class(&state->exchange_type, type, &state->exchange_parts, parts);
    if (nl_atomic_load_entry(&state->exchange_type) == type)
        nl_atomic_store_pointer(&state->exchange, (void *)exchange_functions_of_capsule(capsule));
}

/* Returns whether the class itself defines the attribute, not a base class (as for
 * torch.nn.Parameter). Never raises. */
static int class_defines_exchange(const nl_py_state *state, const PyTypeObject *type) {
    int found = type->tp_dict
                    ? PyDict_Contains(type->tp_dict, interned_dlpack_name(state, NAME_EXCHANGE))
                    : 0;
    if (found < 0)
        PyErr_Clear();
    return found > 0;
}

int nl_py_dlpack_is_registered(nl_py_state *state, PyObject *obj) {
    return Py_TYPE(obj) == nl_atomic_load_entry(&state->exchange_type);
}

static const nl_dl_exchange *find_exchange(nl_py_state *state, PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    PyObject *capsule;
    if (nl_py_dlpack_is_registered(state, obj)) {
        const nl_dl_exchange *registered = nl_atomic_load_pointer(&state->exchange);
        if (registered)
            return registered;
    }
    if (nl_py_lookup_attribute((PyObject *)type, interned_dlpack_name(state, NAME_EXCHANGE),
                               &capsule) <= 0)
        return NULL;
    const nl_dl_exchange *api = exchange_functions_of_capsule(capsule);
    if (api && !nl_atomic_load_entry(&state->exchange_type) && class_defines_exchange(state, type))
        register_class(state, type, capsule);
    Py_DECREF(capsule);
    return api;
}

/* Returns the exchange functions like find_exchange, but faster if the call has read a tensor of
 * the same class before. */
static const nl_dl_exchange *find_exchange_in_call(nl_py_state *state, PyObject *obj,
                                                   const nl_dl_current *current) {
    return current->of && current->type == Py_TYPE(obj) ? current->of : find_exchange(state, obj);
}

int nl_py_dlpack_register(nl_py_state *state, PyObject *obj) {
    const PyTypeObject *registered = nl_atomic_load_entry(&state->exchange_type);
    if (!registered && !find_exchange(state, obj))
        PyErr_Clear();
    return registered == Py_TYPE(obj) || nl_py_dlpack_is_registered(state, obj);
}

/* Returns whether an attribute of a PyTorch tensor is True, or whether the method with this name
 * returns True. Never raises. */
static int is_attribute_true(const nl_py_state *state, PyObject *obj, int which) {
    PyObject *value = NULL;
    if (nl_py_lookup_attribute(obj, interned_dlpack_name(state, which), &value) > 0 &&
        !PyBool_Check(value))
        Py_SETREF(value, PyObject_CallNoArgs(value));
    if (value == NULL)
        PyErr_Clear();
    Py_XDECREF(value);
    return value == Py_True;
}

/* Returns whether requires_grad is True, for a tensor of exactly the registered class. */
static int requires_registered_grad(nl_py_state *state, PyObject *obj) {
    PyObject *descriptor = PyTuple_GET_ITEM(state->exchange_parts, 1);
    if (!Py_IS_TYPE(descriptor, &PyGetSetDescr_Type))
        return is_attribute_true(state, obj, NAME_REQUIRES_GRAD);
    const PyGetSetDef *functions = ((PyGetSetDescrObject *)descriptor)->d_getset;
    PyObject *value = functions->get(obj, functions->closure);
    Py_XDECREF(value);
    return value != Py_False;
}

static int requires_grad(nl_py_state *state, PyObject *obj) {
    return nl_py_dlpack_is_registered(state, obj)
               ? requires_registered_grad(state, obj)
               : is_attribute_true(state, obj, NAME_REQUIRES_GRAD);
}

int nl_py_dlpack_read_view(nl_py_state *state, PyObject *obj, nl_dl_tensor *out) {
    if (!nl_py_dlpack_register(state, obj) || requires_registered_grad(state, obj))
        return 0;
    const nl_dl_exchange *api = find_exchange(state, obj);
    if (api && api->view_tensor(obj, out) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

int nl_py_dlpack_has_lazy_flag(const nl_py_state *state, PyObject *obj, const nl_py_foreign *f) {
    const nl_layout *layout = &f->layout;
    const char *flag = NULL;
    int is_complex = f->element.class == NL_ELEMENT_PLAIN &&
                     (f->element.dtype == NL_COMPLEX64 || f->element.dtype == NL_COMPLEX128);
    if (is_complex && is_attribute_true(state, obj, NAME_IS_CONJ))
        flag = "conj";
    /* the imaginary part of a lazy conjugate is a lazy negative, which is C-contiguous if it has
     * one element */
    else if ((!(f->orders & NL_LAYOUT_C) || nl_layout_count_elements(layout) == 1) &&
             is_attribute_true(state, obj, NAME_IS_NEG))
        flag = "neg";
    if (flag)
        PyErr_Format(PyExc_BufferError,
                     "the memory of this %.80s does not contain its elements, "
                     "which PyTorch computes when they are read: pass resolve_%s() of it",
                     Py_TYPE(obj)->tp_name, flag);
    return flag != NULL;
}

void nl_py_dlpack_add_view(nl_dl_views *views, PyObject *object, const nl_dl_tensor *tensor) {
    const int limit = sizeof views->items / sizeof *views->items;
    if (tensor->ndim < 0 || tensor->ndim > NL_DL_VIEW_DIMS || !tensor->shape ||
        views->count == limit)
        return;
    nl_dl_view *added = &views->items[views->count++];
    added->object = object;
    added->tensor = *tensor;
    added->tensor.shape = added->sizes;
    if (tensor->strides)
        added->tensor.strides = added->sizes + NL_DL_VIEW_DIMS;
    for (int d = 0; d < tensor->ndim; d++) {
        added->sizes[d] = tensor->shape[d];
        if (tensor->strides)
            added->sizes[NL_DL_VIEW_DIMS + d] = tensor->strides[d];
    }
}

/* Reads the current stream into *current, only once per call, because reading the stream takes a
 * third of the time of all other reads of a tensor. */
static int find_stream(const nl_dl_exchange *api, PyObject *obj, int device_type, int32_t device_id,
                       nl_dl_current *current) {
    if (current->of == api && current->device_id == device_id)
        return 0;
    void *stream = NULL;
    if (api->current_stream(device_type, device_id, &stream) < 0)
        return -1;
    current->of = api;
    current->type = Py_TYPE(obj);
    current->device_id = device_id;
    current->stream = stream ? stream : CU_STREAM_LEGACY;
    return 0;
}

int nl_py_dlpack_current_stream(nl_py_state *state, PyObject *obj, int device,
                                nl_dl_current *current, CUstream *stream) {
    const nl_dl_exchange *api = find_exchange_in_call(state, obj, current);
    if (!api || find_stream(api, obj, NL_DL_CUDA, device, current) < 0) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_RuntimeError,
                         "%.80s: the current stream of device %d is not available",
                         Py_TYPE(obj)->tp_name, device);
        return -1;
    }
    *stream = current->stream;
    return 1;
}

static int read_stream(const nl_dl_exchange *api, PyObject *obj, const nl_dl_tensor *t,
                       nl_dl_current *current, nl_py_foreign *f) {
    if (find_stream(api, obj, t->device_type, t->device_id, current) < 0)
        return -1;
    f->has_stream = 1;
    f->stream = current->stream;
    return 0;
}

/* Fills *t, by a copy from the call's cached views if the tensor is cached. Returns 1 on success,
 * or 0 for a tensor that requires a gradient, or that cannot be viewed. */
static int fill_tensor_view(nl_py_state *state, const nl_dl_exchange *api, PyObject *obj,
                            const nl_dl_current *current, nl_dl_tensor *t) {
    const nl_dl_view *found = nl_dl_find_view(current, obj);
    if (!found)
        return !requires_grad(state, obj) && api->view_tensor(obj, t) == 0;
    *t = found->tensor;
    return 1;
}

int nl_py_dlpack_read(nl_py_state *state, PyObject *obj, nl_dl_current *current,
                      nl_py_foreign *out) {
    nl_dl_tensor t = {.data = NULL};
    int64_t low, high;
    const nl_dl_exchange *api = find_exchange_in_call(state, obj, current);
    if (!api || !fill_tensor_view(state, api, obj, current, &t) ||
        (t.device_type != NL_DL_CUDA && t.device_type != NL_DL_CUDA_MANAGED) ||
        read_layout(&t, &out->layout, &out->element) < 0 ||
        nl_py_geometry_byte_extent(&out->layout, &low, &high) < 0 ||
        read_stream(api, obj, &t, current, out) < 0)
        goto other;
    out->descr = NULL;
    out->readonly = 0;
    out->orders = (uint8_t)nl_layout_contiguous_orders(&out->layout);
    out->address = low == high ? 0 : (CUdeviceptr)(uintptr_t)t.data + t.byte_offset;
    if (!nl_py_address_range_is_valid(out->address, low, high))
        goto other;
    return nl_py_dlpack_has_lazy_flag(state, obj, out) ? -1 : 1;
other:
    PyErr_Clear();
    return 0;
}

/* Fills the sizes of *out if the tensor is C-contiguous, has at least two elements, and its size in
 * bytes can be represented. Returns 1 or 0. */
static int read_dense_sizes(const nl_dl_tensor *t, int64_t itemsize, nl_dl_dense *out) {
    int64_t count = 1, bytes = itemsize;
    for (int d = t->ndim - 1; d >= 0; d--) {
        out->sizes[d] = t->shape[d];
        out->sizes[t->ndim + d] = bytes;
        if (t->shape[d] < 1 || (t->strides && t->strides[d] != count) ||
            __builtin_mul_overflow(bytes, t->shape[d], &bytes))
            return 0;
        count *= t->shape[d];
    }
    return count > 1;
}

int nl_py_dlpack_read_dense(const nl_dl_view *view, const nl_dl_current *current, nl_dtype dtype,
                            CUstream stream, int blocking, nl_dl_dense *out) {
    const nl_dl_tensor *t = &view->tensor;
    if (!current->of || current->type != Py_TYPE(view->object) ||
        (current->stream != stream && !(current->stream == CU_STREAM_LEGACY && blocking)) ||
        t->device_type != NL_DL_CUDA || t->device_id != current->device_id ||
        t->code == NL_DL_COMPLEX || dtype == NL_OPAQUE || dtype_of_tensor(t) != dtype ||
        !read_dense_sizes(t, (int64_t)nl_dtype_size(dtype), out))
        return 0;
    out->address = (CUdeviceptr)(uintptr_t)t->data + t->byte_offset;
    return out->address != 0;
}

int nl_py_dlpack_exec(PyObject *module) {
    nl_py_state_of(module)->dlpack_names = nl_py_state_intern(names, NAME_COUNT);
    return nl_py_state_of(module)->dlpack_names ? 0 : -1;
}
