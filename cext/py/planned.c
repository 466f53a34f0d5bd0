/* py/planned: makes calls of CUDA libraries that need a plan, such as cuFFT's. Each thread, device
 * and stream has its own plan.
 *
 * Each thread has a hash table of its plans, and destroys the least recently used plan when the
 * table is full. Plans of one thread, device and stream run one after another, so they share a work
 * area, whose size is the maximum of their requirements. A plan stores the address of the work area
 * that was last passed to the library; if the work area has been reallocated, its new address is
 * passed before the next call. Work areas are never shared between threads or streams. A captured
 * call uses a work area of its graph (py/workspace). A plan identifies its stream by the stream's
 * number and holds no reference to it. */
#include "base/mem.h"
#include "core/capture.h"
#include "core/device.h"
#include "py/stream.h"
#include "py/workspace.h"

enum { MAX_PLANS = 4096, BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS, MAX_ARGUMENTS = 8 };
/* Maximum total size in bytes of each thread's work areas; a single call may exceed it. Tests
 * change this variable. */
static uint64_t max_area_bytes = UINT64_C(1) << 30;

/* The callable: a library function that needs a plan. The Python function `make` creates the plan
 * of each thread, device and stream. */
typedef struct planned {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *what;
    PyObject *make;      /* make(what, stream) -> plan and the size of its work area */
    PyObject *functions; /* functions[name](stream, plan, ...) -> status */
    PyObject *name;
    PyObject *set_area; /* functions[set_area](stream, plan, area) -> status */
    PyObject *captured; /* captured(stream, plan, ...) -> status, called while any stream is being
                         * captured */
    PyObject *fail;     /* fail(name, status) raises */
    PyObject *weakrefs;
} planned;

typedef struct location {
    int device;
    uint64_t generation;
    CUstream stream;
} location;

/* The work area that all plans of a location (thread, device and stream) share. */
typedef struct work_area {
    location at;
    PyObject *memory; /* a device array, or NULL */
    int plans;        /* number of plans that use this work area */
    uint64_t used;
    struct work_area *next;
} work_area;

typedef struct entry {
    int references; /* number of references from the table and from calls in progress */
    PyObject *of, *plan;
    size_t needs;         /* required bytes of work area */
    CUdeviceptr area_set; /* address of the work area that was last passed to the library for this
                           * plan */
    work_area *area;
    struct entry *next; /* in the bucket */
    struct entry *newer, *older;
} entry;

/* The plans of a thread. */
typedef struct plans {
    PyObject_HEAD int count;
    uint64_t clock;
    entry *newest, *oldest;
    work_area *areas;
    PyObject *retained; /* dict from an address to the plan or work area at this address, which a
                         * graph of another library uses */
    entry *buckets[BUCKETS];
} plans;

/* Returns a borrowed reference to the plans of the calling thread, or NULL with an exception. */
static plans *plans_of_thread(const nl_py_state *state) {
    PyObject *of_thread = PyThreadState_GetDict(), *key = (PyObject *)state->plans_type;
    PyObject *found = of_thread ? PyDict_GetItemWithError(of_thread, key) : NULL;
    if (found)
        return (plans *)found;
    if (PyErr_Occurred())
        return NULL;
    if (!of_thread) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the thread state has no dictionary in which to store plans");
        return NULL;
    }
    found = state->plans_type->tp_alloc(state->plans_type, 0);
    if (found && PyDict_SetItem(of_thread, key, found) < 0)
        Py_CLEAR(found);
    Py_XDECREF(found);
    return (plans *)found;
}

static int read_location(nl_py_state *state, PyObject *stream, location *at) {
    nl_error err; /* nl_device_bind does not count as a device use (nl_device_count_uses) */
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

static int equals_location(const location *a, const location *b) {
    return a->stream == b->stream && a->device == b->device && a->generation == b->generation;
}

/* ---- work areas ---- */

/* Returns the work area of a location; creates the work area if necessary. Returns NULL with an
 * exception. */
static work_area *get_area_at(plans *p, const location *at) {
    nl_error err;
    for (work_area *a = p->areas; a; a = a->next)
        if (equals_location(&a->at, at))
            return a;
    work_area *made = nl_mem_zalloc(sizeof *made, &err);
    if (!made) {
        nl_py_raise(&err);
        return NULL;
    }
    made->at = *at;
    made->next = p->areas;
    p->areas = made;
    return made;
}

/* Frees a work area that no plan uses any more. */
static void release_area(plans *p, work_area *area) {
    work_area **link = &p->areas;
    if (area->plans > 0)
        return;
    while (*link != area)
        link = &(*link)->next;
    *link = area->next;
    Py_XDECREF(area->memory);
    nl_mem_free(area);
}

static size_t work_area_size(const work_area *area) {
    return area->memory ? (size_t)((nl_py_array *)area->memory)->shape[0] : 0;
}

static work_area *find_least_used_area(plans *p, const work_area *except) {
    work_area *least = NULL;
    for (work_area *a = p->areas; a; a = a->next)
        if (a != except && a->memory && (!least || a->used < least->used))
            least = a;
    return least;
}

/* Frees the memory of other locations' work areas, the least recently used first, until the total
 * size is within max_area_bytes. */
static void limit_areas(plans *p, const work_area *except) {
    size_t total = 0;
    for (const work_area *a = p->areas; a; a = a->next)
        total += work_area_size(a);
    while (total > nl_atomic_load(&max_area_bytes)) {
        work_area *least = find_least_used_area(p, except);
        if (!least)
            return;
        total -= work_area_size(least);
        Py_CLEAR(least->memory);
    }
}

/* Replaces the memory of the work area by larger memory. The smaller memory is released first, so
 * that the larger allocation may reuse it. Pending work may still use the smaller memory, because
 * memory is released in the stream's order. */
static int replace_by_larger_area(nl_py_state *state, plans *p, work_area *area, size_t size) {
    Py_CLEAR(area->memory);
    PyObject *made = nl_py_workspace_new(state, size);
    if (!made)
        return -1;
    Py_XSETREF(area->memory, made);
    limit_areas(p, area);
    return 0;
}

/* Returns the work area for a call: the work area of the graph if the stream is being captured,
 * otherwise the work area that all calls in this stream share. Returns a new reference. */
static PyObject *get_area_for_call(nl_py_state *state, plans *p, const entry *e, CUstream stream) {
    if (nl_capture_is_any_active()) {
        PyObject *of_graph = nl_py_workspace_of_graph(stream, e->needs);
        if (of_graph != Py_None)
            return of_graph;
        Py_DECREF(of_graph);
    }
    e->area->used = ++p->clock;
    if (work_area_size(e->area) < e->needs &&
        replace_by_larger_area(state, p, e->area, e->needs) < 0)
        return NULL;
    return Py_NewRef(e->area->memory);
}

/* ---- the table ---- */

static entry **find_bucket(plans *p, const planned *of, const location *at) {
    uint64_t hash = (uint64_t)(uintptr_t)of;
    hash = (hash ^ (uint64_t)(uintptr_t)at->stream) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ (hash >> 32) ^ at->generation ^ ((uint64_t)at->device << 20)) *
           UINT64_C(0xD6E8FEB86659FD93);
    return &p->buckets[hash >> (64 - BUCKET_BITS)];
}

static void unlink_from_age_list(plans *p, entry *e) {
    *(e->newer ? &e->newer->older : &p->newest) = e->older;
    *(e->older ? &e->older->newer : &p->oldest) = e->newer;
}

static void link_as_newest(plans *p, entry *e) {
    e->newer = NULL;
    e->older = p->newest;
    *(p->newest ? &p->newest->newer : &p->oldest) = e;
    p->newest = e;
}

/* Returns a borrowed reference to the thread's plan for a call at this location, or NULL without an
 * exception if the thread has no plan for the call. */
static entry *find_entry(plans *p, const planned *of, const location *at) {
    entry *e = *find_bucket(p, of, at);
    while (e && !(e->of == (PyObject *)of && equals_location(&e->area->at, at)))
        e = e->next;
    if (e && e != p->newest) {
        unlink_from_age_list(p, e);
        link_as_newest(p, e);
    }
    return e;
}

static void release_entry(plans *p, entry *e) {
    if (--e->references > 0)
        return;
    e->area->plans--;
    release_area(p, e->area);
    Py_XDECREF(e->plan);
    Py_XDECREF(e->of);
    nl_mem_free(e);
}

static void remove_entry(plans *p, entry *e) {
    entry **link = find_bucket(p, (planned *)e->of, &e->area->at);
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    unlink_from_age_list(p, e);
    p->count--;
    release_entry(p, e);
}

/* Adds a plan to the thread's table. Returns a borrowed reference to its entry, or NULL with an
 * exception. */
static entry *add_entry(plans *p, const planned *of, const location *at, PyObject *plan,
                        size_t needs) {
    nl_error err;
    work_area *area = get_area_at(p, at);
    entry *made = area ? nl_mem_zalloc(sizeof *made, &err) : NULL;
    if (!made) {
        if (area) {
            nl_py_raise(&err);
            release_area(p, area);
        }
        return NULL;
    }
    entry **bucket = find_bucket(p, of, at);
    *made = (entry){.references = 1,
                    .of = Py_NewRef((PyObject *)of),
                    .plan = Py_NewRef(plan),
                    .needs = needs,
                    .area = area,
                    .next = *bucket};
    *bucket = made;
    area->plans++;
    link_as_newest(p, made);
    p->count++;
    while (p->count > MAX_PLANS)
        remove_entry(p, p->oldest);
    return made;
}

/* Creates a plan with `make` and adds it to the thread's table. Returns a borrowed reference to its
 * entry, or NULL with an exception. */
static entry *make_entry(plans *p, const planned *self, PyObject *stream, const location *at) {
    PyObject *plan;
    Py_ssize_t needs;
    PyObject *made = PyObject_CallFunctionObjArgs(self->make, self->what, stream, NULL);
    entry *e = NULL;
    if (made && PyArg_ParseTuple(made, "On:make", &plan, &needs)) {
        /* the call of `make` may have called this object, which has then already added a plan */
        e = find_entry(p, self, at);
        if (!e)
            e = add_entry(p, self, at, plan, needs > 0 ? (size_t)needs : 0);
    }
    Py_XDECREF(made);
    return e;
}

static void clear_plans(plans *p) {
    while (p->oldest)
        remove_entry(p, p->oldest);
}

static void plans_dealloc(PyObject *self) {
    clear_plans((plans *)self);
    Py_CLEAR(((plans *)self)->retained);
    nl_py_free_object(self);
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

/* Returns a new reference to the function of this name in self->functions, or NULL with an
 * exception. */
static PyObject *find_function(const planned *self, PyObject *name) {
    PyObject *found = PyDict_GetItemWithError(self->functions, name);
    if (!found && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return Py_XNewRef(found);
}

/* Keeps an object alive as long as the thread: the graph of another library, which captures the
 * call, does not own the objects that the call uses. */
static int retain_object(plans *p, PyObject *object) {
    if (!p->retained)
        p->retained = PyDict_New();
    PyObject *key = p->retained ? PyLong_FromVoidPtr(object) : NULL;
    int result = key ? PyDict_SetItem(p->retained, key, object) : -1;
    Py_XDECREF(key);
    return result;
}

/* Returns None if the call's status is 0, else calls self->fail, which raises an exception. Steals
 * the reference to `status`. */
static PyObject *check_call_status(const planned *self, PyObject *name, PyObject *status) {
    long code = status ? PyLong_AsLong(status) : -1;
    PyObject *result = NULL;
    if (code == 0)
        result = Py_NewRef(Py_None);
    else if (!PyErr_Occurred())
        result = PyObject_CallFunctionObjArgs(self->fail, name, status, NULL);
    Py_XDECREF(status);
    return result;
}

static int set_area(const planned *self, entry *e, PyObject *stream, PyObject *area) {
    PyObject *function = find_function(self, self->set_area), *done;
    if (!function)
        return -1;
    e->area_set = 0;
    done = check_call_status(self, self->set_area,
                             PyObject_CallFunctionObjArgs(function, stream, e->plan, area, NULL));
    Py_DECREF(function);
    if (!done)
        return -1;
    e->area_set = ((nl_py_array *)area)->address;
    Py_DECREF(done);
    return 0;
}

/* Sets the plan's work area, and orders the work area's memory with the stream. *area is a new
 * reference, or NULL if the plan needs no work area. 0, or -1 with an exception. */
static int set_plan_area(const planned *self, plans *p, entry *e, PyObject *argument,
                         PyObject **area) {
    CUstream stream;
    int blocking;
    nl_error err;
    if (e->needs == 0)
        return 0;
    if (nl_py_stream_from_argument(self->state, argument, &stream, &blocking) < 0)
        return -1;
    *area = get_area_for_call(self->state, p, e, stream);
    if (!*area)
        return -1;
    if (((nl_py_array *)*area)->address != e->area_set && set_area(self, e, argument, *area) < 0)
        return -1;
    if (nl_py_devarray_order_with_stream((nl_py_array *)*area, stream, blocking, &err) == 0)
        return 0;
    nl_py_raise(&err);
    return -1;
}

static PyObject *execute_plan(const planned *self, plans *p, entry *e, PyObject *const *args,
                              Py_ssize_t count) {
    PyObject *given[MAX_ARGUMENTS + 1], *area = NULL, *result = NULL;
    PyObject *function =
        nl_capture_is_any_active() ? Py_NewRef(self->captured) : find_function(self, self->name);
    given[0] = args[0];
    given[1] = e->plan;
    for (Py_ssize_t i = 1; i < count; i++)
        given[1 + i] = args[i];
    int status = function ? set_plan_area(self, p, e, args[0], &area) : -1;
    if (status == 0 && nl_capture_is_foreign)
        status = retain_object(p, e->plan) < 0 || (area && retain_object(p, area) < 0) ? -1 : 0;
    if (status == 0)
        result = check_call_status(self, self->name,
                                   PyObject_Vectorcall(function, given, (size_t)count + 1, NULL));
    Py_XDECREF(function);
    Py_XDECREF(area);
    return result;
}

static PyObject *planned_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                    PyObject *names) {
    const planned *self = (planned *)object;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    location at;
    if (names || count < 1 || count > MAX_ARGUMENTS)
        return PyErr_Format(PyExc_TypeError,
                            "a planned call accepts a stream and up to %d arguments",
                            MAX_ARGUMENTS - 1);
    plans *here = plans_of_thread(self->state);
    if (!here || read_location(self->state, args[0], &at) < 0)
        return NULL;
    entry *e = find_entry(here, self, &at);
    if (!e)
        e = make_entry(here, self, args[0], &at);
    if (!e)
        return NULL;
    e->references++;
    PyObject *result = execute_plan(self, here, e, args, count);
    release_entry(here, e);
    return result;
}

static PyObject *planned_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"what",     "make",     "functions", "name",
                            "set_area", "captured", "fail",      NULL};
    PyObject *what, *make, *functions, *name, *area, *captured, *fail;
    nl_py_state *state = nl_py_state_of_type(type);
    if (!state ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "OOO!OOOO:Planned", names, &what, &make,
                                     &PyDict_Type, &functions, &name, &area, &captured, &fail))
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
    self->set_area = Py_NewRef(area);
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
    Py_CLEAR(self->set_area);
    Py_CLEAR(self->captured);
    Py_CLEAR(self->fail);
    nl_py_free_object(object);
}

static PyMemberDef planned_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(planned, vectorcall), Py_READONLY, NULL},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(planned, weakrefs), Py_READONLY, NULL},
    {"what", Py_T_OBJECT_EX, offsetof(planned, what), Py_READONLY, "What the plans are for."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot planned_slots[] = {
    {Py_tp_doc, "Planned(what, make, functions, name, set_area, captured, fail): "
                "a call of a CUDA library that needs a plan. "
                "planned(stream, ...) calls functions[name](stream, plan, ...), "
                "or captured(stream, plan, ...) while a graph is being captured. "
                "functions[name] and captured return the library's status; for an error, "
                "fail(name, status) raises an exception. "
                "make(what, stream) returns the plan for the calling thread, the current device "
                "and the stream, and the size of its work area in bytes. "
                "Each thread caches the 4096 plans that it used last. "
                "Plans of one thread, device and stream share a work area: "
                "functions[set_area](stream, plan, area) passes its address to the library."},
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
    const plans *here = plans_of_thread(nl_py_state_of(module));
    PyObject *list = here ? PyList_New(here->count) : NULL;
    const entry *e = here ? here->oldest : NULL;
    for (Py_ssize_t i = 0; list && e; i++, e = e->newer)
        PyList_SET_ITEM(list, i, Py_NewRef(e->plan));
    return list;
}

static PyObject *thread_work_areas(PyObject *module, PyObject *Py_UNUSED(unused)) {
    const plans *here = plans_of_thread(nl_py_state_of(module));
    PyObject *list = here ? PyList_New(0) : NULL;
    for (const work_area *a = here ? here->areas : NULL; list && a; a = a->next)
        if (a->memory && PyList_Append(list, a->memory) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *limit_work_areas(PyObject *Py_UNUSED(module), PyObject *argument) {
    size_t size = PyLong_AsSize_t(argument), before = (size_t)nl_atomic_load(&max_area_bytes);
    if (size == (size_t)-1 && PyErr_Occurred())
        return NULL;
    nl_atomic_store(&max_area_bytes, size);
    return PyLong_FromSize_t(before);
}

static PyObject *thread_plans_clear(PyObject *module, PyObject *Py_UNUSED(unused)) {
    plans *here = plans_of_thread(nl_py_state_of(module));
    if (!here)
        return NULL;
    clear_plans(here);
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"thread_plans", thread_plans, METH_NOARGS,
     "thread_plans(): returns the plans that the thread caches, the most recently used last."},
    {"thread_work_areas", thread_work_areas, METH_NOARGS,
     "thread_work_areas(): returns the work areas of the thread's plans, as device arrays."},
    {"limit_work_areas", limit_work_areas, METH_O,
     "limit_work_areas(size): "
     "sets the maximum size in bytes of the work areas that each thread keeps between calls. "
     "The initial limit is 1 GiB. Returns the previous limit."},
    {"thread_plans_clear", thread_plans_clear, METH_NOARGS,
     "thread_plans_clear(): releases the calling thread's plans and work areas."},
    {NULL, NULL, 0, NULL}};

int nl_py_planned_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_state_add_type(module, &plans_spec, NULL, &state->plans_type) < 0 ||
        nl_py_state_add_type(module, &planned_spec, NULL, &state->planned_type) < 0)
        return -1;
    return nl_py_state_add_functions(module, functions);
}
