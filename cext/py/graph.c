/* py/graph: the type Graph.
 *
 * A Graph begins its capture when it is created. The capture has a reference to the Graph until the
 * capture ends, so the Graph is not freed earlier. A Graph keeps all objects that captured work
 * uses alive: the core's graph keeps buffers, the Graph keeps kernels and host arrays, and its list
 * of launches keeps their arguments (py/graphkernel). */
#include "py/graph.h"

#include "py/callback.h"
#include "py/capture.h"
#include "py/graphkernel.h"
#include "py/fault.h"
#include "py/stream.h"

int nl_py_graph_add_launch(nl_py_kernel *kernel, const nl_launch *shape, PyObject *const *args,
                           PyObject *kept) {
    nl_py_graph *g = nl_py_capture_graph(shape->stream);
    if (!g)
        return 0;
    PyObject *launch = nl_py_graphkernel_new(g->state, g->graph, kernel, shape, args, kept);
    int result = launch ? PyList_Append(g->launches, launch) : -1;
    Py_XDECREF(launch);
    Py_DECREF(g);
    return result;
}

/* ---- Graph ---- */

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
    g->scratch = PyDict_New();
    if (!g->kept || !g->hooked || !g->launches || !g->scratch) {
        Py_DECREF(g);
        return NULL;
    }
    Py_INCREF(g); /* the capture has a reference to the graph, which graph_finish or graph_abandon
                     releases */
    NL_UNLOCKED(result = nl_graph_begin(((nl_py_stream *)stream)->stream, g, &g->graph, &err));
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
    if (!nl_graph_stop_recording(g->graph)) {
        PyErr_SetString(PyExc_RuntimeError, "this capture is over already");
        return NULL;
    }
    NL_UNLOCKED(result = nl_graph_end(g->graph, &err));
    Py_DECREF(self); /* the capture's reference */
    return nl_py_none_or_raise(result, &err);
}

static PyObject *graph_abandon(PyObject *self, PyObject *Py_UNUSED(unused)) {
    nl_py_graph *g = (nl_py_graph *)self;
    if (nl_graph_stop_recording(g->graph)) {
        NL_UNLOCKED(nl_graph_abandon(g->graph));
        Py_DECREF(self); /* the capture's reference */
    }
    Py_RETURN_NONE;
}

static int use_updated_arrays(nl_py_graph *g, CUstream stream, int blocking, nl_error *err) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(g->launches); i++)
        result =
            nl_py_graphkernel_order_arrays(PyList_GET_ITEM(g->launches, i), stream, blocking, err);
    return result;
}

static int raise_recorded_faults(nl_py_graph *g, CUstream stream) {
    PyObject *launches = PyList_New(0);
    int result = launches ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(g->launches); i++) {
        PyObject *pair = nl_py_graphkernel_kernel_and_args(PyList_GET_ITEM(g->launches, i));
        result = pair ? PyList_Append(launches, pair) : -1;
        Py_XDECREF(pair);
    }
    if (result == 0)
        result = nl_py_fault_raise_recorded_by_graph(g->hooked, launches, stream);
    Py_XDECREF(launches);
    return result;
}

static PyObject *graph_launch(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *keywords) {
    nl_py_graph *g = (nl_py_graph *)self;
    Py_ssize_t named = nl_py_count_keywords(keywords);
    CUstream stream;
    nl_error err;
    int blocking, result = 0;
    if (nargs + named > 1 ||
        (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stream") != 0)) {
        PyErr_SetString(PyExc_TypeError, "launch() takes one argument: launch(stream=0)");
        return NULL;
    }
    if (nl_py_stream_from_argument(g->state, nargs + named ? args[0] : NULL, &stream, &blocking) <
        0)
        return NULL;
    if (stream && nl_atomic_load(&g->graph->updated))
        result = use_updated_arrays(g, stream, blocking, &err);
    if (result == 0 && nl_py_callbacks_pending()) {
        /* the queue may be full, and a callback that empties the queue may need the interpreter's
         * lock */
        NL_UNLOCKED(result = nl_graph_launch(g->graph, stream, blocking, &err));
    } else if (result == 0) {
        result = nl_graph_launch(g->graph, stream, blocking, &err);
    }
    if (result < 0)
        return nl_py_raise(&err);
    if (PyList_GET_SIZE(g->hooked) && raise_recorded_faults(g, stream) < 0)
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
        nl_py_stream_from_argument(g->state, argument, &stream, NULL) < 0)
        return NULL;
    NL_UNLOCKED(result = nl_graph_upload(g->graph, stream, &err));
    return nl_py_none_or_raise(result, &err);
}

static PyObject *graph_get_launches(PyObject *self, void *Py_UNUSED(closure)) {
    return PyList_AsTuple(((nl_py_graph *)self)->launches);
}

static PyObject *graph_stream(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((nl_py_graph *)self)->stream);
}

static PyObject *graph_is_capturing(PyObject *self, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(nl_graph_is_capturing(((nl_py_graph *)self)->graph));
}

static int graph_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_graph *g = (nl_py_graph *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(g->stream);
    Py_VISIT(g->kept);
    Py_VISIT(g->hooked);
    Py_VISIT(g->launches);
    Py_VISIT(g->scratch);
    return 0;
}

/* Waits for pending launches (nl_graph_wait_for_launches), then releases all objects. A wait is
 * needed for host arrays, which are not freed in stream order. */
static void release_objects(nl_py_graph *g) {
    if (g->graph) {
        Py_BEGIN_ALLOW_THREADS;
        nl_graph_wait_for_launches(g->graph);
        nl_graph_release(g->graph);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(g->scratch);
    Py_XDECREF(g->launches);
    Py_XDECREF(g->hooked);
    Py_XDECREF(g->kept);
    Py_XDECREF(g->stream);
}

/* A Graph needs no tp_clear: the objects that it refers to have no reference back to the Graph,
 * unless they were changed later, and each such object has its own tp_clear. */
static void graph_dealloc(PyObject *self) {
    nl_py_graph *g = (nl_py_graph *)self;
    PyObject *error_type, *error, *traceback;
    PyObject_GC_UnTrack(self);
    if (g->weakrefs)
        PyObject_ClearWeakRefs(self);
    PyErr_Fetch(&error_type, &error, &traceback);
    release_objects(g);
    PyErr_Restore(error_type, error, traceback);
    nl_py_free_object(self);
}

/* ---- types ---- */

static PyObject *is_capturing_in_thread(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(nl_capture_is_active_in_thread());
}

static PyObject *capture_stream(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyLong_FromVoidPtr(nl_capture_stream_of_thread());
}

static PyMethodDef functions[] = {
    {"capture_stream", capture_stream, METH_NOARGS,
     "capture_stream(): "
     "returns the handle of the stream that this thread captures, or 0 without a capture. "
     "Work without an explicit stream uses this stream."},
    {"capture_here", is_capturing_in_thread, METH_NOARGS,
     "capture_here(): returns whether this thread captures a stream."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef graph_methods[] = {
    {"_finish", graph_finish, METH_NOARGS,
     "Ends the capture; afterwards the graph can be launched."},
    {"_abandon", graph_abandon, METH_NOARGS, "Ends the capture, if it goes on, and drops it."},
    {"launch", (PyCFunction)(void (*)(void))graph_launch, METH_FASTCALL | METH_KEYWORDS,
     "launch($self, /, stream=0)\n--\n\n"
     "Enqueues all captured work in a stream, by one call of the driver.\n\n"
     "A launch begins after the previous launch of the same graph has ended.\n\n"
     "Parameters\n----------\n"
     "stream : Stream or int\n    0 is the current stream.\n\n"
     "Raises\n------\n"
     "RuntimeError\n    The graph is still being captured."},
    {"upload", (PyCFunction)(void (*)(void))graph_upload, METH_VARARGS | METH_KEYWORDS,
     "upload($self, /, stream=0)\n--\n\n"
     "Copies the graph to the device, so that the first launch need not do it.\n\n"
     "Parameters\n----------\n"
     "stream : Stream or int\n    0 is the current stream."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef graph_getset[] = {
    {"launches", graph_get_launches, NULL,
     "The captured launches of kernels, in order: a tuple of CapturedLaunch.", NULL},
    {"stream", graph_stream, NULL, "The stream that was captured.", NULL},
    {"is_capturing", graph_is_capturing, NULL, "True while the graph is being captured.", NULL},
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

int nl_py_graph_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_state_add_type(module, &graph_spec, NULL, &state->graph_type) < 0)
        return -1;
    return nl_py_state_add_functions(module, functions);
}
