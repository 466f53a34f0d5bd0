/* py/traced: The type Traced: a Python function whose device operations are traced once, then
 * replayed without Python.
 *
 * The operations must depend only on the function's arguments: on the layout and dtype of device
 * arrays, and on the values of all other arguments. The cache key of a call contains exactly these
 * properties. For an array, the key contains shape, strides, dtype, flags, the low bits of the
 * address, whether the array is bound to a stream, and its offset from the arrays that it overlaps.
 * For any other argument, the key contains the value. Each field of a key is a tag, followed by a
 * fixed number of bytes or by a length and as many bytes. So a key can be parsed unambiguously, and
 * two different calls never have the same key.
 *
 * The Python function runs if an argument cannot be part of a key, and in the first call with a
 * key. */
#include "py/trace.h"

#include <string.h>
#include "py/owner.h"
#include "py/stream.h"

enum {
    ENTRY_SIZE = 128, /* bytes per cache entry, without key and trace */
    MAX_TRIES = 3, /* maximum number of traced calls per key; the first call may compile kernels */
    MAX_INPUTS = 128,
    MAX_DEPTH = 3,
    KEY_SIZE = 1 << 13,
    ALIGNMENT = 16,
    /* marks an array that is passed twice; SAME replaces the overlap count (less than
     * MAX_INPUTS) */
    SAME = 255,
};

/* Maximum size in bytes of the trace cache of one function. Tests change this variable. */
static size_t max_bytes = 1 << 20;

typedef struct traced {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *function;
    PyObject *direct; /* a C function that is called before the trace cache is used, or NULL */
    /* the trace cache: dict from a key to its Trace, or to the number of calls without a trace */
    PyObject *traces;
    size_t bytes;   /* estimated size of `traces` */
    PyObject *dict; /* attributes, with a copy of the function's __name__, __doc__ and so on */
    PyObject *weakrefs;
} traced;

/* ---- keys ---- */

typedef struct key {
    const nl_py_state *state;
    PyObject *inputs[MAX_INPUTS]; /* borrowed */
    nl_range ranges[MAX_INPUTS];
    int count;
    PyObject *stream; /* a borrowed reference: the arrays' bound stream, the current stream, or
                       * NULL */
    size_t size;
    unsigned char bytes[KEY_SIZE];
} key;

static int append_bytes(key *k, const void *bytes, size_t size) {
    if (size > KEY_SIZE - k->size)
        return 0;
    memcpy(k->bytes + k->size, bytes, size);
    k->size += size;
    return 1;
}

static int append_tag(key *k, char tag, int64_t value) {
    return append_bytes(k, &tag, 1) && append_bytes(k, &value, sizeof value);
}

/* Appends the position of the array relative to the arrays before it: the number of arrays that it
 * overlaps, then the index and the address offset of each one. An array that is passed twice is
 * marked by SAME and the index of its first occurrence. The count precedes the list, so that an
 * index cannot be parsed as the tag of the next argument. */
static int append_distances(key *k, const nl_py_array *a) {
    size_t at = k->size;
    uint8_t count = 0;
    k->ranges[k->count] = nl_py_devarray_address_range(a);
    for (int i = 0; i < k->count; i++)
        if (k->inputs[i] == (PyObject *)a) {
            const uint8_t same[] = {SAME, (uint8_t)i};
            return append_bytes(k, same, sizeof same);
        }
    if (!append_bytes(k, &count, 1))
        return 0;
    for (int i = 0; i < k->count; i++) {
        const nl_py_array *other = (nl_py_array *)k->inputs[i];
        if (!nl_ranges_overlap(k->ranges[k->count], k->ranges[i]))
            continue;
        if (!append_tag(k, (char)i, (int64_t)(a->address - other->address)))
            return 0;
        count++;
    }
    k->bytes[at] = count;
    return 1;
}

/* Returns an error if arrays of the call are bound to different streams, or to an object that is
 * not exactly a Stream. */
static int check_same_stream(key *k, PyObject *stream) {
    if (!stream)
        return 1;
    if (k->stream && k->stream != stream)
        return 0;
    k->stream = stream;
    return Py_IS_TYPE(stream, k->state->stream_class);
}

static int append_array(key *k, PyObject *object) {
    const nl_py_array *a = (nl_py_array *)object;
    const int device = a->buffer->device->ordinal;
    const uint8_t head[] = {'a',
                            a->dtype,
                            a->flags & NL_PY_ARRAY_NO_TARGET,
                            a->stream != NULL,
                            (uint8_t)(a->address % ALIGNMENT),
                            (uint8_t)a->ndim,
                            (uint8_t)device};
    if (k->count == MAX_INPUTS || a->class != NL_ELEMENT_PLAIN || device != nl_device_selected() ||
        !check_same_stream(k, a->stream) || !append_bytes(k, head, sizeof head) ||
        !append_bytes(k, a->shape, 2 * (size_t)a->ndim * sizeof(int64_t)) ||
        !append_distances(k, a))
        return 0;
    k->inputs[k->count++] = object;
    return 1;
}

static int append_text(key *k, char tag, PyObject *text) {
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    return bytes && append_tag(k, tag, size) && append_bytes(k, bytes, (size_t)size);
}

static int append_int(key *k, PyObject *object) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow && append_tag(k, 'i', number);
}

static int append_float(key *k, PyObject *object) {
    int64_t bits;
    double number = PyFloat_AS_DOUBLE(object);
    memcpy(&bits, &number, sizeof bits);
    return append_tag(k, 'f', bits);
}

static int append_scalar(key *k, PyObject *scalar) {
    unsigned char bytes[16] = {0};
    nl_dtype dtype = nl_py_hostarray_read_scalar(scalar, bytes);
    return dtype != NL_OPAQUE && append_tag(k, 'n', dtype) && append_bytes(k, bytes, sizeof bytes);
}

static int append_object(key *k, PyObject *object, int depth);

static int append_sequence(key *k, char tag, PyObject *object, int depth) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (depth == MAX_DEPTH || !append_tag(k, tag, count))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++)
        if (!append_object(k, PySequence_Fast_GET_ITEM(object, i), depth + 1))
            return 0;
    return 1;
}

static int append_slice(key *k, PyObject *object, int depth) {
    const PySliceObject *slice = (PySliceObject *)object;
    return append_bytes(k, ":", 1) && append_object(k, slice->start, depth) &&
           append_object(k, slice->stop, depth) && append_object(k, slice->step, depth);
}

/* Returns whether the object lives as long as the module, so that its address identifies it in a
 * key. */
static int is_immortal(const nl_py_state *state, PyObject *object) {
    return object == Py_None || object == Py_Ellipsis || object == state->no_value ||
           PyBool_Check(object) ||
           (PyType_Check(object) &&
            !PyType_HasFeature((PyTypeObject *)object, Py_TPFLAGS_HEAPTYPE));
}

static int append_object(key *k, PyObject *object, int depth) {
    if (nl_py_devarray_check_exact(k->state, object))
        return append_array(k, object);
    if (is_immortal(k->state, object))
        return append_tag(k, 'o', (int64_t)(intptr_t)object);
    if (PyLong_CheckExact(object))
        return append_int(k, object);
    if (PyFloat_CheckExact(object))
        return append_float(k, object);
    if (PyUnicode_CheckExact(object))
        return append_text(k, 's', object);
    if (PyTuple_CheckExact(object))
        return append_sequence(k, 't', object, depth);
    if (PyList_CheckExact(object))
        return append_sequence(k, 'l', object, depth);
    if (PySlice_Check(object))
        return append_slice(k, object, depth);
    if (nl_py_hostarray_is_descr(object))
        return nl_py_hostarray_element_of_descr(object).class == NL_ELEMENT_PLAIN &&
               append_tag(k, 'd', nl_py_hostarray_element_of_descr(object).dtype);
    return nl_py_hostarray_is_exact_scalar(object) && append_scalar(k, object);
}

/* Appends the device and whether there is a current stream. Returns an error if the arrays are
 * bound to a stream other than the current one. */
static int append_stream_state(key *k) {
    PyObject *current = nl_py_stream_current();
    if (current && k->stream && k->stream != current)
        return 0;
    k->stream = k->stream ? k->stream : current;
    return append_tag(k, '|', (int64_t)nl_device_selected() << 1 | (current != NULL));
}

/* Builds the key of a call and returns it as bytes, a new reference. Returns NULL without an
 * exception if an argument has no key. */
static PyObject *make_key(key *k, const nl_py_state *state, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *keywords) {
    Py_ssize_t named = nl_py_count_keywords(keywords);
    k->state = state;
    k->count = 0;
    k->stream = NULL;
    k->size = 0;
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (!append_object(k, args[i], 0))
            goto none;
    for (Py_ssize_t i = 0; i < named; i++)
        if (!append_text(k, '=', PyTuple_GET_ITEM(keywords, i)) ||
            !append_object(k, args[nargs + i], 0))
            goto none;
    if (!append_stream_state(k))
        goto none;
    return PyBytes_FromStringAndSize((char *)k->bytes, (Py_ssize_t)k->size);
none:
    PyErr_Clear();
    return NULL;
}

/* ---- calls ---- */

static size_t cache_entry_size(const traced *f, PyObject *bytes, PyObject *value) {
    size_t size = ENTRY_SIZE + (size_t)PyBytes_GET_SIZE(bytes);
    return Py_IS_TYPE(value, f->state->trace_type) ? size + nl_py_trace_size(value) : size;
}

/* Returns whether the trace was replayed since the last eviction. */
static int was_replayed_since_eviction(const traced *f, PyObject *value) {
    return Py_IS_TYPE(value, f->state->trace_type) && nl_py_trace_was_replayed(value);
}

/* Evicts the oldest entries that were not replayed since the last eviction, until a quarter of the
 * capacity is free. `all` is a copy of the cache. */
static int evict_old_traces(traced *f, PyObject *all) {
    PyObject *bytes, *value;
    Py_ssize_t at = 0;
    size_t limit = max_bytes - max_bytes / 4;
    size_t excess = f->bytes > limit ? f->bytes - limit : 0;
    PyDict_Clear(f->traces);
    f->bytes = 0;
    while (PyDict_Next(all, &at, &bytes, &value)) {
        size_t size = cache_entry_size(f, bytes, value);
        if (excess > 0 && !was_replayed_since_eviction(f, value)) {
            excess -= size < excess ? size : excess;
            continue;
        }
        if (PyDict_SetItem(f->traces, bytes, value) < 0)
            return -1;
        f->bytes += size;
    }
    return 0;
}

/* If all entries were replayed, the first round evicts no entry, and the second round evicts the
 * oldest entries. */
static int evict_entry(traced *f) {
    int result = 0;
    for (int round = 0; result == 0 && round < 2 && f->bytes > max_bytes; round++) {
        PyObject *all = PyDict_Copy(f->traces);
        result = all ? evict_old_traces(f, all) : -1;
        Py_XDECREF(all);
    }
    return result;
}

static int store_trace(traced *f, PyObject *bytes, PyObject *value) {
    PyObject *before = NULL;
    int result;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)f);
    if (PyDict_GET_SIZE(f->traces) == 0) /* the count `bytes` may be too large, because Python code
                                          * clears the cache without changing it */
        f->bytes = 0;
    result = PyDict_GetItemRef(f->traces, bytes, &before) < 0 ? -1 : 0;
    if (result == 0)
        result = PyDict_SetItem(f->traces, bytes, value);
    if (result == 0) {
        f->bytes += cache_entry_size(f, bytes, value);
        f->bytes -= before ? cache_entry_size(f, bytes, before) : 0;
        result = evict_entry(f);
    }
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(before);
    return result;
}

/* Runs the function, because the cache has no trace for the key. The first call of a key runs
 * without tracing and stores only a count in the cache. */
static PyObject *call_function(traced *f, const key *k, PyObject *bytes, PyObject *tries,
                               PyObject *const *args, size_t nargsf, PyObject *keywords) {
    long before = tries ? PyLong_AsLong(tries) : 0;
    PyObject *trace = NULL, *result;
    if (before > MAX_TRIES)
        return PyObject_Vectorcall(f->function, args, nargsf, keywords);
    if (before == 0)
        result = PyObject_Vectorcall(f->function, args, nargsf, keywords);
    else
        result = nl_py_trace_record(f->state, f->function, args, nargsf, keywords, k->inputs,
                                    k->count, k->stream, &trace);
    if (!trace && result)
        trace = PyLong_FromLong(before + 1);
    if (trace && store_trace(f, bytes, trace) < 0)
        Py_CLEAR(result);
    Py_XDECREF(trace);
    return result;
}

/* Replays the trace of the key, or runs the function if the key has no trace. */
static PyObject *call_traced(traced *f, const key *k, PyObject *bytes, PyObject *const *args,
                             size_t nargsf, PyObject *keywords) {
    PyObject *found = NULL, *result;
    if (PyDict_GetItemRef(f->traces, bytes, &found) < 0)
        result = NULL;
    else if (found && Py_IS_TYPE(found, f->state->trace_type))
        result = nl_py_trace_replay(found, k->inputs, k->stream);
    else
        result = call_function(f, k, bytes, found, args, nargsf, keywords);
    Py_XDECREF(found);
    return result;
}

static PyObject *traced_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *keywords) {
    traced *f = (traced *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    key k; /* not initialized: it is large */
    PyObject *bytes, *result;
    if (nl_capture_is_any_active() ||
        nl_py_is_tracing()) /* the capture, or the outer trace, already records the operations of
                             * the call */
        return PyObject_Vectorcall(f->function, args, nargsf, keywords);
    if (nl_py_owners_run_if_needed(f->state, traced_vectorcall, self, args, nargsf, keywords,
                                   &result))
        return result;
    if (f->direct) {
        result = PyObject_Vectorcall(f->direct, args, nargsf, keywords);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    bytes = nl_py_checks_is_profiled() ? NULL : make_key(&k, f->state, args, nargs, keywords);
    if (!bytes)
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(f->function, args, nargsf, keywords);
    result = call_traced(f, &k, bytes, args, nargsf, keywords);
    Py_DECREF(bytes);
    return result;
}

/* ---- type ---- */

/* Copies the function's attributes that documentation tools and debuggers read. */
static int copy_attributes(traced *f) {
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    f->dict = PyDict_New();
    int result = f->dict ? 0 : -1;
    for (size_t i = 0; result == 0 && i < sizeof names / sizeof *names; i++) {
        PyObject *value = PyObject_GetAttrString(f->function, names[i]);
        result = value ? PyDict_SetItemString(f->dict, names[i], value) : -1;
        Py_XDECREF(value);
    }
    return result;
}

static PyObject *traced_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords)) {
    PyObject *function, *direct = NULL;
    nl_py_state *state = nl_py_state_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "O|O:Traced", &function, &direct))
        return NULL;
    traced *f = (traced *)type->tp_alloc(type, 0);
    if (!f)
        return NULL;
    f->vectorcall = traced_vectorcall;
    f->state = state;
    f->function = Py_NewRef(function);
    f->direct = direct == Py_None ? NULL : Py_XNewRef(direct);
    f->traces = PyDict_New();
    if (!f->traces || copy_attributes(f) < 0)
        Py_CLEAR(f);
    return (PyObject *)f;
}

/* Implements the descriptor protocol: as a class attribute, the object becomes a bound method. */
static PyObject *traced_bind_method(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type)) {
    return instance ? PyMethod_New(self, instance) : Py_NewRef(self);
}

static int traced_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((traced *)self)->traces);
    Py_VISIT(((traced *)self)->function);
    Py_VISIT(((traced *)self)->direct);
    Py_VISIT(((traced *)self)->dict);
    return 0;
}

static int traced_clear(PyObject *self) {
    PyDict_Clear(((traced *)self)->traces); /* concurrent calls read the dict */
    return 0;
}

static void traced_dealloc(PyObject *self) {
    traced *f = (traced *)self;
    PyObject_GC_UnTrack(self);
    if (f->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(f->traces);
    Py_XDECREF(f->function);
    Py_XDECREF(f->direct);
    Py_XDECREF(f->dict);
    nl_py_free_object(self);
}

static PyMemberDef traced_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(traced, vectorcall), Py_READONLY, NULL},
    {"__dictoffset__", Py_T_PYSSIZET, offsetof(traced, dict), Py_READONLY, NULL},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(traced, weakrefs), Py_READONLY, NULL},
    {"__wrapped__", Py_T_OBJECT_EX, offsetof(traced, function), Py_READONLY,
     "The function itself."},
    {"_traces", Py_T_OBJECT_EX, offsetof(traced, traces), Py_READONLY,
     "Dict from the key of a call to its Trace, or to the number of calls without a trace."},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef traced_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot traced_slots[] = {
    {Py_tp_doc, "Traced(function, direct=None): records the device operations of a function, "
                "and replays them for arrays of equal shape, strides and dtype. "
                "The operations must depend only on the layout of the arrays, "
                "and on the values of the other arguments. "
                "Calls that wait for the device or read an element are never replayed. "
                "`direct`, a C function, is called first; "
                "it returns NotImplemented for arguments that it does not support."},
    {Py_tp_new, traced_new},
    {Py_tp_dealloc, traced_dealloc},
    {Py_tp_traverse, traced_traverse},
    {Py_tp_clear, traced_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, traced_bind_method},
    {Py_tp_getset, traced_getset},
    {Py_tp_members, traced_members},
    {0, NULL}};

static PyType_Spec traced_spec = {
    .name = "numbalite._core.Traced",
    .basicsize = sizeof(traced),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = traced_slots,
};

static PyObject *limit_traces(PyObject *Py_UNUSED(module), PyObject *argument) {
    size_t size = PyLong_AsSize_t(argument), before = max_bytes;
    if (size == (size_t)-1 && PyErr_Occurred())
        return NULL;
    max_bytes = size;
    return PyLong_FromSize_t(before);
}

static PyMethodDef functions[] = {
    {"limit_traces", limit_traces, METH_O,
     "limit_traces(size): "
     "sets the maximum size in bytes of the traces that each function caches, initially 1 MiB. "
     "Returns the previous limit."},
    {NULL, NULL, 0, NULL}};

int nl_py_traced_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    PyObject *numpy = PyImport_ImportModule("numpy");
    state->no_value = numpy ? PyObject_GetAttrString(numpy, "_NoValue") : NULL;
    Py_XDECREF(numpy);
    if (!state->no_value)
        return -1;
    if (nl_py_state_add_functions(module, functions) < 0)
        return -1;
    return nl_py_state_add_type(module, &traced_spec, NULL, &state->traced_type);
}
