/* py/reduction: from a call to its launches.
 *
 * How a call is made depends on shapes, strides, dtypes and alignment alone, and on whether the
 * arrays share memory; no address is in the key but for its low bits, and no device. The key leads
 * to a plan: launches with their configurations, and the scratch arrays between them. */
#include "py/reduction.h"

#include <string.h>
#include "core/device.h"
#include "py/capture.h"
#include "py/devcopy.h"
#include "py/devarray.h"
#include "py/recording.h"
#include "py/owner.h"
#include "py/stream.h"
#include "py/ufunc.h"
#include "py/value.h"

enum {
    MAX_CALLS = 1024, /* of 2 to 3 KB, for a ufunc */
    MAX_STEPS = 16,
    MAX_SCRATCH = 16,
    MAX_AXES = NL_MAX_DIMS,
    ALIGNMENT = 16,
    MAX_SLOTS = 6,  /* arrays of a launch, behind the plan */
    GIVEN = 4,      /* input, mask, output, segments */
    NO_DTYPE = 255, /* none was asked for */
};

/* ---- plans ---- */

typedef struct step {
    PyObject *kernel, *launcher; /* a Dispatcher, and what it gives for the default stream */
    PyObject *grid, *block, *plan;
    PyObject *shared; /* bytes of dynamic shared memory */
    int slot_count;
    uint8_t slots[MAX_SLOTS]; /* those given, then the scratch arrays */
} step;

/* What a launch leaves as it was filled can be used by the next one on the same stream; `kept` is
 * the array of the default stream's last one. */
typedef struct scratch {
    PyObject *descr, *filling; /* a 0-d array, or NULL */
    int64_t count;
    int is_kept;
    PyObject *kept; /* or NULL */
} scratch;

typedef struct reduction_plan {
    PyObject_HEAD nl_py_state *state;
    int step_count, scratch_count;
    step steps[MAX_STEPS];
    scratch scratch[MAX_SCRATCH];
} reduction_plan;

static PyObject *empty(nl_py_state *state, PyObject *descr, const nl_layout *shape,
                       PyObject *strides) {
    nl_layout layout = *shape;
    nl_element element = nl_host_element(descr);
    layout.itemsize = element.itemsize;
    if (strides == Py_None)
        nl_layout_set_c(&layout);
    else if (nl_py_strides_from(strides, &layout, "strides") < 0)
        return NULL;
    return nl_py_array_empty(state, descr, element, &layout);
}

/* What stands for an array where only the address of its first element matters. */
static PyObject *first_of(PyObject *obj) {
    nl_py_array *a = (nl_py_array *)obj;
    nl_layout layout = {.ndim = 0, .itemsize = a->itemsize};
    return a->flags & NL_PY_ARRAY_C ? Py_NewRef(obj) : nl_py_array_view(a, a->address, &layout);
}

static PyObject *configure(const step *s, PyObject *stream) {
    PyObject *config = PyTuple_Pack(4, s->grid, s->block, stream, s->shared);
    PyObject *launcher = config ? PyObject_GetItem(s->kernel, config) : NULL;
    Py_XDECREF(config);
    return launcher;
}

static PyObject *launcher_on(const step *s, PyObject *stream) {
    return stream ? configure(s, stream) : Py_NewRef(s->launcher);
}

static int launch(const step *s, PyObject *const *arrays, PyObject *stream) {
    PyObject *args[1 + MAX_SLOTS] = {s->plan}, *done = NULL;
    PyObject *launcher = launcher_on(s, stream);
    for (int i = 0; i < s->slot_count; i++)
        args[1 + i] = arrays[s->slots[i]];
    if (launcher)
        done = PyObject_Vectorcall(launcher, args, 1 + s->slot_count, NULL);
    Py_XDECREF(launcher);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int is_current(const nl_py_array *array) {
    nl_error ignored = {0};
    const nl_device *device = nl_device_current(&ignored);
    return array->buffer->device == device && array->buffer->generation == device->generation;
}

static PyObject *fill_scratch(reduction_plan *p, const scratch *s, PyObject *stream) {
    nl_layout layout = {.ndim = 1, .shape = {s->count}};
    PyObject *array = empty(p->state, s->descr, &layout, Py_None);
    if (array && s->filling) {
        PyObject *done =
            PyObject_CallMethod(array, "_fill", "OO", s->filling, stream ? stream : Py_None);
        if (!done)
            Py_CLEAR(array);
        Py_XDECREF(done);
    }
    return array;
}

/* What a graph uses is the graph's alone: it may run beside later calls. */
static PyObject *make_scratch(reduction_plan *p, scratch *s, PyObject *stream) {
    if (!s->is_kept || stream || nl_capture_under_way() || nl_py_stream_here)
        return fill_scratch(p, s, stream);
    PyObject *kept = p->state->kept_scratch, *array = NULL, *key = PyLong_FromVoidPtr(s);
    if (key && PyDict_GetItemRef(kept, key, &array) >= 0 &&
        !(array && is_current((nl_py_array *)array))) {
        Py_XSETREF(array, fill_scratch(p, s, NULL));
        if (array && PyDict_SetItem(kept, key, array) < 0)
            Py_CLEAR(array);
    }
    Py_XDECREF(key);
    return array;
}

static void forget_scratch(reduction_plan *p, scratch *s) {
    PyObject *kept = p->state->kept_scratch, *key = s->is_kept ? PyLong_FromVoidPtr(s) : NULL;
    if (key && kept && PyDict_Contains(kept, key) == 1)
        PyDict_DelItem(kept, key);
    Py_XDECREF(key);
}

/* The plan as a whole is what can be done again: which scratch arrays it has is its own business.
 */
static int run_recorded(reduction_plan *p, PyObject *const *given, PyObject *stream) {
    PyObject *args[GIVEN + 1] = {given[0], given[1], given[2], given[3], stream ? stream : Py_None};
    PyObject *method = PyObject_GetAttrString((PyObject *)p, "run");
    PyObject *done = method ? nl_py_record_call(method, args, GIVEN + 1, NULL) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* `given`: the four arrays; those that the plan does not use may be any. `stream` NULL: the default
 * one. */
static int run(reduction_plan *p, PyObject *const *given, PyObject *stream) {
    if (nl_py_is_recording())
        return run_recorded(p, given, stream);
    PyObject *arrays[GIVEN + MAX_SCRATCH];
    int count = 0, result = -1;
    while (count < GIVEN) {
        arrays[count] = first_of(given[count]);
        if (!arrays[count])
            goto done;
        count++;
    }
    for (int i = 0; i < p->scratch_count; i++) {
        arrays[count] = make_scratch(p, &p->scratch[i], stream);
        if (!arrays[count])
            goto done;
        count++;
    }
    for (int i = 0; i < p->step_count; i++)
        if (launch(&p->steps[i], arrays, stream) < 0)
            goto done;
    result = 0;
done:
    while (count > 0)
        Py_DECREF(arrays[--count]);
    return result;
}

static int read_slots(PyObject *obj, int most, step *s) {
    if (!PyTuple_Check(obj) || PyTuple_GET_SIZE(obj) > MAX_SLOTS)
        goto wrong;
    s->slot_count = (int)PyTuple_GET_SIZE(obj);
    for (int i = 0; i < s->slot_count; i++) {
        long slot = PyLong_AsLong(PyTuple_GET_ITEM(obj, i));
        if (slot < 0 || slot >= most)
            goto wrong;
        s->slots[i] = (uint8_t)slot;
    }
    return 0;
wrong:
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "a step has at most %d slots, below %d", MAX_SLOTS, most);
    return -1;
}

static int add_step(reduction_plan *p, PyObject *obj) {
    step *s = &p->steps[p->step_count];
    PyObject *slots, *none = PyLong_FromLong(0);
    int result = -1;
    s->shared = none;
    if (!none ||
        !PyArg_ParseTuple(obj, "OOOOO|O", &s->kernel, &s->grid, &s->block, &s->plan, &slots,
                          &s->shared) ||
        read_slots(slots, GIVEN + p->scratch_count, s) < 0)
        goto done;
    s->launcher = configure(s, none);
    if (!s->launcher)
        goto done;
    Py_INCREF(s->kernel);
    Py_INCREF(s->grid);
    Py_INCREF(s->block);
    Py_INCREF(s->plan);
    Py_INCREF(s->shared);
    p->step_count++;
    result = 0;
done:
    Py_XDECREF(none);
    return result;
}

static int add_scratch(reduction_plan *p, PyObject *obj) {
    long long count;
    int is_kept = 0;
    PyObject *dtype, *filling = NULL;
    if (!PyArg_ParseTuple(obj, "LO|Op", &count, &dtype, &filling, &is_kept))
        return -1;
    if (!nl_host_is_descr(dtype) || count < 0) {
        PyErr_SetString(PyExc_TypeError,
                        "a scratch array is (count, numpy.dtype[, 0-d array[, is it kept]])");
        return -1;
    }
    p->scratch[p->scratch_count].is_kept = is_kept;
    p->scratch[p->scratch_count].filling = Py_XNewRef(filling);
    p->scratch[p->scratch_count].count = count;
    p->scratch[p->scratch_count++].descr = Py_NewRef(dtype);
    return 0;
}

static int add_all(reduction_plan *p, PyObject *items, int most,
                   int (*add)(reduction_plan *, PyObject *)) {
    int result = -1;
    PyObject *tuple = PySequence_Tuple(items);
    if (!tuple)
        return -1;
    if (PyTuple_GET_SIZE(tuple) > most) {
        PyErr_Format(PyExc_ValueError, "a plan has at most %d parts of a kind", most);
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (!PyTuple_Check(item)) {
            PyErr_Format(PyExc_TypeError, "a part of a plan is a tuple, not %.80s",
                         Py_TYPE(item)->tp_name);
            goto done;
        }
        if (add(p, item) < 0)
            goto done;
    }
    result = 0;
done:
    Py_DECREF(tuple);
    return result;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords)) {
    PyObject *steps, *scratches;
    nl_py_state *state = nl_py_state_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "OO:ReductionPlan", &steps, &scratches))
        return NULL;
    reduction_plan *p = (reduction_plan *)type->tp_alloc(type, 0);
    if (!p)
        return NULL;
    p->state = state;
    if (add_all(p, scratches, MAX_SCRATCH, add_scratch) < 0 ||
        add_all(p, steps, MAX_STEPS, add_step) < 0)
        Py_CLEAR(p);
    return (PyObject *)p;
}

static int plan_traverse(PyObject *self, visitproc visit, void *arg) {
    reduction_plan *p = (reduction_plan *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < p->step_count; i++) {
        Py_VISIT(p->steps[i].kernel);
        Py_VISIT(p->steps[i].launcher);
        Py_VISIT(p->steps[i].plan);
    }
    return 0;
}

/* No tp_clear: every cycle goes through the dict of who reduces, which can be cleared. */
static void plan_dealloc(PyObject *self) {
    reduction_plan *p = (reduction_plan *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < p->step_count; i++) {
        Py_DECREF(p->steps[i].kernel);
        Py_DECREF(p->steps[i].launcher);
        Py_DECREF(p->steps[i].grid);
        Py_DECREF(p->steps[i].block);
        Py_DECREF(p->steps[i].plan);
        Py_DECREF(p->steps[i].shared);
    }
    for (int i = 0; i < p->scratch_count; i++) {
        Py_DECREF(p->scratch[i].descr);
        Py_XDECREF(p->scratch[i].filling);
        forget_scratch(p, &p->scratch[i]);
    }
    nl_py_free(self);
}

static PyObject *stream_or_null(PyObject *stream) {
    return !stream || stream == Py_None || (PyLong_CheckExact(stream) && !PyObject_IsTrue(stream))
               ? NULL
               : stream;
}

static PyObject *plan_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    reduction_plan *p = (reduction_plan *)self;
    if (nargs != GIVEN + 1)
        return PyErr_Format(PyExc_TypeError, "run() takes %d arrays and a stream", GIVEN);
    for (int i = 0; i < GIVEN; i++)
        if (!nl_py_array_check(p->state, args[i]))
            return PyErr_Format(PyExc_TypeError, "run() takes device arrays, not %.80s",
                                Py_TYPE(args[i])->tp_name);
    return run(p, args, stream_or_null(args[GIVEN])) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef plan_methods[] = {
    {"run", (PyCFunction)(void (*)(void))plan_run, METH_FASTCALL,
     "run(input, where, output, segments, stream): launches; arrays that the plan does not use may "
     "be any."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot plan_slots[] = {
    {Py_tp_doc,
     "ReductionPlan(steps, scratch): launches that reduce or scan an array. A step is (Dispatcher, "
     "grid, block, plan of the kernel, slots[, bytes of dynamic shared memory]): a slot is 0 for "
     "the "
     "input, 1 the mask, 2 the output, 3 the segments, from 4 on the scratch arrays, which are "
     "given "
     "as (count, dtype), or with a 0-d array that fills them, and made anew for each run; one that "
     "is "
     "kept (a fourth item, True) only where the stream or the device is another."},
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_methods, plan_methods},
    {0, NULL}};

static PyType_Spec plan_spec = {
    .name = "numbalite._core.ReductionPlan",
    .basicsize = sizeof(reduction_plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = plan_slots,
};

/* ---- keys ---- */

typedef struct head {
    char method;
    uint8_t keepdims, dtype, axes; /* how many; MAX_AXES + 1: None */
    int32_t number;
} head;

/* Of one array; shape and strides follow. */
typedef struct array_head {
    uint8_t present, dtype, alignment, ndim;
    uint8_t shared; /* of the second array: does it share memory with the first? */
    uint8_t unused[3];
} array_head;

typedef struct key {
    size_t size;
    unsigned char bytes[sizeof(head) + MAX_AXES * sizeof(int64_t) +
                        2 * (sizeof(array_head) + 2 * NL_MAX_DIMS * sizeof(int64_t))];
} key;

static void append(key *k, const void *bytes, size_t size) {
    memcpy(k->bytes + k->size, bytes, size);
    k->size += size;
}

static int is_plain(const nl_py_state *state, PyObject *value) {
    const nl_py_array *a = (const nl_py_array *)value;
    return nl_py_array_check_exact(state, value) && a->class == NL_ELEMENT_PLAIN &&
           a->buffer->device->ordinal == nl_device_selected();
}

static void append_array(key *k, PyObject *obj, int shared) {
    const nl_py_array *a = (const nl_py_array *)obj;
    array_head h = {
        1, a->dtype, (uint8_t)(a->address % ALIGNMENT), (uint8_t)a->ndim, (uint8_t)shared, {0}};
    append(k, &h, sizeof h);
    append(k, a->shape, 2 * (size_t)a->ndim * sizeof(int64_t));
}

static int share_memory(PyObject *a, PyObject *b) {
    const nl_py_array *x = (const nl_py_array *)a, *y = (const nl_py_array *)b;
    return nl_ranges_meet(nl_py_array_range(x), nl_py_array_range(y));
}

/* 1.0 and True are equal to 1, but are not to be taken for it: only ints have keys. */
static int append_axis(key *k, PyObject *axis) {
    int64_t number;
    if (!PyLong_CheckExact(axis))
        return 0;
    number = PyLong_AsLongLong(axis);
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    append(k, &number, sizeof number);
    return 1;
}

static int append_axes(key *k, head *h, PyObject *axis) {
    if (!axis || axis == Py_None) {
        h->axes = MAX_AXES + 1;
        return 1;
    }
    if (!PyTuple_CheckExact(axis)) {
        h->axes = 1;
        return append_axis(k, axis);
    }
    if (PyTuple_GET_SIZE(axis) > MAX_AXES)
        return 0;
    h->axes = (uint8_t)PyTuple_GET_SIZE(axis);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++)
        if (!append_axis(k, PyTuple_GET_ITEM(axis, i)))
            return 0;
    return 1;
}

int nl_py_reduction_gives(PyObject *value) {
    return value && value != Py_None;
}

/* Is it a call of those that can be known: device arrays of numbers on this thread's device? */
static int make_key(const nl_py_state *state, const nl_py_call *r, key *k) {
    head h = {.method = r->method, .dtype = NO_DTYPE, .number = r->number};
    k->size = sizeof h;
    if (!is_plain(state, r->array) || (r->keepdims && !PyBool_Check(r->keepdims)) ||
        !append_axes(k, &h, r->axis))
        return 0;
    if (nl_py_reduction_gives(r->dtype)) {
        if (!nl_host_is_descr(r->dtype) || nl_host_element(r->dtype).class != NL_ELEMENT_PLAIN)
            return 0;
        h.dtype = (uint8_t)nl_host_element(r->dtype).dtype;
    }
    h.keepdims = r->keepdims == Py_True;
    append_array(k, r->array, 0);
    if (nl_py_reduction_gives(r->out)) {
        if (!is_plain(state, r->out) || ((nl_py_array *)r->out)->flags & NL_PY_ARRAY_NO_TARGET)
            return 0;
        append_array(k, r->out, share_memory(r->array, r->out));
    }
    memcpy(k->bytes, &h, sizeof h);
    return 1;
}

/* ---- known calls ---- */

/* (plan, shape, dtype of the result, its strides or None for C order) */
static PyObject *find(PyObject *known, const nl_py_state *state, const nl_py_call *r) {
    key k;
    PyObject *found = NULL, *bytes = NULL;
    if (make_key(state, r, &k))
        bytes = PyBytes_FromStringAndSize((char *)k.bytes, (Py_ssize_t)k.size);
    if (bytes && PyDict_GetItemRef(known, bytes, &found) < 0)
        found = NULL;
    Py_XDECREF(bytes);
    return found;
}

static PyObject *make_result(nl_py_state *state, PyObject *known) {
    nl_layout layout;
    if (nl_py_shape_from(PyTuple_GET_ITEM(known, 1), &layout) < 0)
        return NULL;
    return empty(state, PyTuple_GET_ITEM(known, 2), &layout, PyTuple_GET_ITEM(known, 3));
}

PyObject *nl_py_reduction_repeat(PyObject *known, nl_py_state *state, const nl_py_call *r) {
    PyObject *found = find(known, state, r), *result = NULL;
    if (!found)
        return NULL;
    reduction_plan *plan = (reduction_plan *)PyTuple_GET_ITEM(found, 0);
    result = nl_py_reduction_gives(r->out) ? Py_NewRef(r->out) : make_result(state, found);
    if (result) {
        PyObject *given[GIVEN] = {r->array, r->array, result, r->array};
        if (run(plan, given, stream_or_null(r->stream)) < 0)
            Py_CLEAR(result);
    }
    Py_DECREF(found);
    return result;
}

/* Makes room for one more call: dicts are ordered by insertion. */
static int evict_oldest(PyObject *known) {
    PyObject *key;
    Py_ssize_t at = 0;
    if (PyDict_Size(known) < MAX_CALLS || !PyDict_Next(known, &at, &key, NULL))
        return 0;
    Py_INCREF(key);
    int result = PyDict_DelItem(known, key);
    Py_DECREF(key);
    return result;
}

int nl_py_reduction_note(PyObject *known, nl_py_state *state, const nl_py_call *r, PyObject *plan,
                         PyObject *made) {
    const nl_py_array *a = (const nl_py_array *)made;
    key k;
    if (!Py_IS_TYPE(plan, state->reduction_plan_type) || !nl_py_array_check(state, made) ||
        !make_key(state, r, &k))
        return 0;
    /* Only where the result was written to where it is wanted. */
    if (nl_py_reduction_gives(r->out) && (((nl_py_array *)r->out)->address != a->address ||
                                          !(((nl_py_array *)r->out)->flags & NL_PY_ARRAY_C)))
        return 0;
    int result = -1;
    PyObject *bytes = PyBytes_FromStringAndSize((char *)k.bytes, (Py_ssize_t)k.size);
    PyObject *shape = nl_py_tuple_from(a->shape, a->ndim);
    PyObject *strides = a->flags & NL_PY_ARRAY_C
                            ? Py_NewRef(Py_None)
                            : nl_py_tuple_from(nl_py_array_strides(a), a->ndim);
    PyObject *value = shape && strides ? PyTuple_Pack(4, plan, shape, a->descr, strides) : NULL;
    if (bytes && value) {
        result = evict_oldest(known) < 0 ? -1 : PyDict_SetItem(known, bytes, value);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(value);
    return result;
}

/* ---- calls ---- */

/* Fills `values` by position and by name; 0 where Python has to read the call, and says what is
 * wrong with it. */
static int read_arguments(const char *const *names, int count, int most_positional,
                          PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                          PyObject **values) {
    Py_ssize_t named = nl_py_named(keywords);
    if (nargs > most_positional)
        return 0;
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        int which = 0;
        while (which < count && PyUnicode_CompareWithASCIIString(name, names[which]))
            which++;
        if (which == count || values[which])
            return 0;
        values[which] = args[nargs + i];
    }
    return values[0] != NULL;
}

static PyObject *ask_python(PyObject *self, const char *method, PyObject *const *args,
                            Py_ssize_t nargs, PyObject *keywords) {
    PyObject *bound = PyObject_GetAttrString(self, method);
    PyObject *result = bound ? PyObject_Vectorcall(bound, args, (size_t)nargs, keywords) : NULL;
    Py_XDECREF(bound);
    return result;
}

/* An array of another library that has the interface is read once, here: new reference to a
 * DeviceArray over it, or to what was given. */
static PyObject *own_array(nl_py_state *state, PyObject *obj, PyObject *stream) {
    nl_py_value v;
    CUstream handle;
    int blocking;
    PyObject *array = NULL;
    if (nl_py_array_check(state, obj) || nl_host_is_exact_array(obj))
        return Py_NewRef(obj);
    if (nl_py_stream_from(state, stream_or_null(stream), &handle, &blocking) < 0 ||
        nl_py_value_read(state, obj, &v) < 0)
        return NULL;
    if (v.kind != NL_PY_VALUE_DEVICE)
        array = obj;
    else if (nl_py_value_wait(&v, handle, blocking) == 0)
        array = nl_py_value_array(state, &v);
    Py_XINCREF(array);
    nl_py_value_clear(&v);
    return array;
}

/* The arguments with another in the place of one of them. */
static void put_argument(PyObject *const *args, Py_ssize_t count, const PyObject *old,
                         PyObject *new, PyObject **changed) {
    for (Py_ssize_t i = 0; i < count; i++)
        changed[i] = args[i] == old ? new : args[i];
}

/* ---- the methods of ufuncs ---- */

enum { ARRAY, AXIS, DTYPE, OUT, KEEPDIMS, INITIAL, WHERE, STREAM, PARAMETERS };
static const char *const parameters[PARAMETERS] = {"array",    "axis",    "dtype", "out",
                                                   "keepdims", "initial", "where", "stream"};

/* takes_more: keepdims, initial and where are parameters. */
static int read_call(int takes_more, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                     PyObject **values) {
    if (!read_arguments(parameters, PARAMETERS, STREAM, args, nargs, keywords, values))
        return 0;
    if (values[OUT] && PyTuple_CheckExact(values[OUT])) {
        if (PyTuple_GET_SIZE(values[OUT]) != 1 || PyTuple_GET_ITEM(values[OUT], 0) == Py_None)
            return 0;
        values[OUT] = PyTuple_GET_ITEM(values[OUT], 0);
    }
    if (!takes_more)
        return !values[KEEPDIMS] && !values[INITIAL] && !values[WHERE];
    return !values[INITIAL] && (!values[WHERE] || values[WHERE] == Py_True);
}

static nl_py_call request_of(char method, PyObject *const *values) {
    return (nl_py_call){.method = method,
                        .array = values[ARRAY],
                        .axis = values[AXIS],
                        .dtype = values[DTYPE],
                        .out = values[OUT],
                        .keepdims = values[KEEPDIMS],
                        .stream = values[STREAM]};
}

static PyObject *call_known(nl_py_ufunc *u, char method, PyObject **values) {
    PyObject *zero = PyLong_FromLong(0);
    if (!zero)
        return NULL;
    if (!values[AXIS])
        values[AXIS] = zero;
    nl_py_call r = request_of(method, values);
    PyObject *result = nl_py_reduction_repeat(u->reductions, u->state, &r);
    Py_DECREF(zero);
    return result;
}

static PyObject *reduce_on_stream(PyObject *self, PyObject *const *args, size_t nargsf,
                                  PyObject *keywords) {
    return nl_py_ufunc_reduce(self, args, PyVectorcall_NARGS(nargsf), keywords);
}

static PyObject *accumulate_on_stream(PyObject *self, PyObject *const *args, size_t nargsf,
                                      PyObject *keywords) {
    return nl_py_ufunc_accumulate(self, args, PyVectorcall_NARGS(nargsf), keywords);
}

static PyObject *call(PyObject *self, char method, const char *otherwise, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *keywords) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    PyObject *values[PARAMETERS] = {NULL}, *changed[PARAMETERS], *array, *result;
    Py_ssize_t count = nargs + nl_py_named(keywords);
    if (nl_py_owners_call(u->state, method == 'r' ? reduce_on_stream : accumulate_on_stream, self,
                          args, (size_t)nargs, keywords, &result))
        return result;
    if (!read_call(method == 'r', args, nargs, keywords, values))
        return ask_python(self, otherwise, args, nargs, keywords);
    array = own_array(u->state, values[ARRAY], values[STREAM]);
    if (!array)
        return NULL;
    put_argument(args, count, values[ARRAY], array, changed);
    values[ARRAY] = array;
    result = call_known(u, method, values);
    if (!result && !PyErr_Occurred())
        result = ask_python(self, otherwise, changed, nargs, keywords);
    Py_DECREF(array);
    return result;
}

PyObject *nl_py_ufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *keywords) {
    return call(self, 'r', "_reduce", args, nargs, keywords);
}

PyObject *nl_py_ufunc_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords) {
    return call(self, 'a', "_accumulate", args, nargs, keywords);
}

PyObject *nl_py_ufunc_note(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    if (nargs != 8 || !PyUnicode_Check(args[0]))
        return PyErr_Format(PyExc_TypeError,
                            "_note() takes a method's name, a plan, the array that was written, "
                            "and array, axis, dtype, out, keepdims of the call");
    int is_reduce = PyUnicode_CompareWithASCIIString(args[0], "reduce") == 0;
    nl_py_call r = {.method = is_reduce ? 'r' : 'a',
                    .array = args[3],
                    .axis = args[4],
                    .dtype = args[5],
                    .out = args[6],
                    .keepdims = is_reduce ? args[7] : NULL};
    return nl_py_reduction_note(u->reductions, u->state, &r, args[1], args[2]) < 0
               ? NULL
               : Py_NewRef(Py_None);
}

/* ---- cuda.reduce ---- */

typedef struct reduction {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *known;
} reduction;

enum { ARR, SIZE, RES, INIT, ON_STREAM, ALONG, REDUCTION_PARAMETERS };
static const char *const reduction_parameters[REDUCTION_PARAMETERS] = {"arr",  "size",   "res",
                                                                       "init", "stream", "axis"};

static nl_py_call request_of_reduction(PyObject *const *values) {
    return (nl_py_call){.method = 'c',
                        .array = values[ARR],
                        .axis = values[ALONG],
                        .out = values[RES],
                        .stream = values[ON_STREAM]};
}

/* None where the result was written to res=, an array where there is an axis, else a number. */
static PyObject *returned(nl_py_state *state, const nl_py_call *r, PyObject *made) {
    CUstream handle = NULL;
    PyObject *result = NULL;
    if (nl_py_reduction_gives(r->out))
        result = Py_NewRef(Py_None);
    else if (nl_py_reduction_gives(r->axis))
        result = Py_NewRef(made);
    else if (!stream_or_null(r->stream) || nl_py_stream_from(state, r->stream, &handle, NULL) == 0)
        result = nl_py_array_read_on((nl_py_array *)made, handle);
    Py_DECREF(made);
    return result;
}

static PyObject *reduction_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                      PyObject *keywords) {
    reduction *f = (reduction *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    Py_ssize_t count = nargs + nl_py_named(keywords);
    PyObject *values[REDUCTION_PARAMETERS] = {NULL}, *changed[REDUCTION_PARAMETERS], *made = NULL;
    PyObject *result;
    if (nl_py_owners_call(f->state, reduction_vectorcall, self, args, nargsf, keywords, &result))
        return result;
    if (!read_arguments(reduction_parameters, REDUCTION_PARAMETERS, REDUCTION_PARAMETERS, args,
                        nargs, keywords, values))
        return ask_python(self, "_work_out", args, nargs, keywords);
    PyObject *array = own_array(f->state, values[ARR], values[ON_STREAM]);
    if (!array)
        return NULL;
    put_argument(args, count, values[ARR], array, changed);
    values[ARR] = array;
    nl_py_call r = request_of_reduction(values);
    if (!nl_py_reduction_gives(values[SIZE]) && !nl_py_reduction_gives(values[INIT]))
        made = nl_py_reduction_repeat(f->known, f->state, &r);
    if (made)
        result = returned(f->state, &r, made);
    else
        result = PyErr_Occurred() ? NULL : ask_python(self, "_work_out", changed, nargs, keywords);
    Py_DECREF(array);
    return result;
}

static PyObject *reduction_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                               PyObject *Py_UNUSED(keywords)) {
    nl_py_state *state = nl_py_state_of_type(type);
    reduction *f = state ? (reduction *)type->tp_alloc(type, 0) : NULL;
    if (!f)
        return NULL;
    nl_py_inherit_vectorcall(type);
    f->vectorcall = reduction_vectorcall;
    f->state = state;
    f->known = PyDict_New();
    if (!f->known)
        Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *reduction_note(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    reduction *f = (reduction *)self;
    if (nargs != 5)
        return PyErr_Format(PyExc_TypeError, "_note() takes a plan, the array that was written, "
                                             "and arr, res, axis of the call");
    nl_py_call r = {.method = 'c', .array = args[2], .out = args[3], .axis = args[4]};
    return nl_py_reduction_note(f->known, f->state, &r, args[0], args[1]) < 0 ? NULL
                                                                              : Py_NewRef(Py_None);
}

static int reduction_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((reduction *)self)->known);
    return 0;
}

static int reduction_clear(PyObject *self) {
    PyDict_Clear(((reduction *)self)->known); /* it stays: calls read it */
    return 0;
}

static void reduction_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((reduction *)self)->known);
    nl_py_free(self);
}

static PyMethodDef reduction_methods[] = {
    {"_note", (PyCFunction)(void (*)(void))reduction_note, METH_FASTCALL,
     "_note(plan, made, arr, res, axis): how a call was made, and the array that it wrote."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef reduction_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(reduction, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot reduction_slots[] = {
    {Py_tp_doc, "Base of cuda.reduce. Calls with arrays of a known geometry are made here; the "
                "others go to _work_out."},
    {Py_tp_new, reduction_new},
    {Py_tp_dealloc, reduction_dealloc},
    {Py_tp_traverse, reduction_traverse},
    {Py_tp_clear, reduction_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, reduction_methods},
    {Py_tp_members, reduction_members},
    {0, NULL}};

static PyType_Spec reduction_spec = {
    .name = "numbalite._core.Reduction",
    .basicsize = sizeof(reduction),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = reduction_slots,
};

int nl_py_reduction_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->kept_scratch = PyDict_New();
    return !state->kept_scratch ||
                   nl_py_add_type(module, &plan_spec, NULL, &state->reduction_plan_type) < 0 ||
                   nl_py_add_type(module, &reduction_spec, NULL, &state->reduction_type) < 0
               ? -1
               : 0;
}
