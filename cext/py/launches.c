/* py/launches: see launches.h. The type ReductionPlan contains launches that run several times:
 * those of a selection, and of a reduction in a trace. */
#include "py/launches.h"

#include <string.h>
#include "core/device.h"
#include "py/capture.h"
#include "py/devarray.h"
#include "py/launcher.h"
#include "py/recording.h"
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

/* Returns an argument for an array of which only the address of its first element is used. */
static PyObject *first_of(PyObject *obj) {
    nl_py_array *a = (nl_py_array *)obj;
    nl_layout layout = {.ndim = 0, .itemsize = a->itemsize};
    return a->flags & NL_PY_ARRAY_C ? Py_NewRef(obj) : nl_py_array_view(a, a->address, &layout);
}

static int launch(nl_py_state *state, const nl_py_step *s, PyObject *const *arrays,
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
    return nl_py_launch((nl_py_dispatcher *)s->kernel, &shape, blocking, stream, args,
                        s->slot_count + 1);
}

static int is_current(const nl_py_array *array) {
    nl_error ignored = {0};
    const nl_device *device = nl_device_current(&ignored);
    return array->buffer->device == device && array->buffer->generation == device->generation;
}

static PyObject *new_scratch(nl_py_state *state, const nl_py_scratch *s, PyObject *stream) {
    nl_element element = nl_host_element(s->descr);
    nl_layout layout = {.ndim = 1, .itemsize = element.itemsize, .shape = {s->count}};
    nl_layout_set_c(&layout);
    PyObject *array = nl_py_array_empty(state, s->descr, element, &layout);
    if (array && s->is_zeroed) {
        PyObject *done = PyObject_CallMethod(array, "_fill", "OO", state->zero_uint32,
                                             stream ? stream : Py_None);
        if (!done)
            Py_CLEAR(array);
        Py_XDECREF(done);
    }
    return array;
}

/* Returns a scratch array. A captured launch never uses a kept one: its graph may run at the same
 * time as later calls. */
static PyObject *make_scratch(const nl_py_launches *l, const nl_py_scratch *s, PyObject *stream) {
    if (!s->is_kept || stream || nl_capture_under_way() || nl_py_stream_here)
        return new_scratch(l->state, s, stream);
    PyObject *kept = l->state->kept_scratch, *array = NULL, *key = PyLong_FromVoidPtr(l->owner);
    if (key && PyDict_GetItemRef(kept, key, &array) >= 0 &&
        !(array && is_current((nl_py_array *)array))) {
        Py_XSETREF(array, new_scratch(l->state, s, NULL));
        if (array && PyDict_SetItem(kept, key, array) < 0)
            Py_CLEAR(array);
    }
    Py_XDECREF(key);
    return array;
}

void nl_py_launches_forget(nl_py_state *state, PyObject *owner) {
    PyObject *kept = state->kept_scratch, *key = kept ? PyLong_FromVoidPtr(owner) : NULL;
    if (key && PyDict_Contains(kept, key) == 1)
        PyDict_DelItem(kept, key);
    Py_XDECREF(key);
}

static int launch_all(nl_py_launches *l, PyObject *const *given, PyObject *stream) {
    PyObject *arrays[NL_PY_GIVEN + NL_PY_MAX_SCRATCH];
    int count = 0, result = -1;
    while (count < NL_PY_GIVEN) {
        arrays[count] = first_of(given[count]);
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
        if (launch(l->state, &l->steps[i], arrays, stream) < 0)
            goto done;
    result = 0;
done:
    while (count > 0)
        Py_DECREF(arrays[--count]);
    return result;
}

/* Records the run of a plan as one call of the trace: its scratch arrays are not part of the
 * trace. */
static int run_recorded(PyObject *plan, PyObject *const *given, PyObject *stream) {
    PyObject *args[NL_PY_GIVEN + 1] = {given[0], given[1], given[2], given[3],
                                       stream ? stream : Py_None};
    PyObject *method = PyObject_GetAttrString(plan, "run");
    PyObject *done = method ? nl_py_record_call(method, args, NL_PY_GIVEN + 1, NULL) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- plans ---- */

static int add_launcher(nl_py_step *s) {
    s->launcher = nl_py_launcher_new((nl_py_dispatcher *)s->kernel, &s->shape, 1, NULL);
    return s->launcher ? 0 : -1;
}

/* Moves the launches to a new plan. */
static PyObject *plan_of(nl_py_launches *l) {
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
    if (!nl_py_is_recording())
        return launch_all(l, given, stream);
    PyObject *plan = plan_of(l);
    int result = plan ? run_recorded(plan, given, stream) : -1;
    Py_XDECREF(plan);
    return result;
}

static int read_slots(PyObject *obj, int most, nl_py_step *s) {
    if (!PyTuple_Check(obj) || PyTuple_GET_SIZE(obj) > NL_REDUCE_MAX_SLOTS)
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
        PyErr_Format(PyExc_ValueError, "a step has at most %d slots, below %d", NL_REDUCE_MAX_SLOTS,
                     most);
    return -1;
}

int nl_py_launches_start_step(nl_py_step *s, int64_t grid, int threads, int64_t shared) {
    memset(s, 0, sizeof *s); /* shapes are compared as bytes */
    if (grid > UINT32_MAX || shared > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "a launch of %lld blocks with %lld bytes of shared memory",
                     (long long)grid, (long long)shared);
        return -1;
    }
    s->shape.grid[0] = (unsigned)grid;
    s->shape.block[0] = (unsigned)threads;
    s->shape.shared = (unsigned)shared;
    s->shape.grid[1] = s->shape.grid[2] = s->shape.block[1] = s->shape.block[2] = 1;
    return 0;
}

static int add_step(nl_py_launches *l, PyObject *obj) {
    nl_py_step *s = &l->steps[l->step_count];
    PyObject *kernel, *plan, *slots;
    long long grid;
    int threads;
    if (!PyArg_ParseTuple(obj, "O!LiOO;a step has five items", l->state->dispatcher_type, &kernel,
                          &grid, &threads, &plan, &slots) ||
        nl_py_launches_start_step(s, grid, threads, 0) < 0 ||
        read_slots(slots, NL_PY_GIVEN + l->scratch_count, s) < 0)
        return -1;
    s->kernel = Py_NewRef(kernel);
    s->plan = Py_NewRef(plan);
    l->step_count++;
    return add_launcher(s);
}

static int add_scratch(nl_py_launches *l, PyObject *obj) {
    nl_py_scratch *s = &l->scratch[l->scratch_count];
    long long count;
    PyObject *dtype;
    *s = (nl_py_scratch){0};
    if (!PyArg_ParseTuple(obj, "LOp;a scratch array has three items", &count, &dtype,
                          &s->is_zeroed))
        return -1;
    if (!nl_host_is_descr(dtype) || count < 0 ||
        (s->is_zeroed && nl_host_element(dtype).dtype != NL_UINT32)) {
        PyErr_SetString(PyExc_TypeError,
                        "a scratch array is (count, numpy.dtype, is it zeroed uint32)");
        return -1;
    }
    s->count = count;
    s->descr = Py_NewRef(dtype);
    l->scratch_count++;
    return 0;
}

static int add_all(nl_py_launches *l, PyObject *items, int most,
                   int (*add)(nl_py_launches *, PyObject *)) {
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
        if (add(l, item) < 0)
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
    nl_py_launches_init(&p->launches, state, NULL);
    if (add_all(&p->launches, scratches, NL_PY_MAX_SCRATCH, add_scratch) < 0 ||
        add_all(&p->launches, steps, NL_PY_MAX_STEPS, add_step) < 0)
        Py_CLEAR(p);
    return (PyObject *)p;
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

/* No tp_clear: each reference cycle contains the cache dict of a Recorded, which can be cleared. */
static void plan_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    nl_py_launches_clear(&((reduction_plan *)self)->launches);
    nl_py_free(self);
}

static PyObject *plan_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_launches *l = &((reduction_plan *)self)->launches;
    if (nargs != NL_PY_GIVEN + 1)
        return PyErr_Format(PyExc_TypeError, "run() accepts %d arrays and a stream", NL_PY_GIVEN);
    for (int i = 0; i < NL_PY_GIVEN; i++)
        if (!nl_py_array_check(l->state, args[i]))
            return PyErr_Format(PyExc_TypeError, "run() accepts device arrays, not %.80s",
                                Py_TYPE(args[i])->tp_name);
    PyObject *stream = nl_py_stream_or_null(args[NL_PY_GIVEN]);
    int result =
        nl_py_is_recording() ? run_recorded(self, args, stream) : launch_all(l, args, stream);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef plan_methods[] = {
    {"run", (PyCFunction)(void (*)(void))plan_run, METH_FASTCALL,
     "run(input, where, output, segments, stream): launches; arrays that the plan does not use may "
     "be any."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot plan_slots[] = {
    {Py_tp_doc,
     "ReductionPlan(steps, scratch): launches that select from an array or reduce it. A step is "
     "(Dispatcher, grid, block, plan of the kernel, slots): a slot is 0 for the input, 1 the mask, "
     "2 the output, 3 the segments, from 4 on the scratch arrays, which are given as (count, "
     "dtype, is it zeroed before each run) and made for each run."},
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

static PyObject *new_zero(void) {
    nl_layout scalar = {.ndim = 0, .itemsize = sizeof(uint32_t)};
    nl_host_array read;
    PyObject *descr = nl_host_descr_plain(NL_UINT32);
    PyObject *zero = descr ? nl_host_array_new(descr, &scalar, NULL, NULL) : NULL;
    Py_XDECREF(descr);
    if (zero && nl_host_array_read(zero, &read) == 0)
        memset(read.data, 0, sizeof(uint32_t));
    else
        Py_CLEAR(zero);
    return zero;
}

int nl_py_launches_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->kept_scratch = PyDict_New();
    state->zero_uint32 = new_zero();
    return !state->kept_scratch || !state->zero_uint32
               ? -1
               : nl_py_add_type(module, &plan_spec, NULL, &state->reduction_plan_type);
}
