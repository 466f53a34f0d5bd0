/* py/dispatchertype: the type Dispatcher, and k[grid, block, stream, shared]. */
#include "py/dispatcher.h"

#include <string.h>
#include "base/mem.h"
#include "py/launcher.h"
#include "py/stream.h"

/* ---- configurations ---- */

static int read_dimension(PyObject *obj, unsigned *value, PyObject *whole, const char *name) {
    long n;
    if (PyLong_CheckExact(obj)) {
        int overflow;
        n = PyLong_AsLongAndOverflow(obj, &overflow);
        n = overflow ? overflow * 0x100000000L : n;
    } else {
        if (!PyIndex_Check(obj) || PyBool_Check(obj)) {
            int is_list = PyTuple_Check(whole) || PyList_Check(whole);
            PyErr_Format(PyExc_TypeError,
                         is_list ? "%s must be a sequence of integers, got %R%s"
                                 : "%s must be a sequence of integers, got [%R]%s",
                         name, whole,
                         PyFloat_Check(obj) ? ": (n + 127) // 128 divides and rounds up" : "");
            return -1;
        }
        n = (long)PyNumber_AsSsize_t(obj, NULL);
        if (n == -1 && PyErr_Occurred())
            return -1;
    }
    if (n < 0 || n > (long)UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: %R is no possible dimension", name, obj);
        return -1;
    }
    *value = (unsigned)n;
    return 0;
}

static int read_dimensions(PyObject *obj, unsigned *values, const char *name) {
    values[0] = values[1] = values[2] = 1;
    if (PyLong_CheckExact(obj))
        return read_dimension(obj, &values[0], obj, name);
    if (!PyTuple_Check(obj) && !PyList_Check(obj))
        return read_dimension(obj, &values[0], obj, name);
    PyObject *items = PyTuple_Check(obj) ? Py_NewRef(obj) : PyList_AsTuple(obj);
    if (!items)
        return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    int result = 0;
    if (n < 1 || n > 3) {
        PyObject *listed = PySequence_List(items);
        if (listed != NULL)
            PyErr_Format(PyExc_ValueError, "%s must be a sequence of 1, 2 or 3 integers, got %R",
                         name, listed);
        Py_XDECREF(listed);
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < n; i++)
        result = read_dimension(PyTuple_GET_ITEM(items, i), &values[i], obj, name);
    Py_DECREF(items);
    return result;
}

static int shared_bytes(PyObject *obj, unsigned *bytes) {
    if (!PyIndex_Check(obj)) {
        PyErr_Format(PyExc_TypeError, "sharedmem must be a number of bytes, not %.80s",
                     Py_TYPE(obj)->tp_name);
        return -1;
    }
    Py_ssize_t n = PyNumber_AsSsize_t(obj, NULL);
    if (n == -1 && PyErr_Occurred())
        return -1;
    if (n < 0 || n > (Py_ssize_t)INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "sharedmem: %R is not a valid number of bytes", obj);
        return -1;
    }
    *bytes = (unsigned)n;
    return 0;
}

static int is_default_stream(PyObject *obj) {
    int overflow;
    return obj == Py_None ||
           (PyLong_CheckExact(obj) && PyLong_AsLongAndOverflow(obj, &overflow) == 0 && !overflow);
}

static PyObject *dispatcher_subscript(PyObject *self, PyObject *key) {
    nl_py_dispatcher *d = (nl_py_dispatcher *)self;
    nl_launch shape;
    PyObject *stream = NULL;
    int blocking = 1;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    if (n < 2 || n > 4) {
        PyErr_SetString(PyExc_ValueError,
                        n < 2 ? "must specify at least the griddim and blockdim: "
                                "kernel[griddim, blockdim, stream=0, sharedmem=0]"
                              : "too many items: kernel[griddim, blockdim, stream=0, sharedmem=0]");
        return NULL;
    }
    memset(&shape, 0, sizeof shape); /* compared as bytes */
    shape.cooperative = d->cooperative;
    memcpy(shape.cluster, d->cluster, sizeof shape.cluster);
    if (read_dimensions(PyTuple_GET_ITEM(key, 0), shape.grid, "griddim") < 0 ||
        read_dimensions(PyTuple_GET_ITEM(key, 1), shape.block, "blockdim") < 0)
        return NULL;
    if (n > 2 && !is_default_stream(PyTuple_GET_ITEM(key, 2))) {
        stream = PyTuple_GET_ITEM(key, 2);
        if (nl_py_stream_read(d->state, stream, &shape.stream, &blocking) < 0)
            return NULL;
    }
    if (n > 3 && shared_bytes(PyTuple_GET_ITEM(key, 3), &shape.shared) < 0)
        return NULL;
    return nl_py_launcher_new(d, &shape, blocking, stream);
}

static PyObject *dispatcher_call(PyObject *self, PyObject *Py_UNUSED(args),
                                 PyObject *Py_UNUSED(kwargs)) {
    PyErr_Format(PyExc_ValueError,
                 "Kernel launch configuration was not specified: "
                 "write %U[blocks, threads](...), or %U.forall(n)(...)",
                 ((nl_py_dispatcher *)self)->name, ((nl_py_dispatcher *)self)->name);
    return NULL;
}

/* ---- methods ---- */

static PyObject *dispatcher_resolve(PyObject *self, PyObject *Py_UNUSED(args)) {
    PyErr_Format(PyExc_TypeError,
                 "%U(): there is no kernel for arguments of these types on this device",
                 ((nl_py_dispatcher *)self)->name);
    return NULL;
}

static PyObject *dispatcher_only_kernel(PyObject *self, PyObject *args) {
    int ordinal;
    PyObject *kernel;
    nl_error err;
    if (!PyArg_ParseTuple(args, "iO:_only", &ordinal, &kernel))
        return NULL;
    nl_device *dev = nl_device_get(ordinal, &err);
    if (!dev)
        return nl_py_raise(&err);
    if (!nl_py_dispatcher_add((nl_py_dispatcher *)self, dev, NULL, 0, kernel))
        return NULL;
    ((nl_py_dispatcher *)self)->typed = 1;
    Py_RETURN_NONE;
}

static PyObject *dispatcher_add(PyObject *self, PyObject *args) {
    int ordinal;
    PyObject *kernel;
    const char *bytes;
    Py_ssize_t size;
    nl_error err;
    if (!PyArg_ParseTuple(args, "iy#O:_add", &ordinal, &bytes, &size, &kernel))
        return NULL;
    if (size % (Py_ssize_t)sizeof(uint32_t) || size > 4 * NL_PARAMS_MAX_BYTES)
        return PyErr_Format(PyExc_ValueError, "codes must have 4 bytes per argument, not %zd bytes",
                            size);
    nl_device *dev = nl_device_get(ordinal, &err);
    if (!dev)
        return nl_py_raise(&err);
    if (!nl_py_dispatcher_add((nl_py_dispatcher *)self, dev, (const uint32_t *)bytes,
                              size / (Py_ssize_t)sizeof(uint32_t), kernel))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *dispatcher_forget_overloads(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    nl_py_dispatcher *d = (nl_py_dispatcher *)self;
    nl_py_overloads_mark_dead(&d->overloads);
    Py_BEGIN_CRITICAL_SECTION(self);
    memset(d->checked, 0, sizeof d->checked);
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

/* ---- type ---- */

static PyObject *dispatcher_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                                PyObject *Py_UNUSED(kwargs)) {
    nl_py_state *state = nl_py_state_of_type(type);
    nl_py_dispatcher *d = state ? (nl_py_dispatcher *)type->tp_alloc(type, 0) : NULL;
    if (!d)
        return NULL;
    d->state = state;
    d->name = PyUnicode_FromString("kernel");
    if (!d->name)
        Py_CLEAR(d);
    return (PyObject *)d;
}

static int read_cluster(PyObject *obj, unsigned *cluster) {
    if (obj != Py_None)
        return read_dimensions(obj, cluster, "cluster");
    memset(cluster, 0, 3 * sizeof *cluster);
    return 0;
}

static int dispatcher_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name",      "parameters", "typed",    "cooperative", "cluster",
                            "warn_host", "warn_small", "defaults", NULL};
    nl_py_dispatcher *d = (nl_py_dispatcher *)self;
    PyObject *name, *parameters = Py_None, *cluster = Py_None, *warn_host = Py_None;
    PyObject *warn_small = Py_None, *defaults = Py_None, *tuple = NULL;
    int typed = 0, cooperative = 0;
    unsigned blocks[3];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|OppOOOO:Dispatcher", names, &name,
                                     &parameters, &typed, &cooperative, &cluster, &warn_host,
                                     &warn_small, &defaults))
        return -1;
    if (read_cluster(cluster, blocks) < 0)
        return -1;
    if (parameters != Py_None) {
        tuple = PySequence_Tuple(parameters);
        if (!tuple)
            return -1;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
            if (!PyUnicode_Check(PyTuple_GET_ITEM(tuple, i))) {
                PyErr_SetString(PyExc_TypeError, "parameter names must be str");
                Py_DECREF(tuple);
                return -1;
            }
    }
    Py_ssize_t count = tuple ? PyTuple_GET_SIZE(tuple) : 0;
    if (defaults != Py_None && !(PyTuple_Check(defaults) && PyTuple_GET_SIZE(defaults) <= count)) {
        Py_XDECREF(tuple);
        PyErr_SetString(PyExc_TypeError,
                        "defaults must be a tuple, with at most one item per parameter");
        return -1;
    }
    if (d->parameters || d->overloads.all) { /* the fields cannot change: launches of other threads
                                              * may be reading them */
        Py_XDECREF(tuple);
        PyErr_SetString(PyExc_RuntimeError, "a dispatcher is initialised once");
        return -1;
    }
    Py_SETREF(d->name, Py_NewRef(name));
    d->parameters = tuple;
    d->defaults = defaults != Py_None && PyTuple_GET_SIZE(defaults) ? Py_NewRef(defaults) : NULL;
    d->typed = typed;
    d->cooperative = cooperative;
    memcpy(d->cluster, blocks, sizeof blocks);
    Py_XSETREF(d->warn_host, warn_host == Py_None ? NULL : Py_NewRef(warn_host));
    Py_XSETREF(d->warn_small, warn_small == Py_None ? NULL : Py_NewRef(warn_small));
    return 0;
}

static int dispatcher_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_dispatcher *d = (nl_py_dispatcher *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(d->name);
    Py_VISIT(d->parameters);
    Py_VISIT(d->defaults);
    Py_VISIT(d->warn_host);
    Py_VISIT(d->warn_small);
    return nl_py_overloads_traverse(&d->overloads, visit, arg);
}

static int dispatcher_clear(PyObject *self) {
    nl_py_dispatcher *d = (nl_py_dispatcher *)self;
    Py_CLEAR(d->warn_host);
    Py_CLEAR(d->warn_small);
    nl_py_overloads_clear(&d->overloads);
    return 0;
}

static void dispatcher_dealloc(PyObject *self) {
    nl_py_dispatcher *d = (nl_py_dispatcher *)self;
    PyObject_GC_UnTrack(self);
    if (d->weakrefs)
        PyObject_ClearWeakRefs(self);
    dispatcher_clear(self);
    nl_py_overloads_free(&d->overloads);
    Py_XDECREF(d->name);
    Py_XDECREF(d->parameters);
    Py_XDECREF(d->defaults);
    nl_py_free_object(self);
}

static PyMethodDef dispatcher_methods[] = {
    {"_resolve", dispatcher_resolve, METH_VARARGS,
     "_resolve(device, codes, args) -> Kernel: "
     "finds or compiles the kernel of a call; subclasses define this method."},
    {"_only", dispatcher_only_kernel, METH_VARARGS,
     "_only(device, kernel): sets the kernel for all argument types on a device."},
    {"_add", dispatcher_add, METH_VARARGS,
     "_add(device, codes, kernel): "
     "adds the kernel for arguments with these type codes on a device."},
    {"_clear", dispatcher_forget_overloads, METH_NOARGS, "_clear(): forgets all kernels."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef dispatcher_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_dispatcher, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot dispatcher_slots[] = {
    {Py_tp_doc, "Dispatcher(name, parameters=None, typed=False, cooperative=False, cluster=None, "
                "warn_host=None, warn_small=None, defaults=None): "
                "selects the kernel for the arguments of a call."},
    {Py_tp_new, dispatcher_new},
    {Py_tp_init, dispatcher_init},
    {Py_tp_dealloc, dispatcher_dealloc},
    {Py_tp_traverse, dispatcher_traverse},
    {Py_tp_clear, dispatcher_clear},
    {Py_tp_call, dispatcher_call},
    {Py_tp_methods, dispatcher_methods},
    {Py_tp_members, dispatcher_members},
    {Py_mp_subscript, dispatcher_subscript},
    {0, NULL}};

static PyType_Spec dispatcher_spec = {
    .name = "numbalite._core.Dispatcher",
    .basicsize = sizeof(nl_py_dispatcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = dispatcher_slots,
};

int nl_py_dispatchertype_exec(PyObject *module) {
    return nl_py_state_add_type(module, &dispatcher_spec, NULL,
                                &nl_py_state_of(module)->dispatcher_type);
}
