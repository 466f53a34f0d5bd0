/* py/launches: runs the launches of a reduction, a scan or a selection; the type ReductionPlan
 * stores them for a trace, which runs them several times. */
#include "py/launches.h"

#include <string.h>
#include "core/device.h"
#include "py/capture.h"
#include "py/devarray.h"
#include "py/launcher.h"
#include "py/trace.h"
#include "py/stream.h"

typedef struct reduction_plan {
    PyObject_HEAD nl_py_launches launches;
} reduction_plan;

void nl_py_launches_init(nl_py_launches *l, nl_py_state *state, PyObject *owner) {
    l->state = state;
    l->owner = Py_XNewRef(owner);
    l->step_count = l->scratch_count = 0;
}

void nl_py_launches_clear(nl_py_launches *l) {
    for (int i = 0; i < l->step_count; i++) {
        Py_DECREF(l->steps[i].kernel);
        Py_XDECREF(l->steps[i].launcher);
        Py_DECREF(l->steps[i].plan);
    }
    for (int i = 0; i < l->scratch_count; i++)
        Py_DECREF(l->scratch[i].descr);
    l->step_count = l->scratch_count = 0;
    Py_CLEAR(l->owner);
}

/* ---- launches ---- */

/* Returns a kernel argument for an array; the kernel uses only the address of the first element. */
static PyObject *first_element_argument(PyObject *obj) {
    nl_py_array *a = (nl_py_array *)obj;
    nl_layout layout = {.ndim = 0, .itemsize = a->itemsize};
    return a->flags & NL_PY_ARRAY_C ? Py_NewRef(obj) : nl_py_devarray_view(a, a->address, &layout);
}

static int launch_step(nl_py_state *state, const nl_py_step *s, PyObject *const *arrays,
                       PyObject *stream) {
    PyObject *args[1 + NL_REDUCE_MAX_SLOTS] = {s->plan};
    nl_launch shape;
    int blocking = 1;
    for (int i = 0; i < s->slot_count; i++)
        args[1 + i] = arrays[s->slots[i]];
    if (s->launcher && !stream) {
        PyObject *done = PyObject_Vectorcall(s->launcher, args, (size_t)s->slot_count + 1, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    memcpy(&shape, &s->shape, sizeof shape); /* with padding: compared as bytes */
    if (stream && nl_py_stream_read(state, stream, &shape.stream, &blocking) < 0)
        return -1;
    return nl_py_launcher_launch((nl_py_dispatcher *)s->kernel, &shape, blocking, stream, args,
                                 s->slot_count + 1);
}

static int is_on_current_device(const nl_py_array *array) {
    nl_error ignored; /* not initialized: it is large */
    const nl_device *device = nl_device_current(&ignored);
    return array->buffer->device == device && array->buffer->generation == device->generation;
}

static PyObject *allocate_scratch(nl_py_state *state, const nl_py_scratch *s, PyObject *stream) {
    nl_element element = nl_py_hostarray_element_of_descr(s->descr);
    nl_layout layout = {.ndim = 1, .itemsize = element.itemsize, .shape = {s->count}};
    nl_layout_set_c(&layout);
    PyObject *array = nl_py_devarray_empty(state, s->descr, element, &layout);
    if (array && s->is_zeroed) {
        PyObject *done = PyObject_CallMethod(array, "_fill", "OO", state->zero_uint32,
                                             stream ? stream : Py_None);
        if (!done)
            Py_CLEAR(array);
        Py_XDECREF(done);
    }
    return array;
}

/* Returns a scratch array, cached or new. A captured launch never uses a cached scratch array,
 * because its graph may run at the same time as later calls. */
static PyObject *make_scratch(const nl_py_launches *l, const nl_py_scratch *s, PyObject *stream) {
    if (!s->is_kept || stream || nl_capture_is_any_active() || nl_py_stream_here)
        return allocate_scratch(l->state, s, stream);
    PyObject *kept = l->state->kept_scratch, *array = NULL, *key = PyLong_FromVoidPtr(l->owner);
    if (key && PyDict_GetItemRef(kept, key, &array) >= 0 &&
        !(array && is_on_current_device((nl_py_array *)array))) {
        Py_XSETREF(array, allocate_scratch(l->state, s, NULL));
        if (array && PyDict_SetItem(kept, key, array) < 0)
            Py_CLEAR(array);
    }
    Py_XDECREF(key);
    return array;
}

void nl_py_launches_release_scratch(nl_py_state *state, PyObject *owner) {
    PyObject *kept = state->kept_scratch, *key = kept ? PyLong_FromVoidPtr(owner) : NULL;
    if (key && PyDict_Contains(kept, key) == 1)
        PyDict_DelItem(kept, key);
    Py_XDECREF(key);
}

static int launch_steps(nl_py_launches *l, PyObject *const *given, PyObject *stream) {
    PyObject *arrays[NL_PY_GIVEN + NL_PY_MAX_SCRATCH];
    int count = 0, result = -1;
    while (count < NL_PY_GIVEN) {
        arrays[count] = first_element_argument(given[count]);
        if (!arrays[count])
            goto done;
        count++;
    }
    for (int i = 0; i < l->scratch_count; i++) {
        arrays[count] = make_scratch(l, &l->scratch[i], stream);
        if (!arrays[count])
            goto done;
        count++;
    }
    for (int i = 0; i < l->step_count; i++)
        if (launch_step(l->state, &l->steps[i], arrays, stream) < 0)
            goto done;
    result = 0;
done:
    while (count > 0)
        Py_DECREF(arrays[--count]);
    return result;
}

/* Adds the run of a plan to the trace as one call: the scratch arrays of the run are not part of
 * the trace. */
static int run_plan_in_trace(PyObject *plan, PyObject *const *given, PyObject *stream) {
    PyObject *args[NL_PY_GIVEN + 1] = {given[0], given[1], given[2], given[3],
                                       stream ? stream : Py_None};
    PyObject *method = PyObject_GetAttrString(plan, "run");
    PyObject *done = method ? nl_py_trace_call(method, args, NL_PY_GIVEN + 1, NULL) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- plans ---- */

static int add_launcher(nl_py_step *s) {
    s->launcher = nl_py_launcher_new((nl_py_dispatcher *)s->kernel, &s->shape, 1, NULL);
    return s->launcher ? 0 : -1;
}

/* Moves the launches to a new ReductionPlan. */
static PyObject *make_reduction_plan(nl_py_launches *l) {
    PyTypeObject *type = l->state->reduction_plan_type;
    reduction_plan *p = (reduction_plan *)type->tp_alloc(type, 0);
    if (!p)
        return NULL;
    p->launches = *l;
    l->owner = NULL;
    l->step_count = l->scratch_count = 0;
    for (int i = 0; i < p->launches.step_count; i++)
        if (add_launcher(&p->launches.steps[i]) < 0) {
            Py_DECREF(p);
            return NULL;
        }
    return (PyObject *)p;
}

int nl_py_launches_run(nl_py_launches *l, PyObject *const *given, PyObject *stream) {
    if (!nl_py_is_tracing())
        return launch_steps(l, given, stream);
    PyObject *plan = make_reduction_plan(l);
    int result = plan ? run_plan_in_trace(plan, given, stream) : -1;
    Py_XDECREF(plan);
    return result;
}

int nl_py_launches_start_step(nl_py_step *s, int64_t grid, int threads, int64_t shared) {
    memset(s, 0, sizeof *s); /* shapes are compared as bytes */
    if (grid > UINT32_MAX || shared > INT32_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "too large for a launch: %lld blocks with %lld bytes of shared memory",
                     (long long)grid, (long long)shared);
        return -1;
    }
    s->shape.grid[0] = (unsigned)grid;
    s->shape.block[0] = (unsigned)threads;
    s->shape.shared = (unsigned)shared;
    s->shape.grid[1] = s->shape.grid[2] = s->shape.block[1] = s->shape.block[2] = 1;
    return 0;
}

static int plan_traverse(PyObject *self, visitproc visit, void *arg) {
    const nl_py_launches *l = &((reduction_plan *)self)->launches;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(l->owner);
    for (int i = 0; i < l->step_count; i++) {
        Py_VISIT(l->steps[i].kernel);
        Py_VISIT(l->steps[i].launcher);
        Py_VISIT(l->steps[i].plan);
    }
    return 0;
}

/* A ReductionPlan needs no tp_clear: each reference cycle contains the cache dict of a Traced,
 * which can be cleared. */
static void plan_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    nl_py_launches_clear(&((reduction_plan *)self)->launches);
    nl_py_free_object(self);
}

static PyObject *plan_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_launches *l = &((reduction_plan *)self)->launches;
    if (nargs != NL_PY_GIVEN + 1)
        return PyErr_Format(PyExc_TypeError, "run() accepts %d arrays and a stream", NL_PY_GIVEN);
    for (int i = 0; i < NL_PY_GIVEN; i++)
        if (!nl_py_devarray_check(l->state, args[i]))
            return PyErr_Format(PyExc_TypeError, "run() accepts device arrays, not %.80s",
                                Py_TYPE(args[i])->tp_name);
    PyObject *stream = nl_py_stream_null_if_none(args[NL_PY_GIVEN]);
    int result =
        nl_py_is_tracing() ? run_plan_in_trace(self, args, stream) : launch_steps(l, args, stream);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef plan_methods[] = {{"run", (PyCFunction)(void (*)(void))plan_run, METH_FASTCALL,
                                      "run(input, where, output, segments, stream): launches. "
                                      "Arrays that the plan does not use may be any objects."},
                                     {NULL, NULL, 0, NULL}};

static PyType_Slot plan_slots[] = {
    {Py_tp_doc, "The launches of a reduction in a trace, with the scratch arrays between them. "
                "The scratch arrays are allocated for each run."},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_methods, plan_methods},
    {0, NULL}};

static PyType_Spec plan_spec = {
    .name = "numbalite._core.ReductionPlan",
    .basicsize = sizeof(reduction_plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = plan_slots,
};

static PyObject *new_zero_counter(void) {
    nl_layout scalar = {.ndim = 0, .itemsize = sizeof(uint32_t)};
    nl_host_array read;
    PyObject *descr = nl_py_hostarray_descr_of_dtype(NL_UINT32);
    PyObject *zero = descr ? nl_py_hostarray_new(descr, &scalar, NULL, NULL) : NULL;
    Py_XDECREF(descr);
    if (zero && nl_py_hostarray_read(zero, &read) == 0)
        memset(read.data, 0, sizeof(uint32_t));
    else
        Py_CLEAR(zero);
    return zero;
}

int nl_py_launches_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->kept_scratch = PyDict_New();
    state->zero_uint32 = new_zero_counter();
    return !state->kept_scratch || !state->zero_uint32
               ? -1
               : nl_py_state_add_type(module, &plan_spec, NULL, &state->reduction_plan_type);
}
