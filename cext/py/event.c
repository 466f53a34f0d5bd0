/* py/event: the type Event, a CUDA event. */
#include "core/event.h"
#include "py/stream.h"

typedef struct {
    PyObject_HEAD nl_event *event;
    PyObject *weakrefs;
} py_event;

static int create_event(int timing, nl_event **event, nl_error *err) {
    nl_device *dev = nl_device_current(err);
    return dev == NULL ? -1 : nl_event_create(dev, timing, event, err);
}

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"timing", NULL};
    int timing = 1, status;
    nl_event *event = NULL;
    nl_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:Event", names, &timing))
        return NULL;
    NL_UNLOCKED(status = create_event(timing, &event, &err));
    if (status < 0)
        return nl_py_raise(&err);
    py_event *self = (py_event *)type->tp_alloc(type, 0);
    if (self == NULL) {
        nl_event_destroy(event);
        return NULL;
    }
    self->event = event;
    return (PyObject *)self;
}

static int event_traverse(py_event *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void event_dealloc(py_event *self) {
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
    /* the call may wait for a callback, which needs the interpreter's lock */
    Py_BEGIN_ALLOW_THREADS;
    nl_event_destroy(self->event);
    Py_END_ALLOW_THREADS;
    nl_py_free_object((PyObject *)self);
}

/* Implements the methods record and wait: reads the stream argument, and makes a core call that may
 * wait for a free entry in the stream's queue. */
typedef int (*stream_call)(nl_event *event, CUstream stream, nl_error *err);

static PyObject *call_with_stream(py_event *self, PyObject *args, PyObject *kwargs,
                                  const char *format, stream_call call) {
    static char *names[] = {"stream", NULL};
    PyObject *argument = NULL;
    CUstream stream;
    nl_error err;
    int status;
    nl_py_state *state = nl_py_state_of_object((PyObject *)self);
    if (state == NULL)
        return NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &argument))
        return NULL;
    if (nl_py_stream_from_argument(state, argument, &stream, NULL) < 0)
        return NULL;
    NL_UNLOCKED(status = call(self->event, stream, &err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *event_record(py_event *self, PyObject *args, PyObject *kwargs) {
    return call_with_stream(self, args, kwargs, "|O:record", nl_event_record);
}

static PyObject *event_wait(py_event *self, PyObject *args, PyObject *kwargs) {
    return call_with_stream(self, args, kwargs, "|O:wait", nl_event_wait);
}

static PyObject *event_query(py_event *self, PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int done = 0;
    if (nl_event_query(self->event, &done, &err) < 0)
        return nl_py_raise(&err);
    return PyBool_FromLong(done);
}

static PyObject *event_synchronize(py_event *self, PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int status;
    NL_UNLOCKED(status = nl_event_synchronize(self->event, &err));
    return nl_py_none_or_raise(status, &err);
}

static PyObject *event_elapsed_time(py_event *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"evtend", NULL};
    PyObject *end;
    nl_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:elapsed_time", names, &end))
        return NULL;
    float milliseconds = 0;
    nl_py_state *state = nl_py_state_of_object((PyObject *)self);
    if (state == NULL)
        return NULL;
    if (!PyObject_TypeCheck(end, state->event_type)) {
        return PyErr_Format(PyExc_TypeError, "elapsed_time takes an Event, not %.100s",
                            Py_TYPE(end)->tp_name);
    }
    if (nl_event_elapsed(self->event, ((py_event *)end)->event, &milliseconds, &err) < 0) {
        return nl_py_raise(&err);
    }
    return PyFloat_FromDouble(milliseconds);
}

static PyObject *event_get_handle(py_event *self, void *Py_UNUSED(unused)) {
    nl_error err;
    if (nl_device_check_generation(self->event->device, self->event->generation, &err) < 0)
        return nl_py_raise(&err);
    return PyLong_FromVoidPtr(self->event->handle);
}

static PyObject *event_get_device(py_event *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(self->event->device->ordinal);
}

static PyMethodDef event_methods[] = {
    {"record", (PyCFunction)(void (*)(void))event_record, METH_VARARGS | METH_KEYWORDS,
     "record($self, /, stream=0)\n--\n\n"
     "Enqueues the event in a stream.\n\n"
     "The event is reached when all earlier work of the stream is done.\n\n"
     "Parameters\n----------\n"
     "stream : Stream or int\n    0 is the current stream.\n\n"
     "Raises\n------\n"
     "CudaAPIError\n    The stream belongs to another device."},
    {"wait", (PyCFunction)(void (*)(void))event_wait, METH_VARARGS | METH_KEYWORDS,
     "wait($self, /, stream=0)\n--\n\n"
     "Makes later work of a stream wait for the event, without blocking the host.\n\n"
     "Parameters\n----------\n"
     "stream : Stream or int\n    0 is the current stream."},
    {"query", (PyCFunction)event_query, METH_NOARGS,
     "query($self, /)\n--\n\n"
     "Returns whether the event was reached, without waiting.\n\n"
     "Returns\n-------\n"
     "bool\n    True if all work before the event is done, or if it was never recorded."},
    {"synchronize", (PyCFunction)event_synchronize, METH_NOARGS,
     "synchronize($self, /)\n--\n\n"
     "Blocks the calling thread until the event is reached.\n\n"
     "Raises\n------\n"
     "KernelError\n    A kernel before the event has failed."},
    {"elapsed_time", (PyCFunction)(void (*)(void))event_elapsed_time, METH_VARARGS | METH_KEYWORDS,
     "elapsed_time($self, /, evtend)\n--\n\n"
     "Returns the time from this event to a later one.\n\n"
     "Parameters\n----------\n"
     "evtend : Event\n    The later event. Both must have been reached.\n\n"
     "Returns\n-------\n"
     "float\n    The time in milliseconds.\n\n"
     "Raises\n------\n"
     "CudaAPIError\n"
     "    An event was not recorded, was not reached yet, or was created with timing=False."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef event_getset[] = {
    {"handle", (getter)event_get_handle, NULL, "The CUevent, as an int.", NULL},
    {"device", (getter)event_get_device, NULL, "The index of the event's device.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef event_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(py_event, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot event_slots[] = {
    {Py_tp_doc, "A CUDA event, created by `cuda.event`: streams and the host can wait for it, "
                "and the time between two events can be measured."},
    {Py_tp_new, event_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_traverse, event_traverse},
    {Py_tp_methods, event_methods},
    {Py_tp_getset, event_getset},
    {Py_tp_members, event_members},
    {0, NULL},
};

static PyType_Spec event_spec = {
    .name = "numbalite._core.Event",
    .basicsize = sizeof(py_event),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = event_slots,
};

int nl_py_event_exec(PyObject *module) {
    return nl_py_state_add_type(module, &event_spec, NULL, &nl_py_state_of(module)->event_type);
}
