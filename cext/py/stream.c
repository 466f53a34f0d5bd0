/* py/stream: the type Stream, and reading stream arguments. */
#include "py/stream.h"

#include <stdint.h>
#include "core/graph.h"
#include "py/capture.h"

/* Reads (version, handle) from an object's __cuda_stream__: a method in the current protocol, an
 * attribute in the protocol's first version. */
static int read_stream_protocol(PyObject *argument, CUstream *handle) {
    PyObject *pair = PyObject_GetAttrString(argument, "__cuda_stream__");
    if (pair != NULL && PyCallable_Check(pair))
        Py_SETREF(pair, PyObject_CallNoArgs(pair));
    if (pair == NULL)
        return -1;
    unsigned long long value = 0;
    int version = -1;
    int good = PyTuple_Check(pair) && PyArg_ParseTuple(pair, "iK", &version, &value);
    if (!good) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "__cuda_stream__ of %.100s must return (0, handle), not %R",
                     Py_TYPE(argument)->tp_name, pair);
    } else if (version != 0) {
        good = 0;
        PyErr_Format(PyExc_NotImplementedError,
                     "version %d of the __cuda_stream__ protocol is not supported", version);
    }
    Py_DECREF(pair);
    *handle = (CUstream)(uintptr_t)value;
    return good ? 0 : -1;
}

static int raise_invalid_stream(PyObject *argument) {
    PyErr_Format(
        PyExc_TypeError,
        "stream must be 0, None, a Stream or an object with __cuda_stream__, not %.100s %R",
        Py_TYPE(argument)->tp_name, argument);
    return -1;
}

/* Returns whether the object has the attribute __cuda_stream__. */
static int has_stream_protocol(PyObject *argument) {
    PyObject *found = PyObject_GetAttrString(argument, "__cuda_stream__");
    if (found == NULL)
        PyErr_Clear();
    Py_XDECREF(found);
    return found != NULL;
}

PyObject *nl_py_stream_null_if_none(PyObject *stream) {
    return !stream || stream == Py_None || (PyLong_CheckExact(stream) && !PyObject_IsTrue(stream))
               ? NULL
               : stream;
}

int nl_py_stream_read(nl_py_state *state, PyObject *argument, CUstream *handle, int *blocking) {
    nl_error err;
    if (blocking != NULL)
        *blocking = 1;
    *handle = NULL;
    if (argument == NULL || argument == Py_None)
        return 0;
    if (PyObject_TypeCheck(argument, state->stream_type)) {
        nl_stream *stream = ((nl_py_stream *)argument)->stream;
        if (stream->owned &&
            nl_device_check_generation(stream->device, stream->generation, &err) < 0)
            goto fail;
        *handle = stream->handle;
        if (blocking != NULL && nl_stream_read_blocking(stream, blocking, &err) < 0)
            goto fail;
        return 0;
    }
    if (PyLong_Check(argument)) {
        int overflow;
        long value = PyLong_AsLongAndOverflow(argument, &overflow);
        return value == 0 && overflow == 0 ? 0 : raise_invalid_stream(argument);
    }
    if (!has_stream_protocol(argument))
        return raise_invalid_stream(argument);
    if (read_stream_protocol(argument, handle) < 0)
        return -1;
    if (blocking == NULL)
        return 0;
    if (nl_device_current(&err) != NULL &&
        nl_stream_read_handle_blocking(*handle, blocking, &err) == 0) {
        return 0;
    }
fail:
    nl_py_raise(&err);
    return -1;
}

/* Returns whether the argument is missing, None or an int; returns 0 for a Stream object of the
 * default stream. */
static int is_missing_or_int(PyObject *argument) {
    return argument == NULL || argument == Py_None || PyLong_Check(argument);
}

int nl_py_stream_from_argument(nl_py_state *state, PyObject *argument, CUstream *handle,
                               int *blocking) {
    if (nl_py_stream_read(state, argument, handle, blocking) < 0)
        return -1;
    if (*handle == NULL && is_missing_or_int(argument)) {
        PyObject *current = nl_py_stream_current();
        if (nl_capture_is_any_active())
            *handle = nl_capture_stream_of_thread();
        if (*handle == NULL && nl_py_stream_read(state, current, handle, blocking) < 0)
            return -1;
    }
    if (nl_capture_is_any_active() && blocking != NULL && nl_capture_has_stream(*handle))
        *blocking = 0;
    return 0;
}

/* ---- the thread's current stream ---- */

NL_THREAD_LOCAL PyObject *nl_py_stream_here;

int nl_py_stream_is_ordered(PyObject *stream) {
    int blocking = 1;
    nl_error ignored;
    return nl_stream_read_blocking(((nl_py_stream *)stream)->stream, &blocking, &ignored) < 0 ||
           blocking;
}

PyObject *nl_py_stream_current_of_device(void) {
    const nl_py_stream *stream = (nl_py_stream *)nl_py_stream_here;
    return stream->stream->device->ordinal == nl_device_selected() ? nl_py_stream_here : NULL;
}

PyObject *nl_py_stream_swap_current(PyObject *stream) {
    PyObject *before = nl_py_stream_here;
    nl_py_stream_here = Py_XNewRef(stream);
    return before;
}

PyObject *nl_py_stream_call_on(PyObject *stream, vectorcallfunc function, PyObject *callable,
                               PyObject *const *args, size_t nargsf, PyObject *keywords) {
    PyObject *before = nl_py_stream_swap_current(stream);
    PyObject *result = function(callable, args, nargsf, keywords);
    Py_XDECREF(nl_py_stream_swap_current(before));
    Py_XDECREF(before);
    return result;
}

static PyObject *swap_stream(PyObject *module, PyObject *stream) {
    if (stream != Py_None && !PyObject_TypeCheck(stream, nl_py_state_of(module)->stream_type)) {
        (void)raise_invalid_stream(stream);
        return NULL;
    }
    int is_default = stream == Py_None || ((nl_py_stream *)stream)->stream->handle == NULL;
    PyObject *before = nl_py_stream_swap_current(is_default ? NULL : stream);
    return before != NULL ? before : Py_NewRef(Py_None);
}

static PyObject *current_stream(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    PyObject *stream = nl_py_stream_current();
    return stream != NULL ? Py_NewRef(stream) : PyLong_FromLong(0);
}

int nl_py_stream_number(nl_py_state *state, PyObject *argument, CUstream *handle) {
    if (nl_py_stream_read(state, argument, handle, NULL) < 0)
        return -1;
    PyObject *current =
        *handle == NULL && is_missing_or_int(argument) ? nl_py_stream_current() : NULL;
    return current != NULL ? nl_py_stream_read(state, current, handle, NULL) : 0;
}

static PyObject *stream_describe_device(PyObject *module, PyObject *argument) {
    nl_error err;
    CUstream handle;
    /* nl_device_current is not used: it would count as a device use (nl_device_count_uses) */
    const nl_device *dev;
    if (nl_py_stream_number(nl_py_state_of(module), argument, &handle) < 0)
        return NULL;
    dev = nl_device_get(nl_device_selected(), &err);
    return dev == NULL ? nl_py_raise(&err)
                       : Py_BuildValue("(iKK)", dev->ordinal,
                                       (unsigned long long)nl_atomic_load(&dev->generation),
                                       (unsigned long long)(uintptr_t)handle);
}

/* Returns a Python object for a stream. Steals the reference to the stream, also on failure. */
static PyObject *wrap_stream(PyTypeObject *type, nl_stream *stream, PyObject *owner) {
    nl_py_stream *self = (nl_py_stream *)type->tp_alloc(type, 0);
    if (self == NULL) {
        nl_stream_release(stream);
        return NULL;
    }
    self->stream = stream;
    self->owner = Py_XNewRef(owner);
    return (PyObject *)self;
}

static int create_stream(unsigned flags, int priority, nl_stream **stream, nl_error *err) {
    nl_device *dev = nl_device_current(err);
    return dev == NULL ? -1 : nl_stream_create(dev, flags, priority, stream, err);
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"non_blocking", "priority", NULL};
    int non_blocking = 0, priority = 0, status;
    nl_stream *stream = NULL;
    nl_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pi:Stream", names, &non_blocking, &priority)) {
        return NULL;
    }
    NL_UNLOCKED(status = create_stream(non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT,
                                       priority, &stream, &err));
    return status < 0 ? nl_py_raise(&err) : wrap_stream(type, stream, NULL);
}

static int wrap_handle(CUstream handle, nl_stream **stream, nl_error *err) {
    nl_device *dev = nl_device_current(err);
    return dev == NULL ? -1 : nl_stream_wrap(dev, handle, stream, err);
}

static PyObject *wrap_foreign(PyTypeObject *type, CUstream handle, PyObject *owner) {
    nl_stream *stream = NULL;
    nl_error err;
    int status;
    NL_UNLOCKED(status = wrap_handle(handle, &stream, &err));
    return status < 0 ? nl_py_raise(&err) : wrap_stream(type, stream, owner);
}

PyObject *nl_py_stream_wrap_handle(nl_py_state *state, CUstream handle, PyObject *owner) {
    return wrap_foreign(state->stream_class ? state->stream_class : state->stream_type, handle,
                        owner);
}

static PyObject *stream_wrap(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"handle", "owner", NULL};
    PyObject *number, *owner = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O:wrap", names, &PyLong_Type, &number,
                                     &owner)) {
        return NULL;
    }
    void *handle = PyLong_AsVoidPtr(number);
    if (handle == NULL && PyErr_Occurred())
        return NULL;
    return wrap_foreign((PyTypeObject *)type, (CUstream)handle, owner == Py_None ? NULL : owner);
}

static int stream_traverse(nl_py_stream *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->owner);
    return 0;
}

static int stream_clear(nl_py_stream *self) {
    Py_CLEAR(self->owner);
    return 0;
}

static void stream_dealloc(nl_py_stream *self) {
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
    /* the driver may wait for a callback, which needs the interpreter's lock */
    NL_UNLOCKED(nl_stream_release(self->stream));
    stream_clear(self);
    nl_py_free_object((PyObject *)self);
}

static PyObject *stream_repr(nl_py_stream *self) {
    uintptr_t handle = (uintptr_t)self->stream->handle;
    switch (handle) {
    case 0:
        return PyUnicode_FromString("<Default CUDA stream>");
    case 1:
        return PyUnicode_FromString("<Legacy default CUDA stream>");
    case 2:
        return PyUnicode_FromString("<Per-thread default CUDA stream>");
    default:
        break;
    }
    if (!self->stream->owned)
        return PyUnicode_FromFormat("<External CUDA stream %zu>", (size_t)handle);
    int device = self->stream->device->ordinal;
    if (device == 0)
        return PyUnicode_FromFormat("<CUDA stream %u>", self->stream->number);
    return PyUnicode_FromFormat("<CUDA stream %u of device %d>", self->stream->number, device);
}

static PyObject *stream_synchronize(nl_py_stream *self, PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int status;
    if (nl_capture_is_any_active() &&
        nl_py_capture_check_query(self->stream->handle, "synchronize()") < 0)
        return NULL;
    NL_UNLOCKED(status = nl_stream_synchronize(self->stream, &err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *stream_query(nl_py_stream *self, PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int done = 0;
    if (nl_capture_is_any_active() &&
        nl_py_capture_check_query(self->stream->handle, "query()") < 0)
        return NULL;
    if (nl_stream_query(self->stream, &done, &err) < 0)
        return nl_py_raise(&err);
    return PyBool_FromLong(done);
}

static PyObject *stream_add_callback(nl_py_stream *self, PyObject *function) {
    nl_error err;
    nl_stream *stream = self->stream;
    if (!PyCallable_Check(function)) {
        return PyErr_Format(PyExc_TypeError, "the callback must be callable, not %.100s",
                            Py_TYPE(function)->tp_name);
    }
    if (stream->owned && nl_device_check_generation(stream->device, stream->generation, &err) < 0) {
        return nl_py_raise(&err);
    }
    if (nl_capture_is_any_active() &&
        nl_py_capture_check_wait(stream->handle, "a call of a Python function", "") < 0)
        return NULL;
    if (nl_py_callback_add((PyObject *)self, stream->device, stream->handle, function) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *stream_wait_event(nl_py_stream *self, PyObject *event) {
    return PyObject_CallMethod(event, "wait", "O", self);
}

/* Raises an exception if the device was reset, because the driver may have reused the handle for
 * another stream. */
static PyObject *stream_get_handle(nl_py_stream *self, void *Py_UNUSED(unused)) {
    nl_stream *stream = self->stream;
    nl_error err;
    if (stream->owned && nl_device_check_generation(stream->device, stream->generation, &err) < 0)
        return nl_py_raise(&err);
    return PyLong_FromVoidPtr(stream->handle);
}

static PyObject *stream_cuda_stream(nl_py_stream *self, PyObject *Py_UNUSED(unused)) {
    return Py_BuildValue("(iN)", 0, stream_get_handle(self, NULL));
}

static PyObject *stream_get_device(nl_py_stream *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(self->stream->device->ordinal);
}

static PyObject *stream_get_external(nl_py_stream *self, void *Py_UNUSED(unused)) {
    return PyBool_FromLong(!self->stream->owned && (uintptr_t)self->stream->handle > 2);
}

static PyObject *stream_get_non_blocking(nl_py_stream *self, void *Py_UNUSED(unused)) {
    nl_error err;
    int blocking;
    if (nl_stream_read_blocking(self->stream, &blocking, &err) < 0)
        return nl_py_raise(&err);
    return PyBool_FromLong(!blocking);
}

static PyObject *stream_get_priority(nl_py_stream *self, void *Py_UNUSED(unused)) {
    nl_error err;
    int priority = 0;
    if (nl_stream_priority(self->stream, &priority, &err) < 0)
        return nl_py_raise(&err);
    return PyLong_FromLong(priority);
}

static PyObject *stream_is_capturing(nl_py_stream *self, void *Py_UNUSED(unused)) {
    nl_error err;
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream handle = self->stream->handle;
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        Py_RETURN_FALSE;
    if (nl_device_bind(self->stream->device, &err) < 0 ||
        NL_CU(&err, StreamIsCapturing, handle, &status) < 0)
        return nl_py_raise(&err);
    return PyBool_FromLong(status != CU_STREAM_CAPTURE_STATUS_NONE);
}

static PyMethodDef stream_methods[] = {
    {"wrap", (PyCFunction)(void (*)(void))stream_wrap, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "wrap(handle, owner=None): "
     "returns a Stream for a CUstream that other code created, and keeps owner alive."},
    {"synchronize", (PyCFunction)stream_synchronize, METH_NOARGS,
     "synchronize($self, /)\n--\n\n"
     "Blocks the calling thread until all work of the stream is done.\n\n"
     "Raises\n------\n"
     "KernelError\n    A kernel in the stream has failed.\n"
     "RuntimeError\n    The stream is being captured."},
    {"query", (PyCFunction)stream_query, METH_NOARGS,
     "query($self, /)\n--\n\n"
     "Returns whether all work of the stream is done, without waiting.\n\n"
     "Returns\n-------\n"
     "bool"},
    {"add_callback", (PyCFunction)stream_add_callback, METH_O,
     "add_callback(fn): enqueues a call of fn() on another thread. "
     "Later work of the stream waits until fn returns. "
     "fn must not use a device."},
    {"wait_event", (PyCFunction)stream_wait_event, METH_O,
     "wait_event($self, event, /)\n--\n\n"
     "Makes later work of the stream wait for an event, without blocking the host.\n\n"
     "Parameters\n----------\n"
     "event : Event\n    The event, of any device."},
    {"__cuda_stream__", (PyCFunction)stream_cuda_stream, METH_NOARGS,
     "Returns (0, handle): the __cuda_stream__ protocol, by which other libraries accept it."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef stream_getset[] = {
    {"handle", (getter)stream_get_handle, NULL, "The CUstream, as an int.", NULL},
    {"device", (getter)stream_get_device, NULL, "The index of the stream's device.", NULL},
    {"external", (getter)stream_get_external, NULL, "Was the stream created by other code?", NULL},
    {"non_blocking", (getter)stream_get_non_blocking, NULL,
     "Whether the stream and the default stream do not wait for each other's work.", NULL},
    {"priority", (getter)stream_get_priority, NULL,
     "The priority; work of streams with lower numbers runs first.", NULL},
    {"is_capturing", (getter)stream_is_capturing, NULL,
     "Whether the stream's work is captured for a graph instead of executed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef stream_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_stream, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_doc,
     "Stream(non_blocking=False, priority=0)\n\nA queue of work for the current device."},
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_traverse, stream_traverse},
    {Py_tp_clear, stream_clear},
    {Py_tp_repr, stream_repr},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_getset},
    {Py_tp_members, stream_members},
    {0, NULL},
};

static PyType_Spec stream_spec = {
    .name = "numbalite._core.Stream",
    .basicsize = sizeof(nl_py_stream),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = stream_slots,
};

static PyObject *register_stream_class(PyObject *module, PyObject *class) {
    nl_py_state *state = nl_py_state_of(module);
    if (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, state->stream_type)) {
        PyErr_SetString(PyExc_TypeError, "register_stream_class() accepts a subclass of Stream");
        return NULL;
    }
    Py_XSETREF(state->stream_class, (PyTypeObject *)Py_NewRef(class));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"register_stream_class", register_stream_class, METH_O,
     "register_stream_class(cls): "
     "sets the subclass of Stream for streams that other code created."},
    {"swap_stream", swap_stream, METH_O,
     "swap_stream(stream): "
     "sets the calling thread's stream for work without an explicit stream; "
     "None is the default stream. Returns the previous stream."},
    {"stream_place", stream_describe_device, METH_O,
     "stream_place(stream): returns (device, number of its resets, number of the stream). "
     "This key identifies the stream (0 and None: the current stream), without a reference to it. "
     "The stream of a capture is ignored."},
    {"current_stream", current_stream, METH_NOARGS,
     "current_stream(): "
     "returns the Stream for work on the current device without an explicit stream. "
     "0 is the default stream."},
    {NULL, NULL, 0, NULL},
};

int nl_py_stream_exec(PyObject *module) {
    if (nl_py_state_add_type(module, &stream_spec, NULL, &nl_py_state_of(module)->stream_type) < 0)
        return -1;
    return nl_py_state_add_functions(module, functions);
}
