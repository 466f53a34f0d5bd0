/* py/reducer: see reducer.h. */
#include "py/reducer.h"

#include <string.h>
#include "core/scanplan.h"
#include "driver/driver.h"
#include "core/device.h"
#include "py/dispatcher.h"
#include "py/launches.h"
#include "py/reduceplan.h"
#include "py/stream.h"

enum { INLINE_STORAGE = 1 << 13 };

/* ---- kernels ---- */

/* Returns the cache key of a kernel of this reducer: an integer that contains all properties for
 * which the kernel is compiled. */
static uint64_t kernel_variant_key(const nl_reduce_step *s, int masked, int exclusive) {
    const uint64_t fields[][2] = {
        {(uint64_t)s->schedule.kind, 5},
        {(uint64_t)s->schedule.width, 8},
        {(uint64_t)s->schedule.ahead, 6},
        {(uint64_t)s->last.kind, 5},
        {(uint64_t)s->last.width, 8},
        {(uint64_t)s->last.ahead, 6},
        {(uint64_t)s->reads, 2},
        {(uint64_t)s->writes, 2},
        {(uint64_t)s->vec, 6},
        {(uint64_t)s->wide, 1},
        {(uint64_t)s->cached, 1},
        {(uint64_t)masked, 1},
        {(uint64_t)exclusive, 1},
    };
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        number = number << fields[i][1] | fields[i][0];
    return number;
}

static PyObject *find_kernel_in_python(const nl_py_reducer *r, const nl_reduce_step *s, int masked,
                                       int exclusive) {
    PyObject *kind = nl_py_reduceplan_kernel_name(&s->schedule), *found = NULL;
    PyObject *last = kind ? nl_py_reduceplan_kernel_name(&s->last) : NULL;
    if (last)
        found = PyObject_CallFunction(r->find, "OOiiOOOOi", kind, last, (int)s->reads,
                                      (int)s->writes, masked ? Py_True : Py_False,
                                      s->wide ? Py_True : Py_False, exclusive ? Py_True : Py_False,
                                      s->cached ? Py_True : Py_False, s->vec);
    Py_XDECREF(kind);
    Py_XDECREF(last);
    if (found && !(PyTuple_Check(found) && PyTuple_GET_SIZE(found) == 2 &&
                   PyObject_TypeCheck(PyTuple_GET_ITEM(found, 0), r->state->dispatcher_type) &&
                   nl_py_hostarray_is_descr(PyTuple_GET_ITEM(found, 1)))) {
        PyErr_SetString(PyExc_TypeError, "find must return (Dispatcher, dtype of its plan)");
        Py_CLEAR(found);
    }
    return found;
}

/* Returns a new reference to the tuple (Dispatcher of a step's kernel, dtype of the plan that the
 * kernel reads). Calls r->find only for the first step with this kernel. */
static PyObject *find_kernel(const nl_py_reducer *r, const nl_reduce_step *s, int masked,
                             int exclusive) {
    PyObject *found = NULL;
    PyObject *key = PyLong_FromUnsignedLongLong(kernel_variant_key(s, masked, exclusive));
    if (key && PyDict_GetItemRef(r->kernels, key, &found) >= 0 && !found) {
        found = find_kernel_in_python(r, s, masked, exclusive);
        if (found && PyDict_SetItem(r->kernels, key, found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(key);
    return found;
}

/* ---- launches ---- */

static int add_step(nl_py_launches *l, const nl_py_reducer *r, const nl_reduce_step *s, int masked,
                    int exclusive) {
    nl_py_step *step = &l->steps[l->step_count];
    PyObject *kernel = find_kernel(r, s, masked, exclusive);
    if (!kernel)
        return -1;
    PyObject *descr = PyTuple_GET_ITEM(kernel, 1);
    if (nl_py_hostarray_element_of_descr(descr).itemsize != (int64_t)s->plan_size) {
        PyErr_Format(PyExc_ValueError, "a plan of %zu bytes for a kernel that reads %lld bytes",
                     s->plan_size, (long long)nl_py_hostarray_element_of_descr(descr).itemsize);
    } else if (nl_py_launches_start_step(step, s->grid, s->schedule.threads, s->shared_bytes) ==
               0) {
        step->plan = nl_py_hostarray_new_scalar(descr, s->plan);
        if (step->plan) {
            step->kernel = Py_NewRef(PyTuple_GET_ITEM(kernel, 0));
            step->slot_count = s->slot_count;
            memcpy(step->slots, s->slots, sizeof step->slots);
            l->step_count++;
        }
    }
    Py_DECREF(kernel);
    return PyErr_Occurred() ? -1 : 0;
}

static int add_scratch(nl_py_launches *l, const nl_py_reducer *r, const nl_reduce_scratch *s) {
    nl_py_scratch *made = &l->scratch[l->scratch_count];
    *made = (nl_py_scratch){
        .count = s->count,
        .is_zeroed = s->kind == NL_REDUCE_COUNTER || s->kind == NL_REDUCE_STATUSES,
        .is_kept = s->kind == NL_REDUCE_COUNTER,
    };
    if (s->kind == NL_REDUCE_NUMBERS)
        made->descr = Py_NewRef(r->loop);
    else
        made->descr = nl_py_hostarray_descr_of_dtype(made->is_zeroed ? NL_UINT32 : NL_BOOL);
    if (!made->descr)
        return -1;
    l->scratch_count++;
    return 0;
}

static int call_plan_observer(const nl_py_reducer *r, const nl_reduce_plan *plan, int is_scan) {
    PyObject *observer = r->state->plan_observer;
    if (__builtin_expect(!observer || observer == Py_None, 1))
        return 0;
    PyObject *steps = nl_py_reduceplan_steps(plan, is_scan);
    PyObject *done =
        steps ? PyObject_CallFunction(observer, "OO", is_scan ? Py_True : Py_False, steps) : NULL;
    Py_XDECREF(steps);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int launch_plan(nl_py_reducer *r, const nl_reduce_plan *plan, int masked, int is_scan,
                       PyObject *const *given, PyObject *stream) {
    nl_py_launches l; /* not initialized: it is large */
    int result = call_plan_observer(r, plan, is_scan);
    nl_py_launches_init(&l, r->state, (PyObject *)r);
    for (int i = 0; result == 0 && i < plan->scratch_count; i++)
        result = add_scratch(&l, r, &plan->scratch[i]);
    for (int i = 0; result == 0 && i < plan->step_count; i++) {
        /* only the step that writes the results makes an exclusive scan */
        int exclusive = is_scan && r->exclusive && plan->steps[i].writes == NL_REDUCE_RESULT;
        result = add_step(&l, r, &plan->steps[i], masked, exclusive);
    }
    if (result == 0)
        result = nl_py_launches_run(&l, given, stream);
    nl_py_launches_clear(&l);
    return result;
}

/* ---- reductions ---- */

int nl_py_reducer_reduce(nl_py_reducer *r, const nl_py_reduced *c, PyObject *out) {
    const nl_py_array *a = (const nl_py_array *)c->array, *o = (const nl_py_array *)out;
    size_t storage = nl_reducelaunch_storage_size(r->accumulator);
    unsigned char here[INLINE_STORAGE];
    PyObject *given[] = {c->array, c->where ? c->where : c->array, out,
                         c->segments ? c->segments : c->array};
    nl_reduce_plan plan;
    nl_reduce_request q = {
        .traits = {.itemsize = a->itemsize,
                   .accumulator = r->accumulator,
                   .address = (int64_t)(a->address % 16),
                   .masked = c->where != NULL,
                   .any_order = r->any_order},
        .ndim = a->ndim,
        .shape = a->shape,
        .strides = nl_py_devarray_strides(a),
        .where = c->where ? nl_py_devarray_strides((const nl_py_array *)c->where) : NULL,
        .axes = c->axes,
        .output = c->output,
        .segmented = c->segmented,
        .segments = 1,
        .reorderable = r->reorderable,
        .initial = c->initial,
        .initial_size = c->initial_size,
        .divisor = c->divisor,
    };
    for (int i = 0, at = 0; i < a->ndim; i++) {
        if (i == c->segmented)
            q.segments = o->shape[at];
        at += !(c->axes >> i & 1) || i == c->segmented;
    }
    plan.storage = storage <= sizeof here ? here : PyMem_Malloc(storage);
    if (!plan.storage) {
        PyErr_NoMemory();
        return -1;
    }
    nl_reduceplan_make(&q, &plan);
    int result = launch_plan(r, &plan, c->where != NULL, 0, given, c->stream);
    if (plan.storage != here)
        PyMem_Free(plan.storage);
    return result;
}

int nl_py_reducer_scan(nl_py_reducer *r, PyObject *array, PyObject *out, int axis,
                       const void *initial, size_t initial_size, PyObject *stream) {
    const nl_py_array *a = (const nl_py_array *)array, *o = (const nl_py_array *)out;
    size_t storage = nl_scanplan_storage_size(r->accumulator);
    unsigned char here[INLINE_STORAGE];
    PyObject *given[] = {array, array, out, array};
    nl_reduce_plan plan;
    nl_scan_request q = {
        .stored = a->itemsize,
        .accumulator = r->accumulator,
        .result = o->itemsize,
        .input = (int64_t)(a->address % 16),
        .output = (int64_t)(o->address % 16),
        .ndim = a->ndim,
        .axis = axis,
        .shape = a->shape,
        .strides = nl_py_devarray_strides(a),
        .output_strides = nl_py_devarray_strides(o),
        .initial = initial,
        .initial_size = initial_size,
    };
    plan.storage = storage <= sizeof here ? here : PyMem_Malloc(storage);
    if (!plan.storage) {
        PyErr_NoMemory();
        return -1;
    }
    nl_scanplan_make(&q, &plan);
    int result = launch_plan(r, &plan, 0, 1, given, stream);
    if (plan.storage != here)
        PyMem_Free(plan.storage);
    return result;
}

/* ---- geometry of results ---- */

int nl_py_reducer_has_no_elements(const nl_py_array *a) {
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] == 0)
            return 1;
    return 0;
}

/* Sets the bit of an axis in *axes. Only ints are accepted as axes, although 1.0 and True are equal
 * to 1. */
static int add_axis(PyObject *axis, int ndim, uint64_t *axes) {
    int overflow;
    if (!PyLong_CheckExact(axis))
        return 0;
    long number = PyLong_AsLongAndOverflow(axis, &overflow);
    number += number < 0 ? ndim : 0;
    if (overflow || number < 0 || number >= ndim || *axes >> number & 1)
        return 0;
    *axes |= (uint64_t)1 << number;
    return 1;
}

int nl_py_reducer_read_axes(PyObject *axis, int ndim, uint64_t *axes) {
    *axes = 0;
    if (!axis || axis == Py_None) {
        *axes = ((uint64_t)1 << ndim) - 1;
        return 1;
    }
    if (!PyTuple_CheckExact(axis))
        return add_axis(axis, ndim, axes);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++)
        if (!add_axis(PyTuple_GET_ITEM(axis, i), ndim, axes))
            return 0;
    return 1;
}

PyObject *nl_py_reducer_new_result(nl_py_reducer *r, const nl_py_array *a, uint64_t axes,
                                   int keepdims, int in_c_order, int64_t *output) {
    nl_element element = nl_py_hostarray_element_of_descr(r->result);
    nl_layout layout = {.ndim = 0, .itemsize = element.itemsize};
    int64_t strides[NL_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) {
        int is_reduced = axes >> i & 1;
        if (is_reduced && !keepdims)
            continue;
        layout.shape[layout.ndim] = is_reduced ? 1 : a->shape[i];
        strides[layout.ndim++] = nl_py_devarray_strides(a)[i];
    }
    if (in_c_order)
        nl_layout_set_c(&layout);
    else
        nl_layout_set_like_several(&layout, (const int64_t *[]){strides}, 1);
    for (int i = 0, at = 0, kept = 0; i < a->ndim; i++) {
        int is_reduced = axes >> i & 1;
        if (!is_reduced)
            output[kept++] = layout.strides[at];
        at += !is_reduced || keepdims;
    }
    return nl_py_devarray_empty(r->state, r->result, element, &layout);
}

PyObject *nl_py_reducer_reduce_to_new(nl_py_reducer *r, PyObject *array, PyObject *axis,
                                      int keepdims, int in_c_order, double divisor) {
    const nl_py_array *a = (const nl_py_array *)array;
    int64_t output[NL_MAX_DIMS];
    nl_py_reduced c = {.array = array, .segmented = -1, .output = output, .divisor = divisor};
    if (!nl_py_devarray_check_exact(r->state, array) || a->class != NL_ELEMENT_PLAIN ||
        (nl_dtype)a->dtype != r->stored || a->buffer->device->ordinal != nl_device_selected() ||
        !nl_py_reducer_can_read(r, a) || nl_py_reducer_has_no_elements(a) ||
        !nl_py_reducer_read_axes(axis, a->ndim, &c.axes))
        return NULL;
    PyObject *out = nl_py_reducer_new_result(r, a, c.axes, keepdims, in_c_order, output);
    if (out && nl_py_reducer_reduce(r, &c, out) < 0)
        Py_CLEAR(out);
    return out;
}

/* ---- methods ---- */

/* Checks the conditions that numbalite/ufuncs/reduceloops.py ensures for the arrays. */
static int check_array(const nl_py_reducer *r, PyObject *object, unsigned low_bits) {
    const nl_py_array *a = (const nl_py_array *)object;
    if (!nl_py_devarray_check(r->state, object)) {
        PyErr_Format(PyExc_TypeError, "a Reducer accepts device arrays, not %.80s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    if (!(a->misaligned & low_bits) && !nl_py_reducer_has_no_elements(a) && a->itemsize > 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a Reducer accepts only aligned arrays with elements");
    return -1;
}

static int check_initial(const nl_py_reducer *r, const Py_buffer *initial) {
    if (!initial->buf || initial->len <= r->accumulator)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "an initial number of %zd bytes is larger than the accumulator of %lld",
                 initial->len, (long long)r->accumulator);
    return -1;
}

/* Checks the shapes of the output and the mask. */
static int check_geometry(const nl_py_reduced *c, PyObject *out) {
    const nl_py_array *a = (const nl_py_array *)c->array, *o = (const nl_py_array *)out;
    const nl_py_array *w = (const nl_py_array *)c->where;
    int at = 0, is_valid = !w || w->ndim == a->ndim;
    for (int i = 0; i < a->ndim && is_valid; i++) {
        if (w)
            is_valid = w->shape[i] == a->shape[i];
        if (i != c->segmented && c->axes >> i & 1)
            continue;
        is_valid = is_valid && at < o->ndim && (i == c->segmented || o->shape[at] == a->shape[i]);
        at++;
    }
    if (is_valid && at == o->ndim)
        return 0;
    PyErr_SetString(
        PyExc_ValueError,
        "the output must have the axes that are not reduced, and the mask must have all axes");
    return -1;
}

static PyObject *reducer_reduce(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"array",    "axes", "out",     "initial", "where",
                            "segments", "axis", "divisor", "stream",  NULL};
    nl_py_reducer *r = (nl_py_reducer *)self;
    PyObject *axes, *out, *where = Py_None, *segments = Py_None, *stream = Py_None;
    Py_buffer initial = {.buf = NULL};
    nl_py_reduced c = {.segmented = -1, .divisor = 1.0};
    int result = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!O|z*OOidO:reduce", names, &c.array,
                                     &PyTuple_Type, &axes, &out, &initial, &where, &segments,
                                     &c.segmented, &c.divisor, &stream))
        return NULL;
    c.where = where == Py_None ? NULL : where;
    c.segments = segments == Py_None ? NULL : segments;
    c.stream = nl_py_stream_null_if_none(stream);
    c.initial = initial.buf;
    c.initial_size = initial.buf ? (size_t)initial.len : 0;
    if (check_array(r, c.array, r->low_bits) < 0 ||
        check_array(r, out, r->low_bits_of_results) < 0 || check_initial(r, &initial) < 0 ||
        (c.where && check_array(r, c.where, 0) < 0) ||
        (c.segments && check_array(r, c.segments, 0) < 0))
        goto done;
    if (!nl_py_reducer_read_axes(axes, ((nl_py_array *)c.array)->ndim, &c.axes)) {
        PyErr_SetString(PyExc_ValueError, "reduce(): the array does not have all of these axes");
        goto done;
    }
    if ((c.segmented >= 0) != (c.segments != NULL)) {
        PyErr_SetString(PyExc_ValueError, "segments belong to an axis");
        goto done;
    }
    c.output = nl_py_devarray_strides((nl_py_array *)out);
    if (check_geometry(&c, out) == 0)
        result = nl_py_reducer_reduce(r, &c, out);
done:
    PyBuffer_Release(&initial);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *reducer_made(PyObject *self, PyObject *args) {
    PyObject *array, *axis;
    int keepdims, in_c_order;
    double divisor;
    if (!PyArg_ParseTuple(args, "OOppd:made", &array, &axis, &keepdims, &in_c_order, &divisor))
        return NULL;
    PyObject *out = nl_py_reducer_reduce_to_new((nl_py_reducer *)self, array, axis, keepdims,
                                                in_c_order, divisor);
    return out || PyErr_Occurred() ? out : Py_NewRef(Py_None);
}

static PyObject *reducer_scan(PyObject *self, PyObject *args) {
    nl_py_reducer *r = (nl_py_reducer *)self;
    PyObject *array, *out, *stream = Py_None;
    Py_buffer initial = {.buf = NULL};
    int axis, result = -1;
    if (!PyArg_ParseTuple(args, "OOi|z*O:scan", &array, &out, &axis, &initial, &stream))
        return NULL;
    if (check_array(r, array, r->low_bits) < 0 || check_array(r, out, r->low_bits_of_results) < 0 ||
        check_initial(r, &initial) < 0)
        goto done;
    const nl_py_array *a = (const nl_py_array *)array, *o = (const nl_py_array *)out;
    int is_valid = a->ndim == o->ndim && axis >= 0 && axis < a->ndim;
    for (int i = 0; is_valid && i < a->ndim; i++)
        is_valid = a->shape[i] == o->shape[i];
    if (is_valid)
        result = nl_py_reducer_scan(r, array, out, axis, initial.buf,
                                    initial.buf ? (size_t)initial.len : 0,
                                    nl_py_stream_null_if_none(stream));
    else
        PyErr_SetString(PyExc_ValueError,
                        "a scan needs an axis of the array, and an output of the array's shape");
done:
    PyBuffer_Release(&initial);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- type ---- */

static PyObject *reducer_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"find",      "stored",      "loop",      "result",
                            "any_order", "reorderable", "exclusive", NULL};
    nl_py_state *state = nl_py_state_of_type(type);
    PyObject *find, *stored, *loop, *result;
    int any_order, reorderable = 0, exclusive = 0, alignments[2];
    if (!state ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "OOOOp|pp:Reducer", names, &find, &stored,
                                     &loop, &result, &any_order, &reorderable, &exclusive))
        return NULL;
    if (!nl_py_hostarray_is_descr(stored) || !nl_py_hostarray_is_descr(loop) ||
        !nl_py_hostarray_is_descr(result)) {
        PyErr_SetString(PyExc_TypeError, "stored, loop and result must be numpy.dtype");
        return NULL;
    }
    PyObject *dtypes[] = {stored, result};
    for (int i = 0; i < 2; i++) {
        PyObject *alignment = PyObject_GetAttrString(dtypes[i], "alignment");
        alignments[i] = alignment ? (int)PyLong_AsLong(alignment) : -1;
        Py_XDECREF(alignment);
        if (PyErr_Occurred())
            return NULL;
    }
    nl_py_reducer *r = (nl_py_reducer *)type->tp_alloc(type, 0);
    if (!r)
        return NULL;
    r->state = state;
    r->find = Py_NewRef(find);
    r->loop = Py_NewRef(loop);
    r->result = Py_NewRef(result);
    r->stored = nl_py_hostarray_element_of_descr(stored).dtype;
    r->accumulator = nl_py_hostarray_element_of_descr(loop).itemsize;
    r->any_order = any_order;
    r->reorderable = reorderable;
    r->exclusive = exclusive;
    r->low_bits = (unsigned)alignments[0] - 1;
    r->low_bits_of_results = (unsigned)alignments[1] - 1;
    r->kernels = PyDict_New();
    if (!r->kernels)
        Py_CLEAR(r);
    return (PyObject *)r;
}

static int reducer_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((nl_py_reducer *)self)->find);
    Py_VISIT(((nl_py_reducer *)self)->kernels);
    return 0;
}

static int reducer_clear(PyObject *self) {
    PyDict_Clear(((nl_py_reducer *)self)->kernels); /* concurrent calls read the dict */
    return 0;
}

static void reducer_dealloc(PyObject *self) {
    nl_py_reducer *r = (nl_py_reducer *)self;
    PyObject_GC_UnTrack(self);
    if (r->weakrefs)
        PyObject_ClearWeakRefs(self);
    nl_py_launches_release_scratch(r->state, self);
    Py_DECREF(r->find);
    Py_XDECREF(r->kernels);
    Py_DECREF(r->loop);
    Py_DECREF(r->result);
    nl_py_free_object(self);
}

static PyMethodDef reducer_methods[] = {
    {"reduce", (PyCFunction)(void (*)(void))reducer_reduce, METH_VARARGS | METH_KEYWORDS,
     "reduce(array, axes, out, initial=None, where=None, segments=None, axis=-1, divisor=1.0, "
     "stream=None): writes the results along the other axes to out. "
     "initial: bytes of an accumulator. "
     "segments: array with the begin and end of each segment of one axis."},
    {"made", reducer_made, METH_VARARGS,
     "made(array, axis, keepdims, in_c_order, divisor): "
     "returns a new array with the results, "
     "whose axes have the array's order in memory, or C order. "
     "Returns None if Python code must handle the array or the axis: "
     "the array is on another device, not aligned, or empty."},
    {"scan", reducer_scan, METH_VARARGS,
     "scan(array, out, axis, initial=None, stream=None): "
     "writes the cumulative results along an axis to out."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef reducer_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_reducer, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot reducer_slots[] = {
    {Py_tp_doc,
     "Reducer(find, stored, loop, result, any_order, reorderable=False, exclusive=False): "
     "reduces and scans arrays of dtype `stored` with accumulators of dtype `loop`. "
     "find(kind, kind of its last block or '', what it reads, what it writes, masked, wide, "
     "exclusive, cached, columns that are one element) "
     "returns (Dispatcher, dtype of its plan); it is called once for each kernel. "
     "Reads and writes: 0 stored, 1 loop, 2 result."},
    {Py_tp_new, reducer_new},
    {Py_tp_dealloc, reducer_dealloc},
    {Py_tp_traverse, reducer_traverse},
    {Py_tp_clear, reducer_clear},
    {Py_tp_methods, reducer_methods},
    {Py_tp_members, reducer_members},
    {0, NULL}};

static PyType_Spec reducer_spec = {
    .name = "numbalite._core.Reducer",
    .basicsize = sizeof(nl_py_reducer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reducer_slots,
};

int nl_py_reducer_exec(PyObject *module) {
    return nl_py_state_add_type(module, &reducer_spec, NULL, &nl_py_state_of(module)->reducer_type);
}
