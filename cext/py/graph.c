/* py/graph: Graph and CapturedLaunch.
 *
 * A Graph begins its capture when it is made and is referred to by the capture until that ends, so
 * it cannot go before. It keeps all that captured work uses: buffers in the core's graph, here
 * kernels, host arrays and the arguments of launches (other libraries' arrays are among them). New
 * arguments of a launch take the place of the old ones when the driver has accepted them. */
#include "py/graph.h"

#include <string.h>
#include "base/mem.h"
#include "py/argument.h"
#include "py/callback.h"
#include "py/devarray.h"
#include "py/fault.h"
#include "py/stream.h"

typedef struct nl_py_graph {
    PyObject_HEAD nl_py_state *state;
    nl_graph *graph;    /* NULL: the capture has not begun */
    PyObject *stream;   /* that was captured */
    PyObject *kept;     /* list */
    PyObject *hooked;   /* list: those of the kernels that report faults */
    PyObject *launches; /* list of nl_py_captured */
    PyObject *weakrefs;
} nl_py_graph;

typedef struct nl_py_captured {
    PyObject_HEAD nl_py_state *state;
    nl_graph *graph;
    nl_py_kernel *kernel;
    PyObject *args;  /* tuple */
    PyObject *extra; /* list of what was made of them, or NULL */
    CUgraphNode node;
    nl_launch shape;
    int updated; /* the graph has not noted the buffers of `args` */
} nl_py_captured;

/* ---------------------------------------------------------------------------------- under way */

static void retain_object(void *object) {
    Py_INCREF((PyObject *)object);
}

static nl_py_graph *graph_of(CUstream stream) {
    return nl_graph_owner(stream, retain_object);
}

static int append_once(PyObject *list, PyObject *object) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (n > 0 && PyList_GET_ITEM(list, n - 1) == object)
        return 0;
    return PyList_Append(list, object);
}

int nl_py_graph_keep(CUstream stream, PyObject *object, int host) {
    nl_py_graph *g = graph_of(stream);
    if (!g)
        return 0;
    int result = append_once(g->kept, object) < 0 ? -1 : 1;
    if (host)
        nl_atomic_store(&g->graph->touches_host, 1);
    Py_DECREF(g);
    return result;
}

int nl_py_graph_keep_kernel(CUstream stream, nl_py_kernel *kernel) {
    nl_py_graph *g = graph_of(stream);
    if (!g)
        return 0;
    int result = append_once(g->kept, (PyObject *)kernel) < 0 ||
                         (kernel->hook && append_once(g->hooked, (PyObject *)kernel) < 0)
                     ? -1
                     : 1;
    Py_DECREF(g);
    return result;
}

int nl_py_graph_keep_owner(CUstream stream, const nl_py_array *array, nl_error *err) {
    if (stream == NULL || nl_py_graph_keep(stream, array->owner, 0) >= 0)
        return 0;
    PyErr_Clear();
    return nl_error_no_memory(err, sizeof(PyObject *));
}

int nl_py_graph_check_default(CUstream stream, const char *what) {
    if ((stream && stream != CU_STREAM_LEGACY) || !nl_graph_is_here())
        return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "%s on the default stream inside a capture would not be part of the graph: name "
                 "the captured stream (stream=), or do it before the capture",
                 what);
    return -1;
}

int nl_py_graph_check_waiting(CUstream stream, const char *what, const char *advice) {
    if (!nl_graph_has(stream))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s cannot be captured%s", what, advice);
    return -1;
}

static int refuse_asking(const char *what, const char *where) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s while %s is being captured: work is recorded then and does not run before the "
                 "graph is launched. Do it before the capture begins or after it ends",
                 what, where);
    return -1;
}

int nl_py_graph_check_asking(CUstream stream, const char *what) {
    return nl_graph_has(stream) ? refuse_asking(what, "the stream") : 0;
}

int nl_py_graph_check_device(const nl_device *device, const char *what) {
    return nl_graph_is_on(device) ? refuse_asking(what, "a stream of this device") : 0;
}

static PyObject *pack(PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

int nl_py_graph_add_launch(nl_py_kernel *kernel, const nl_launch *shape, PyObject *const *args,
                           PyObject *kept) {
    nl_error err;
    nl_py_graph *g = graph_of(shape->stream);
    if (!g)
        return 0;
    int result = -1;
    nl_py_captured *c = NULL;
    PyTypeObject *type = g->state->captured_type;
    PyObject *tuple = pack(args, kernel->kernel->params.count);
    if (tuple)
        c = (nl_py_captured *)type->tp_alloc(type, 0);
    if (!c) {
        Py_XDECREF(tuple);
        Py_DECREF(g);
        return -1;
    }
    nl_graph_retain(g->graph);
    c->state = g->state;
    c->graph = g->graph;
    c->kernel = (nl_py_kernel *)Py_NewRef((PyObject *)kernel);
    c->args = tuple;
    c->extra = Py_XNewRef(kept);
    c->shape = *shape;
    if (nl_graph_last_node(shape->stream, &c->node, &err) < 0)
        nl_py_raise(&err);
    else
        result = PyList_Append(g->launches, (PyObject *)c);
    Py_DECREF(c);
    Py_DECREF(g);
    return result;
}

/* --------------------------------------------------------------------------------------- Graph */

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", NULL};
    nl_py_state *state = nl_py_state_of_type(type);
    PyObject *stream;
    nl_error err;
    int result;
    if (!state ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O!:Graph", names, state->stream_type, &stream))
        return NULL;
    nl_py_graph *g = (nl_py_graph *)type->tp_alloc(type, 0);
    if (!g)
        return NULL;
    g->state = state;
    g->stream = Py_NewRef(stream);
    g->kept = PyList_New(0);
    g->hooked = PyList_New(0);
    g->launches = PyList_New(0);
    if (!g->kept || !g->hooked || !g->launches) {
        Py_DECREF(g);
        return NULL;
    }
    Py_INCREF(g); /* the capture's, given up by finish or abandon */
    Py_BEGIN_ALLOW_THREADS;
    result = nl_graph_begin(((nl_py_stream *)stream)->stream, g, &g->graph, &err);
    Py_END_ALLOW_THREADS;
    if (result == 0)
        return (PyObject *)g;
    nl_py_raise(&err);
    Py_DECREF(g);
    Py_DECREF(g);
    return NULL;
}

static PyObject *graph_finish(PyObject *self, PyObject *Py_UNUSED(unused)) {
    nl_py_graph *g = (nl_py_graph *)self;
    nl_error err;
    int result;
    if (!nl_graph_leave(g->graph)) {
        PyErr_SetString(PyExc_RuntimeError, "this capture is over already");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    result = nl_graph_end(g->graph, &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(self); /* the capture's */
    if (result < 0)
        return nl_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *graph_abandon(PyObject *self, PyObject *Py_UNUSED(unused)) {
    nl_py_graph *g = (nl_py_graph *)self;
    if (nl_graph_leave(g->graph)) {
        Py_BEGIN_ALLOW_THREADS;
        nl_graph_abandon(g->graph);
        Py_END_ALLOW_THREADS;
        Py_DECREF(self); /* the capture's */
    }
    Py_RETURN_NONE;
}

/* Arguments that came by update(): ordered on the stream as those of any launch. */
static int use_updated(nl_py_graph *g, CUstream stream, int blocking, nl_error *err) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(g->launches); i++) {
        nl_py_captured *c = (nl_py_captured *)PyList_GET_ITEM(g->launches, i);
        Py_BEGIN_CRITICAL_SECTION(c);
        for (Py_ssize_t j = 0; c->updated && result == 0 && j < PyTuple_GET_SIZE(c->args); j++) {
            PyObject *value = PyTuple_GET_ITEM(c->args, j);
            if (nl_py_array_check(c->state, value))
                result = nl_py_array_use((nl_py_array *)value, stream, blocking, err);
        }
        Py_END_CRITICAL_SECTION();
    }
    return result;
}

static PyObject *launch_pair(nl_py_captured *c) {
    PyObject *pair;
    Py_BEGIN_CRITICAL_SECTION(c);
    pair = PyTuple_Pack(2, (PyObject *)c->kernel, c->args);
    Py_END_CRITICAL_SECTION();
    return pair;
}

static int check_faults(nl_py_graph *g, CUstream stream) {
    PyObject *launches = PyList_New(0);
    int result = launches ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(g->launches); i++) {
        PyObject *pair = launch_pair((nl_py_captured *)PyList_GET_ITEM(g->launches, i));
        result = pair ? PyList_Append(launches, pair) : -1;
        Py_XDECREF(pair);
    }
    if (result == 0)
        result = nl_py_fault_check_graph(g->hooked, launches, stream);
    Py_XDECREF(launches);
    return result;
}

static PyObject *graph_launch(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *keywords) {
    nl_py_graph *g = (nl_py_graph *)self;
    Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    CUstream stream;
    nl_error err;
    int blocking, result = 0;
    if (nargs + named > 1 ||
        (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stream") != 0)) {
        PyErr_SetString(PyExc_TypeError, "launch() takes one argument: launch(stream=0)");
        return NULL;
    }
    if (nl_py_stream_from(g->state, nargs + named ? args[0] : NULL, &stream, &blocking) < 0)
        return NULL;
    if (stream && nl_atomic_load(&g->graph->updated))
        result = use_updated(g, stream, blocking, &err);
    if (result == 0 && nl_py_callbacks_pending()) {
        /* the queue may be full, and what empties it may need the interpreter */
        Py_BEGIN_ALLOW_THREADS;
        result = nl_graph_launch(g->graph, stream, blocking, &err);
        Py_END_ALLOW_THREADS;
    } else if (result == 0) {
        result = nl_graph_launch(g->graph, stream, blocking, &err);
    }
    if (result < 0)
        return nl_py_raise(&err);
    if (PyList_GET_SIZE(g->hooked) && check_faults(g, stream) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *graph_upload(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", NULL};
    nl_py_graph *g = (nl_py_graph *)self;
    PyObject *argument = NULL;
    CUstream stream;
    nl_error err;
    int result;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:upload", names, &argument) ||
        nl_py_stream_from(g->state, argument, &stream, NULL) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = nl_graph_upload(g->graph, stream, &err);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        return nl_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *graph_launches(PyObject *self, void *Py_UNUSED(closure)) {
    return PyList_AsTuple(((nl_py_graph *)self)->launches);
}

static PyObject *graph_stream(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((nl_py_graph *)self)->stream);
}

static PyObject *graph_is_capturing(PyObject *self, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(nl_graph_is_going(((nl_py_graph *)self)->graph));
}

static int graph_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_graph *g = (nl_py_graph *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(g->stream);
    Py_VISIT(g->kept);
    Py_VISIT(g->hooked);
    Py_VISIT(g->launches);
    return 0;
}

/* Nothing is dropped that launches under way may be using: device memory is freed in the order of
 * streams, but host arrays are not. */
static void drop_all(nl_py_graph *g) {
    if (g->graph) {
        Py_BEGIN_ALLOW_THREADS;
        nl_graph_settle(g->graph);
        nl_graph_release(g->graph);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(g->launches);
    Py_XDECREF(g->hooked);
    Py_XDECREF(g->kept);
    Py_XDECREF(g->stream);
}

/* No tp_clear: what it refers to does not refer back, unless something was made to that can be
 * cleared itself. */
static void graph_dealloc(PyObject *self) {
    nl_py_graph *g = (nl_py_graph *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *error_type, *error, *traceback;
    PyObject_GC_UnTrack(self);
    if (g->weakrefs)
        PyObject_ClearWeakRefs(self);
    PyErr_Fetch(&error_type, &error, &traceback);
    drop_all(g);
    PyErr_Restore(error_type, error, traceback);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ------------------------------------------------------------------------------ CapturedLaunch */

static int write_arguments(nl_py_call *call, PyObject *const *args, unsigned char *block,
                           void **values) {
    for (int i = 0; i < call->params->count; i++) {
        values[i] = block + call->params->items[i].offset;
        if (nl_py_argument_write(call, i, args[i], block) < 0)
            return -1;
    }
    if (!call->staging.use_count)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s(): a graph's launch takes no host arrays: pass device arrays "
                 "(cuda.to_device(x))",
                 call->name);
    return -1;
}

static int set_values(nl_py_captured *c, void **values) {
    nl_error err;
    int result;
    Py_BEGIN_ALLOW_THREADS;
    result = nl_graph_set_values(c->graph, c->node, c->kernel->kernel, &c->shape, values, &err);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

/* Arrays among the arguments stay where they are as long as they live. */
static void fix_arrays(const nl_py_state *state, PyObject *tuple) {
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *value = PyTuple_GET_ITEM(tuple, i);
        if (nl_py_array_check(state, value))
            nl_buffer_fix(((nl_py_array *)value)->buffer);
    }
}

static void replace_arguments(nl_py_captured *c, PyObject *args, PyObject *extra) {
    PyObject *old_args, *old_extra;
    Py_BEGIN_CRITICAL_SECTION(c);
    old_args = c->args;
    old_extra = c->extra;
    c->args = args;
    c->extra = extra;
    c->updated = 1;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(old_args);
    Py_XDECREF(old_extra);
}

/* `args` has the keywords' values behind the positional ones; `ordered` begins with NULLs. */
static int place_keywords(const nl_kernel *kernel, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *keywords, PyObject **ordered) {
    const nl_params *params = &kernel->params;
    for (Py_ssize_t i = 0; i < nargs && i < params->count; i++)
        ordered[i] = args[i];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        int at = 0;
        while (at < params->count &&
               (!params->items[at].name ||
                PyUnicode_CompareWithASCIIString(name, params->items[at].name) != 0))
            at++;
        if (at == params->count || ordered[at]) {
            PyErr_Format(PyExc_TypeError,
                         at == params->count ? "%s() got an unexpected keyword argument '%U'"
                                             : "%s() got multiple values for argument '%U'",
                         kernel->name, name);
            return -1;
        }
        ordered[at] = args[nargs + i];
    }
    return 0; /* as many as there are parameters, each once: all */
}

static PyObject *update(nl_py_captured *c, PyObject *const *args, Py_ssize_t nargs);

static PyObject *captured_update(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords) {
    nl_py_captured *c = (nl_py_captured *)self;
    const nl_kernel *kernel = c->kernel->kernel;
    int count = kernel->params.count;
    Py_ssize_t given = nargs + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    PyObject *result = NULL;
    nl_error err;
    if (given != count)
        return PyErr_Format(PyExc_TypeError, "%s() takes %d argument%s but %zd %s given",
                            kernel->name, count, count == 1 ? "" : "s", given,
                            given == 1 ? "was" : "were");
    if (given == nargs)
        return update(c, args, nargs);
    PyObject **ordered = nl_mem_zalloc((size_t)count * sizeof *ordered, &err);
    if (!ordered)
        return nl_py_raise(&err);
    if (place_keywords(kernel, args, nargs, keywords, ordered) == 0)
        result = update(c, ordered, count);
    nl_mem_free(ordered);
    return result;
}

static PyObject *update(nl_py_captured *c, PyObject *const *args, Py_ssize_t nargs) {
    nl_kernel *kernel = c->kernel->kernel;
    const nl_params *params = &kernel->params;
    size_t pointers = ((size_t)params->count * sizeof(void *) + 15) / 16 * 16;
    nl_error err;
    void **values = nl_mem_zalloc(pointers + params->size + 16, &err);
    if (!values)
        return nl_py_raise(&err);
    nl_py_call call;
    call.state = c->state;
    call.name = kernel->name;
    call.params = params;
    call.kernel = kernel;
    call.device = kernel->module->device;
    call.stream = NULL;
    call.blocking = 1; /* ordered by whoever launches the graph */
    call.strayed = 0;
    call.may_visit = 0;
    call.kept = NULL;
    nl_py_staging_init(&call.staging);
    int result = write_arguments(&call, args, (unsigned char *)values + pointers, values);
    PyObject *tuple = result == 0 ? pack(args, nargs) : NULL;
    fix_arrays(c->state, tuple);
    if (!tuple || set_values(c, values) < 0)
        result = -1;
    if (result == 0)
        replace_arguments(c, tuple, Py_XNewRef(call.kept));
    else
        Py_XDECREF(tuple);
    if (call.staging.use_count)
        nl_py_staging_clear(&call.staging);
    Py_XDECREF(call.kept);
    nl_mem_free(values);
    return result == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *captured_name(PyObject *self, void *Py_UNUSED(closure)) {
    return PyUnicode_FromString(((nl_py_captured *)self)->kernel->kernel->name);
}

static PyObject *captured_args(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *args;
    Py_BEGIN_CRITICAL_SECTION(self);
    args = Py_NewRef(((nl_py_captured *)self)->args);
    Py_END_CRITICAL_SECTION();
    return args;
}

static PyObject *captured_grid(PyObject *self, void *Py_UNUSED(closure)) {
    const unsigned *g = ((nl_py_captured *)self)->shape.grid;
    return Py_BuildValue("(III)", g[0], g[1], g[2]);
}

static PyObject *captured_block(PyObject *self, void *Py_UNUSED(closure)) {
    const unsigned *b = ((nl_py_captured *)self)->shape.block;
    return Py_BuildValue("(III)", b[0], b[1], b[2]);
}

static PyObject *captured_shared(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLong(((nl_py_captured *)self)->shape.shared);
}

static PyObject *captured_repr(PyObject *self) {
    const nl_py_captured *c = (nl_py_captured *)self;
    const unsigned *g = c->shape.grid, *b = c->shape.block;
    return PyUnicode_FromFormat("<captured launch of %s[(%u, %u, %u), (%u, %u, %u)]>",
                                c->kernel->kernel->name, g[0], g[1], g[2], b[0], b[1], b[2]);
}

static int captured_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_captured *c = (nl_py_captured *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(c->kernel);
    Py_VISIT(c->args);
    Py_VISIT(c->extra);
    return 0;
}

/* No tp_clear: every cycle through it passes its graph's list, or an argument that came to refer to
 * it later. */
static void captured_dealloc(PyObject *self) {
    nl_py_captured *c = (nl_py_captured *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_BEGIN_ALLOW_THREADS;
    nl_graph_release(c->graph);
    Py_END_ALLOW_THREADS;
    Py_XDECREF(c->kernel);
    Py_XDECREF(c->args);
    Py_XDECREF(c->extra);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --------------------------------------------------------------------------------------- types */

static PyObject *capture_here(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(nl_graph_is_here());
}

static PyMethodDef functions[] = {
    {"capture_here", capture_here, METH_NOARGS, "Has this thread begun a capture that goes on?"},
    {NULL, NULL, 0, NULL}};

static PyMethodDef graph_methods[] = {
    {"_finish", graph_finish, METH_NOARGS, "Ends the capture; the graph can be launched."},
    {"_abandon", graph_abandon, METH_NOARGS, "Ends the capture, if it goes on, and drops it."},
    {"launch", (PyCFunction)(void (*)(void))graph_launch, METH_FASTCALL | METH_KEYWORDS,
     "launch(stream=0)\n\nPuts all captured work into a stream, with one call of the driver. A "
     "graph runs once at a time: a launch begins when the one before has ended."},
    {"upload", (PyCFunction)(void (*)(void))graph_upload, METH_VARARGS | METH_KEYWORDS,
     "upload(stream=0)\n\nDoes ahead what the first launch would do: after it, that is as fast as "
     "any."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef graph_getset[] = {
    {"launches", graph_launches, NULL,
     "The captured launches of kernels, in order: a tuple of CapturedLaunch.", NULL},
    {"stream", graph_stream, NULL, "The stream that was captured.", NULL},
    {"is_capturing", graph_is_capturing, NULL, "Is its capture still going on?", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef graph_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_graph, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot graph_slots[] = {{Py_tp_doc, "Graph(stream): captures the stream's work."},
                                    {Py_tp_new, graph_new},
                                    {Py_tp_dealloc, graph_dealloc},
                                    {Py_tp_traverse, graph_traverse},
                                    {Py_tp_methods, graph_methods},
                                    {Py_tp_getset, graph_getset},
                                    {Py_tp_members, graph_members},
                                    {0, NULL}};

static PyType_Spec graph_spec = {
    .name = "numbalite._core.Graph",
    .basicsize = sizeof(nl_py_graph),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = graph_slots,
};

static PyMethodDef captured_methods[] = {
    {"update", (PyCFunction)(void (*)(void))captured_update, METH_FASTCALL | METH_KEYWORDS,
     "update(*args)\n\nNew arguments, for all launches of the graph from now on: as many as the "
     "kernel has, of types that it takes, device arrays and numbers. They are kept instead of the "
     "old ones. TypeError, ValueError or OverflowError if one does not fit; then nothing "
     "changes."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef captured_getset[] = {
    {"name", captured_name, NULL, "The kernel's name.", NULL},
    {"args", captured_args, NULL, "The arguments, a tuple.", NULL},
    {"griddim", captured_grid, NULL, "Blocks in the grid, along x, y and z.", NULL},
    {"blockdim", captured_block, NULL, "Threads in a block, along x, y and z.", NULL},
    {"sharedmem", captured_shared, NULL, "Bytes of dynamic shared memory per block.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot captured_slots[] = {{Py_tp_doc, "A launch of a kernel in a graph."},
                                       {Py_tp_dealloc, captured_dealloc},
                                       {Py_tp_traverse, captured_traverse},
                                       {Py_tp_repr, captured_repr},
                                       {Py_tp_methods, captured_methods},
                                       {Py_tp_getset, captured_getset},
                                       {0, NULL}};

static PyType_Spec captured_spec = {
    .name = "numbalite._core.CapturedLaunch",
    .basicsize = sizeof(nl_py_captured),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = captured_slots,
};

int nl_py_graph_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_add_type(module, &graph_spec, NULL, &state->graph_type) < 0 ||
        nl_py_add_type(module, &captured_spec, NULL, &state->captured_type) < 0)
        return -1;
    return nl_py_add_functions(module, functions);
}
