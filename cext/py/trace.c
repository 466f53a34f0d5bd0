/* py/trace: a trace is a list of values and a list of calls. The arguments and results of the
 * calls are indices of values.
 *
 * The first values are the inputs. A view is stored as an offset from the value whose memory
 * contains it. If several inputs share a buffer, a view belongs to the first input that contains
 * the view completely. The cache key (py/traced.c) guarantees that inputs that overlap have the
 * same offset from each other in each call. */
#include "py/trace.h"

#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "py/stream.h"

enum {
    MAX_VALUES = 512,
    MAX_CALLS = 48,
    MAX_ARGUMENTS = 768,
    CALLABLE_SIZE = 512, /* estimated size in bytes of a launcher or a plan */
    /* maximum total bytes of new arrays: above, device time dominates, and memory is scarce */
    MAX_BYTES = 1 << 28,
};

typedef enum value_kind { INPUT, STREAM, CONSTANT, TUPLE, NEW, VIEW, RESULT } value_kind;

typedef struct value {
    uint8_t kind;
    /* whether the array is bound to the stream of the call */
    uint8_t readonly, repeated, view, bound, ndim;
    nl_element element;
    int64_t *geometry; /* shape, strides */
    int64_t offset;    /* for VIEW: byte offset from the first element of the value `source` */
    int source, count; /* for TUPLE: number of items; their indices are in arguments[source] and
                        * following */
    int last;          /* index of the last call that uses the value */
    PyObject *object;  /* for CONSTANT: the constant. During recording, the object of any value */
    PyObject *descr;   /* NEW, VIEW */
} value;

typedef struct traced_call {
    PyObject *callable, *keywords;
    int first, count; /* range in `arguments` */
    int result;       /* index of the result in `values`; -1 if the call returned None or True */
} traced_call;

typedef struct trace {
    PyObject_HEAD nl_py_state *state;
    int value_count, call_count, argument_count, input_count, result;
    value *values;
    traced_call *calls;
    int16_t *arguments;
    size_t size; /* estimated bytes of memory */
    /* whether the trace was replayed since the last nl_py_trace_was_replayed */
    uint32_t is_repeated;
} trace;

struct nl_py_tracer {
    nl_py_state *state;
    trace *made;      /* the trace; NULL: invalidated */
    PyObject *stream; /* a borrowed reference to the stream of the call, or NULL */
    int device;
    uint64_t
        uses; /* value of nl_device_count_uses() at the start, then after each recorded operation */
    int64_t bytes; /* total size in bytes of the buffers of new arrays */
};

NL_THREAD_LOCAL nl_py_tracer *nl_py_trace_current;

/* ---- values ---- */

static void mark_invalid(nl_py_tracer *r) {
    Py_CLEAR(r->made);
}

void nl_py_trace_invalidate(void) {
    if (nl_py_is_tracing())
        mark_invalid(nl_py_trace_current);
}

/* Adds a value to the trace. Returns NULL if the trace has too many values. */
static value *add_value(trace *made, value_kind kind, PyObject *object) {
    if (made->value_count == MAX_VALUES)
        return NULL;
    value *v = &made->values[made->value_count++];
    v->kind = (uint8_t)kind;
    v->object = Py_NewRef(object);
    return v;
}

static int find_value(const trace *made, const PyObject *object) {
    for (int i = made->value_count - 1; i >= 0; i--)
        if (made->values[i].object == object)
            return i;
    return -1;
}

static int set_geometry(value *v, const nl_py_array *a) {
    nl_error ignored;
    size_t size = 2 * (size_t)a->ndim * sizeof(int64_t);
    v->ndim = (uint8_t)a->ndim;
    v->readonly = (a->flags & NL_PY_ARRAY_READONLY) != 0;
    v->repeated = (a->flags & NL_PY_ARRAY_REPEATED) != 0;
    v->view = (a->flags & NL_PY_ARRAY_VIEW) != 0;
    v->bound = a->stream != NULL;
    v->element = (nl_element){(nl_dtype)a->dtype, (nl_element_class)a->class, a->itemsize};
    v->descr = Py_NewRef(a->descr);
    v->geometry = nl_mem_alloc(size ? size : 1, &ignored);
    if (v->geometry)
        memcpy(v->geometry, a->shape, size);
    return v->geometry != NULL;
}

static int is_memory_value(const value *v) {
    return v->kind == INPUT || v->kind == NEW || v->kind == RESULT;
}

/* Returns the index of the value whose memory contains the array, or -1. */
static int find_source_value(const trace *made, const nl_py_array *a) {
    nl_range part = nl_py_devarray_address_range(a);
    for (int i = 0; i < made->value_count; i++) {
        if (!is_memory_value(&made->values[i]))
            continue;
        const nl_py_array *whole = (nl_py_array *)made->values[i].object;
        nl_range within = nl_py_devarray_address_range(whole);
        if (whole->buffer == a->buffer && whole->owner == a->owner && within.low <= part.low &&
            part.high <= within.high)
            return i;
    }
    return -1;
}

/* Returns whether `stream`, to which an array is bound, is NULL or the stream of the call. */
static int is_on_trace_stream(const nl_py_tracer *r, const PyObject *stream) {
    return !stream || stream == r->stream;
}

/* Adds a view and returns its index. Returns -1 if the array is not a view of a value, or is bound
 * to another stream. */
static int find_or_add_view(const nl_py_tracer *r, const nl_py_array *a) {
    trace *made = r->made;
    int source = find_source_value(made, a);
    if (source < 0 || !is_on_trace_stream(r, a->stream))
        return -1;
    value *v = add_value(made, VIEW, (PyObject *)a);
    if (!v || !set_geometry(v, a))
        return -1;
    v->source = source;
    v->offset = (int64_t)(a->address - ((nl_py_array *)made->values[source].object)->address);
    return made->value_count - 1;
}

static int is_stream_handle(PyObject *stream, unsigned long long number) {
    CUstream handle = stream ? ((nl_py_stream *)stream)->stream->handle : NULL;
    return handle && number == (unsigned long long)(uintptr_t)handle;
}

/* Returns whether the integer may be an address in one of the arrays, or the handle of the stream.
 * An address or a handle may differ in the next call, so it cannot be a constant of the trace. */
static int may_be_address(const nl_py_tracer *r, PyObject *object) {
    const trace *made = r->made;
    unsigned long long number = PyLong_AsUnsignedLongLong(object);
    if (number == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    if (is_stream_handle(r->stream, number))
        return 1;
    for (int i = 0; i < made->value_count; i++) {
        const nl_py_array *a = (nl_py_array *)made->values[i].object;
        if (is_memory_value(&made->values[i]) && number - a->buffer->address < a->buffer->size)
            return 1;
    }
    return 0;
}

static int is_constant(const nl_py_tracer *r, PyObject *object) {
    if (PyLong_CheckExact(object))
        return !may_be_address(r, object);
    return object == Py_None || PyBool_Check(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           nl_py_hostarray_is_scalar(object) || nl_py_hostarray_is_descr(object) ||
           PyType_Check(object);
}

static int find_or_add_value(const nl_py_tracer *r, PyObject *object);

static int add_tuple_value(const nl_py_tracer *r, PyObject *tuple) {
    trace *made = r->made;
    int count = (int)PyTuple_GET_SIZE(tuple), first = made->argument_count;
    if (PyTuple_GET_SIZE(tuple) > MAX_ARGUMENTS - first)
        return -1;
    made->argument_count += count;
    for (int i = 0; i < count; i++) {
        int number = find_or_add_value(r, PyTuple_GET_ITEM(tuple, i));
        if (number < 0)
            return -1;
        made->arguments[first + i] = (int16_t)number;
    }
    value *v = add_value(made, TUPLE, tuple);
    if (!v)
        return -1;
    v->source = first;
    v->count = count;
    return made->value_count - 1;
}

/* Returns the index of the value for an object; adds a new value if necessary. Returns -1 if a
 * replay could not reproduce the object. */
static int find_or_add_value(const nl_py_tracer *r, PyObject *object) {
    int found = find_value(r->made, object);
    if (found >= 0)
        return found;
    if (nl_py_devarray_check_exact(r->state, object))
        return find_or_add_view(r, (nl_py_array *)object);
    if (PyTuple_CheckExact(object))
        return add_tuple_value(r, object);
    if (object == r->stream)
        return add_value(r->made, STREAM, object) ? r->made->value_count - 1 : -1;
    if (!is_constant(r, object) && !nl_py_hostarray_is_exact_array(object))
        return -1;
    return add_value(r->made, CONSTANT, object) ? r->made->value_count - 1 : -1;
}

/* ---- recorded calls ---- */

/* Returns whether the thread has used a device by an operation outside of the trace, or has
 * selected another device. */
static int was_device_used_outside(const nl_py_tracer *r) {
    return nl_device_count_uses() != r->uses || nl_device_selected() != r->device;
}

/* Host arrays are accepted only as arguments of methods of device arrays (copies and fills), which
 * read them; a launch could write to a host array. The traced function received no host array,
 * because calls with host arrays have no key. So each host array was created by the function, and
 * has the same contents in each call. */
static int is_replayable_argument(PyObject *callable, PyObject *arg) {
    return !nl_py_hostarray_is_exact_array(arg) || Py_IS_TYPE(callable, &PyMethodDescr_Type);
}

/* Adds a call and its arguments to the trace, before making the call. Returns NULL if the call
 * cannot be replayed. */
static traced_call *add_call(nl_py_tracer *r, PyObject *callable, PyObject *const *args,
                             Py_ssize_t count, PyObject *keywords) {
    trace *made = r->made;
    if (was_device_used_outside(r) || made->call_count == MAX_CALLS)
        return NULL;
    int16_t numbers[MAX_ARGUMENTS];
    if (count > MAX_ARGUMENTS)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        int number = find_or_add_value(r, args[i]);
        if (number < 0 || !is_replayable_argument(callable, args[i]))
            return NULL;
        numbers[i] = (int16_t)number;
    }
    if (count > MAX_ARGUMENTS - made->argument_count)
        return NULL;
    traced_call *call = &made->calls[made->call_count++];
    *call = (traced_call){Py_NewRef(callable), Py_XNewRef(keywords), made->argument_count,
                          (int)count, -1};
    memcpy(made->arguments + call->first, numbers, (size_t)count * sizeof *numbers);
    made->argument_count += (int)count;
    return call;
}

static int is_result_value(const nl_py_tracer *r, PyObject *object) {
    return nl_py_devarray_check_exact(r->state, object) && !((nl_py_array *)object)->owner;
}

/* Adds the result of a call. A result that is an existing value (out=) has the index of that value;
 * a new array becomes a new value. Returns 0 for any other result, because a replay could not
 * reproduce it. */
static int add_result(const nl_py_tracer *r, traced_call *call, PyObject *result) {
    if (result == Py_None || result == Py_True)
        return 1;
    call->result = find_value(r->made, result);
    if (call->result >= 0)
        return 1;
    if (!is_result_value(r, result) || !add_value(r->made, RESULT, result))
        return 0;
    call->result = r->made->value_count - 1;
    return 1;
}

static void set_recorder(nl_py_tracer *r);

static PyObject *record_allocation(nl_py_state *state, nl_py_array_parts *parts,
                                   const nl_layout *layout) {
    nl_py_tracer *r = nl_py_trace_current;
    value *v = NULL;
    if (was_device_used_outside(r))
        mark_invalid(r);
    set_recorder(NULL);
    PyObject *array = nl_py_devarray_allocate(state, parts, layout);
    set_recorder(r);
    r->uses = nl_device_count_uses();
    if (array)
        r->bytes += (int64_t)((nl_py_array *)array)->buffer->size;
    if (r->made && array && !parts->owner && is_on_trace_stream(r, parts->stream) &&
        r->bytes <= MAX_BYTES)
        v = add_value(r->made, NEW, array);
    if (r->made && (!v || !set_geometry(v, (nl_py_array *)array)))
        mark_invalid(r);
    return array;
}

static void set_recorder(nl_py_tracer *r) {
    nl_py_trace_current = r;
    nl_py_devarray_recorder = r ? record_allocation : NULL;
}

PyObject *nl_py_trace_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                           PyObject *keywords) {
    nl_py_tracer *r = nl_py_trace_current;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf) + nl_py_count_keywords(keywords);
    traced_call *call = r->made ? add_call(r, callable, args, count, keywords) : NULL;
    if (!call)
        mark_invalid(r);
    /* operations inside the call are part of the call and not recorded separately */
    set_recorder(NULL);
    PyObject *result = PyObject_Vectorcall(callable, args, nargsf, keywords);
    set_recorder(r);
    r->uses = nl_device_count_uses();
    if (r->made && (!result || !add_result(r, call, result)))
        mark_invalid(r);
    return result;
}

PyObject *nl_py_trace_call_by_name(const char *module, const char *name, PyObject *const *args,
                                   Py_ssize_t nargs, PyObject *keywords) {
    PyObject *of = PyImport_ImportModule(module), *result = NULL;
    PyObject *function = of ? PyObject_GetAttrString(of, name) : NULL;
    if (function)
        result = nl_py_trace_call(function, args, (size_t)nargs, keywords);
    Py_XDECREF(function);
    Py_XDECREF(of);
    return result;
}

PyObject *nl_py_trace_method(PyObject *self, const char *name, PyObject *args, PyObject *kwargs) {
    enum { MOST = 8 };
    PyObject *given[MOST] = {self}, *names = NULL, *key, *item, *result = NULL;
    Py_ssize_t positional = 1 + PyTuple_GET_SIZE(args), count = positional, at = 0;
    PyObject *method =
        PyObject_GetAttrString((PyObject *)((nl_py_array *)self)->state->devarray_type, name);
    if (positional + (kwargs ? PyDict_GET_SIZE(kwargs) : 0) > MOST) {
        PyErr_Format(PyExc_TypeError, "%s() takes fewer arguments", name);
        goto done;
    }
    for (Py_ssize_t i = 1; i < positional; i++)
        given[i] = PyTuple_GET_ITEM(args, i - 1);
    names = PyTuple_New(kwargs ? PyDict_GET_SIZE(kwargs) : 0);
    while (names && kwargs && PyDict_Next(kwargs, &at, &key, &item)) {
        PyTuple_SET_ITEM(names, count - positional, Py_NewRef(key));
        given[count++] = item;
    }
    if (method && names)
        result = nl_py_trace_call(method, given, (size_t)positional, names);
done:
    Py_XDECREF(names);
    Py_XDECREF(method);
    return result;
}

/* ---- recording ---- */

static void extend_last_use(trace *made, int number, int until) {
    if (made->values[number].last < until)
        made->values[number].last = until;
}

/* Releases the objects of the recorded call, except constants. Computes the last use of each value;
 * a use of a view is also a use of its source. */
static void compute_last_uses(trace *made) {
    for (int i = 0; i < made->value_count; i++) {
        made->values[i].last = -1;
        if (made->values[i].kind != CONSTANT)
            Py_CLEAR(made->values[i].object);
    }
    for (int c = 0; c < made->call_count; c++) {
        const traced_call *call = &made->calls[c];
        for (int i = 0; i < call->count; i++)
            extend_last_use(made, made->arguments[call->first + i], c);
        if (call->result >= 0)
            extend_last_use(made, call->result, c);
    }
    extend_last_use(made, made->result, made->call_count);
    for (int i = made->value_count - 1; i >= 0; i--) {
        const value *v = &made->values[i];
        if (v->kind == VIEW)
            extend_last_use(made, v->source, v->last);
        for (int j = 0; v->kind == TUPLE && j < v->count; j++)
            extend_last_use(made, made->arguments[v->source + j], v->last);
    }
}

static void *shrink_array(void *memory, size_t size) {
    nl_error ignored;
    void *smaller = nl_mem_resize(memory, size ? size : 1, &ignored);
    return smaller ? smaller : memory;
}

/* Returns the trace, or NULL without an exception if the call cannot be replayed. */
static PyObject *finish_trace(nl_py_tracer *r, PyObject *result) {
    trace *made = r->made;
    if (!made || was_device_used_outside(r))
        return NULL;
    made->result = find_or_add_value(r, result);
    if (made->result < 0 || nl_py_hostarray_is_exact_array(result) ||
        (made->values[made->result].kind == CONSTANT && result != Py_None))
        return NULL;
    compute_last_uses(made);
    made->values = shrink_array(made->values, (size_t)made->value_count * sizeof *made->values);
    made->calls = shrink_array(made->calls, (size_t)made->call_count * sizeof *made->calls);
    made->arguments =
        shrink_array(made->arguments, (size_t)made->argument_count * sizeof *made->arguments);
    made->size = sizeof *made + (size_t)made->value_count * sizeof *made->values +
                 (size_t)made->call_count * (sizeof *made->calls + CALLABLE_SIZE) +
                 (size_t)made->argument_count * sizeof *made->arguments;
    for (int i = 0; i < made->value_count; i++)
        made->size += 2 * (size_t)made->values[i].ndim * sizeof(int64_t);
    return Py_NewRef(made);
}

static trace *new_trace(nl_py_state *state, PyObject *const *inputs, int count) {
    nl_error err;
    trace *made = (trace *)state->trace_type->tp_alloc(state->trace_type, 0);
    if (!made)
        return NULL;
    made->state = state;
    made->values = nl_mem_zalloc(MAX_VALUES * sizeof *made->values, &err);
    made->calls = nl_mem_zalloc(MAX_CALLS * sizeof *made->calls, &err);
    made->arguments = nl_mem_zalloc(MAX_ARGUMENTS * sizeof *made->arguments, &err);
    if (!made->values || !made->calls || !made->arguments) {
        Py_DECREF(made);
        nl_py_raise(&err);
        return NULL;
    }
    made->input_count = count;
    for (int i = 0; i < count; i++)
        add_value(made, INPUT, inputs[i]);
    return made;
}

PyObject *nl_py_trace_record(nl_py_state *state, PyObject *function, PyObject *const *args,
                             size_t nargsf, PyObject *keywords, PyObject *const *inputs, int count,
                             PyObject *stream, PyObject **out) {
    nl_py_tracer r = {.state = state,
                      .made = new_trace(state, inputs, count),
                      .stream = stream,
                      .device = nl_device_selected(),
                      .uses = nl_device_count_uses()};
    *out = NULL;
    if (!r.made)
        return NULL;
    set_recorder(&r);
    PyObject *result = PyObject_Vectorcall(function, args, nargsf, keywords);
    set_recorder(NULL);
    if (result)
        *out = finish_trace(&r, result);
    mark_invalid(&r);
    return result;
}

/* ---- replaying ---- */

typedef struct replay {
    const trace *of;
    PyObject *const *inputs;
    PyObject *stream;
    /* the Python object of each value of the trace, or NULL if it is not created yet or already
     * released */
    PyObject *live[MAX_VALUES];
} replay;

static PyObject *make_value(replay *r, int number);

static PyObject *make_tuple(replay *r, const value *v) {
    PyObject *tuple = PyTuple_New(v->count);
    for (int i = 0; tuple && i < v->count; i++) {
        PyObject *item = make_value(r, r->of->arguments[v->source + i]);
        if (item)
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(item));
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static void read_geometry(const value *v, nl_layout *layout) {
    size_t size = (size_t)v->ndim * sizeof(int64_t);
    layout->ndim = v->ndim;
    layout->itemsize = v->element.itemsize;
    memcpy(layout->shape, v->geometry, size);
    memcpy(layout->strides, v->geometry + v->ndim, size);
}

static PyObject *new_array(const replay *r, const value *v, const nl_layout *layout) {
    nl_py_array_parts parts = {
        .descr = v->descr, .element = v->element, .stream = v->bound ? r->stream : NULL};
    return nl_py_devarray_allocate(r->of->state, &parts, layout);
}

static PyObject *make_array(replay *r, const value *v) {
    nl_layout layout;
    read_geometry(v, &layout);
    if (v->kind == NEW)
        return new_array(r, v, &layout);
    const nl_py_array *source = (nl_py_array *)make_value(r, v->source);
    if (!source)
        return NULL;
    nl_py_array_parts parts = {.buffer = source->buffer,
                               .address = source->address + (CUdeviceptr)v->offset,
                               .descr = v->descr,
                               .element = v->element,
                               .owner = source->owner,
                               .stream = v->bound ? r->stream : NULL,
                               .readonly = v->readonly,
                               .repeated = v->repeated,
                               .view = v->view,
                               .lent = source->flags & NL_PY_ARRAY_LENT};
    return nl_py_devarray_new(r->of->state, &parts, &layout);
}

/* Returns a borrowed reference to the object of a value; creates the object if necessary. */
static PyObject *make_value(replay *r, int number) {
    const value *v = &r->of->values[number];
    if (v->kind == INPUT)
        return r->inputs[number];
    if (v->kind == STREAM)
        return r->stream;
    if (v->kind == CONSTANT)
        return v->object;
    if (!r->live[number])
        r->live[number] = v->kind == TUPLE ? make_tuple(r, v) : make_array(r, v);
    return r->live[number];
}

static int replay_call(replay *r, const traced_call *call) {
    PyObject *args[MAX_ARGUMENTS];
    for (int i = 0; i < call->count; i++) {
        args[i] = make_value(r, r->of->arguments[call->first + i]);
        if (!args[i])
            return -1;
    }
    Py_ssize_t named = call->keywords ? PyTuple_GET_SIZE(call->keywords) : 0;
    PyObject *result =
        PyObject_Vectorcall(call->callable, args, (size_t)(call->count - named), call->keywords);
    if (result == Py_False) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a recorded operation cannot be repeated for these arguments");
        Py_CLEAR(result);
    }
    if (!result)
        return -1;
    if (call->result >= 0 && r->of->values[call->result].kind == RESULT && !r->live[call->result])
        r->live[call->result] = Py_NewRef(result);
    Py_DECREF(result);
    return 0;
}

size_t nl_py_trace_size(PyObject *object) {
    return ((trace *)object)->size;
}

int nl_py_trace_was_replayed(PyObject *object) {
    trace *r = (trace *)object;
    int result = nl_atomic_load32_relaxed(&r->is_repeated) != 0;
    nl_atomic_store32_relaxed(&r->is_repeated, 0);
    return result;
}

PyObject *nl_py_trace_replay(PyObject *object, PyObject *const *inputs, PyObject *stream) {
    const trace *of = (trace *)object;
    nl_atomic_store32_relaxed(&((trace *)object)->is_repeated, 1);
    PyObject *result = NULL;
    int done = 0;
    replay r; /* not zero-initialized, because the struct is large */
    r.of = of;
    r.inputs = inputs;
    r.stream = stream;
    memset(r.live, 0, (size_t)of->value_count * sizeof *r.live);
    while (done < of->call_count && replay_call(&r, &of->calls[done]) == 0) {
        for (int i = of->input_count; i < of->value_count; i++)
            if (of->values[i].last == done)
                Py_CLEAR(r.live[i]);
        done++;
    }
    if (done == of->call_count)
        result = Py_XNewRef(make_value(&r, of->result));
    for (int i = 0; i < of->value_count; i++)
        Py_XDECREF(r.live[i]);
    return result;
}

/* ---- type ---- */

static int trace_traverse(PyObject *self, visitproc visit, void *arg) {
    trace *made = (trace *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < made->call_count; i++)
        Py_VISIT(made->calls[i].callable);
    return 0;
}

/* A Trace needs no tp_clear: each reference cycle contains the cache dict of a Traced, which can be
 * cleared. */
static void trace_dealloc(PyObject *self) {
    trace *made = (trace *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < made->value_count; i++) {
        Py_XDECREF(made->values[i].object);
        Py_XDECREF(made->values[i].descr);
        nl_mem_free(made->values[i].geometry);
    }
    for (int i = 0; i < made->call_count; i++) {
        Py_DECREF(made->calls[i].callable);
        Py_XDECREF(made->calls[i].keywords);
    }
    nl_mem_free(made->values);
    nl_mem_free(made->calls);
    nl_mem_free(made->arguments);
    nl_py_free_object(self);
}

static PyType_Slot trace_slots[] = {
    {Py_tp_doc, "The recorded device operations of a call of a Traced function."},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_traverse, trace_traverse},
    {0, NULL}};

static PyType_Spec trace_spec = {
    .name = "numbalite._core.Trace",
    .basicsize = sizeof(trace),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = trace_slots,
};

static PyObject *invalidate_trace(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_py_trace_invalidate();
    return Py_NewRef(Py_None);
}

static PyObject *trace_step(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs) {
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "trace_step() accepts a function and its arguments");
        return NULL;
    }
    if (nl_py_is_tracing())
        return nl_py_trace_call(args[0], args + 1, (size_t)nargs - 1, NULL);
    return PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, NULL);
}

static PyMethodDef methods[] = {
    {"trace_step", (PyCFunction)(void (*)(void))trace_step, METH_FASTCALL,
     "trace_step(function, *args): calls function(*args), which must return None. "
     "The function enqueues device work in the stream that is one of its arguments. "
     "A replay of the surrounding Traced function calls the function again."},
    {"invalidate_trace", invalidate_trace, METH_NOARGS,
     "invalidate_trace(): invalidates the trace of the running call of a Traced function, "
     "for example because the call warns."},
    {NULL, NULL, 0, NULL}};

int nl_py_trace_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_state_add_functions(module, methods) < 0)
        return -1;
    return nl_py_state_add_type(module, &trace_spec, NULL, &state->trace_type);
}
