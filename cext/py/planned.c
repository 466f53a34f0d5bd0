/* py/planned: calls of a CUDA library that need a plan: one for each thread, device and stream.
 *
 * A plan has a work area, so two streams never share one, and is used by one thread at a time. Each
 * thread keeps those it used last. A stream is known by its number: a plan does not keep it. */
#include "core/capture.h"
#include "core/device.h"
#include "py/stream.h"

enum { MOST_KEPT = 64, MOST_ARGUMENTS = 8 };

/* What plans are made for: Python says how. */
typedef struct planned {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *what;
    PyObject *make;             /* make(what, stream) -> plan */
    PyObject *functions, *name; /* functions[name](stream, plan, ...) -> status */
    PyObject *captured;         /* the same while something is being captured */
    PyObject *fail;             /* fail(status) raises */
    PyObject *weakrefs;
} planned;

typedef struct place {
    int device;
    uint64_t generation;
    CUstream stream;
} place;

typedef struct kept_plan {
    PyObject *of, *plan;
    place at;
    uint64_t used;
} kept_plan;

/* Those of a thread. */
typedef struct plans {
    PyObject_HEAD int count, last;
    uint64_t clock;
    kept_plan all[MOST_KEPT];
} plans;

/* ---- those of a thread ---- */

/* Borrowed; NULL with an exception. */
static plans *plans_here(const nl_py_state *state) {
    PyObject *of_thread = PyThreadState_GetDict(), *key = (PyObject *)state->plans_type;
    PyObject *found = of_thread ? PyDict_GetItemWithError(of_thread, key) : NULL;
    if (found)
        return (plans *)found;
    if (PyErr_Occurred())
        return NULL;
    if (!of_thread) {
        PyErr_SetString(PyExc_RuntimeError, "this thread cannot keep anything");
        return NULL;
    }
    found = state->plans_type->tp_alloc(state->plans_type, 0);
    if (found && PyDict_SetItem(of_thread, key, found) < 0)
        Py_CLEAR(found);
    Py_XDECREF(found);
    return (plans *)found;
}

static int is_at(const kept_plan *k, const planned *of, const place *at) {
    return k->of == (PyObject *)of && k->at.stream == at->stream && k->at.device == at->device &&
           k->at.generation == at->generation;
}

/* New reference; NULL, without an exception, if there is none. */
static PyObject *find_plan(plans *p, const planned *of, const place *at) {
    for (int i = 0; i < p->count; i++) {
        kept_plan *k = &p->all[(p->last + i) % p->count];
        if (!is_at(k, of, at))
            continue;
        p->last = (int)(k - p->all);
        k->used = ++p->clock;
        return Py_NewRef(k->plan);
    }
    return NULL;
}

static kept_plan *least_used(plans *p) {
    kept_plan *least = &p->all[0];
    for (int i = 1; i < p->count; i++)
        if (p->all[i].used < least->used)
            least = &p->all[i];
    return least;
}

static void keep_plan(plans *p, const planned *of, const place *at, PyObject *plan) {
    kept_plan *k = p->count < MOST_KEPT ? &p->all[p->count++] : least_used(p), old = *k;
    *k = (kept_plan){Py_NewRef((PyObject *)of), Py_NewRef(plan), *at, ++p->clock};
    p->last = (int)(k - p->all);
    Py_XDECREF(old.plan);
    Py_XDECREF(old.of);
}

static int read_place(nl_py_state *state, PyObject *stream, place *at) {
    nl_error err; /* the device is only asked for: it is not used (nl_device_uses) */
    if (nl_py_stream_number(state, stream, &at->stream) < 0)
        return -1;
    const nl_device *dev = nl_device_get(nl_device_selected(), &err);
    if (!dev) {
        nl_py_raise(&err);
        return -1;
    }
    at->device = dev->ordinal;
    at->generation = nl_atomic_load(&dev->generation);
    return 0;
}

/* New reference. */
static PyObject *plan_for(const planned *self, PyObject *stream) {
    place at;
    plans *here = plans_here(self->state);
    if (!here || read_place(self->state, stream, &at) < 0)
        return NULL;
    PyObject *plan = find_plan(here, self, &at);
    if (plan)
        return plan;
    plan = PyObject_CallFunctionObjArgs(self->make, self->what, stream, NULL);
    if (plan)
        keep_plan(here, self, &at, plan);
    return plan;
}

static void clear_plans(plans *p) {
    while (p->count > 0) { /* what goes may come back here */
        kept_plan k = p->all[--p->count];
        p->all[p->count] = (kept_plan){0};
        p->last = 0;
        Py_XDECREF(k.plan);
        Py_XDECREF(k.of);
    }
}

static void plans_dealloc(PyObject *self) {
    clear_plans((plans *)self);
    nl_py_free(self);
}

static PyType_Slot plans_slots[] = {
    {Py_tp_doc, "The plans of a thread."}, {Py_tp_dealloc, plans_dealloc}, {0, NULL}};
static PyType_Spec plans_spec = {
    .name = "numbalite._core.Plans",
    .basicsize = sizeof(plans),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = plans_slots,
};

/* ---- calls ---- */

/* New reference. */
static PyObject *function_of(const planned *self) {
    if (nl_capture_under_way())
        return Py_NewRef(self->captured);
    PyObject *found = PyDict_GetItemWithError(self->functions, self->name);
    if (!found && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, self->name);
    return Py_XNewRef(found);
}

/* None where the call's status says that all is well. */
static PyObject *checked(const planned *self, PyObject *status) {
    long code = status ? PyLong_AsLong(status) : -1;
    PyObject *result = NULL;
    if (code == 0)
        result = Py_NewRef(Py_None);
    else if (!PyErr_Occurred())
        result = PyObject_CallFunctionObjArgs(self->fail, status, NULL);
    Py_XDECREF(status);
    return result;
}

static PyObject *planned_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                    PyObject *names) {
    const planned *self = (planned *)object;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *given[MOST_ARGUMENTS + 1];
    if (names || count < 1 || count > MOST_ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "a planned call takes a stream and up to %d arguments",
                            MOST_ARGUMENTS - 1);
    PyObject *plan = plan_for(self, args[0]);
    if (!plan)
        return NULL;
    given[0] = args[0];
    given[1] = plan;
    for (Py_ssize_t i = 1; i < count; i++)
        given[1 + i] = args[i];
    PyObject *function = function_of(self), *status = NULL;
    if (function)
        status = PyObject_Vectorcall(function, given, (size_t)count + 1, NULL);
    Py_XDECREF(function);
    Py_DECREF(plan);
    return checked(self, status);
}

static PyObject *planned_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"what", "make", "functions", "name", "captured", "fail", NULL};
    PyObject *what, *make, *functions, *name, *captured, *fail;
    nl_py_state *state = nl_py_state_of_type(type);
    if (!state ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "OOO!OOO:Planned", names, &what, &make,
                                     &PyDict_Type, &functions, &name, &captured, &fail))
        return NULL;
    planned *self = (planned *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->vectorcall = planned_vectorcall;
    self->state = state;
    self->what = Py_NewRef(what);
    self->make = Py_NewRef(make);
    self->functions = Py_NewRef(functions);
    self->name = Py_NewRef(name);
    self->captured = Py_NewRef(captured);
    self->fail = Py_NewRef(fail);
    return (PyObject *)self;
}

static void planned_dealloc(PyObject *object) {
    planned *self = (planned *)object;
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    Py_CLEAR(self->what);
    Py_CLEAR(self->make);
    Py_CLEAR(self->functions);
    Py_CLEAR(self->name);
    Py_CLEAR(self->captured);
    Py_CLEAR(self->fail);
    nl_py_free(object);
}

static PyMemberDef planned_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(planned, vectorcall), Py_READONLY, NULL},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(planned, weakrefs), Py_READONLY, NULL},
    {"what", Py_T_OBJECT_EX, offsetof(planned, what), Py_READONLY, "What the plans are for."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot planned_slots[] = {
    {Py_tp_doc,
     "Planned(what, make, functions, name, captured, fail): a call of a CUDA library that needs a "
     "plan. planned(stream, ...) is functions[name](stream, plan, ...), or captured(stream, plan, "
     "...) while a graph is being captured: both return the library's status, and fail(status) "
     "raises. "
     "make(what, stream) makes the plan for the calling thread, the current device and the stream, "
     "once; each thread keeps the 64 it used last."},
    {Py_tp_new, planned_new},
    {Py_tp_dealloc, planned_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, planned_members},
    {0, NULL}};

static PyType_Spec planned_spec = {
    .name = "numbalite._core.Planned",
    .basicsize = sizeof(planned),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = planned_slots,
};

static PyObject *thread_plans(PyObject *module, PyObject *Py_UNUSED(unused)) {
    const plans *here = plans_here(nl_py_state_of(module));
    PyObject *list = here ? PyList_New(here->count) : NULL;
    for (int i = 0; list && i < here->count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(here->all[i].plan));
    return list;
}

static PyObject *thread_plans_clear(PyObject *module, PyObject *Py_UNUSED(unused)) {
    plans *here = plans_here(nl_py_state_of(module));
    if (!here)
        return NULL;
    clear_plans(here);
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {{"thread_plans", thread_plans, METH_NOARGS,
                                   "thread_plans(): the plans that the calling thread keeps."},
                                  {"thread_plans_clear", thread_plans_clear, METH_NOARGS,
                                   "thread_plans_clear(): the calling thread keeps none any more."},
                                  {NULL, NULL, 0, NULL}};

int nl_py_planned_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_add_type(module, &plans_spec, NULL, &state->plans_type) < 0 ||
        nl_py_add_type(module, &planned_spec, NULL, &state->planned_type) < 0)
        return -1;
    return nl_py_add_functions(module, functions);
}
