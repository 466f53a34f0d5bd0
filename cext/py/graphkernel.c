/* py/graphkernel: defines CapturedLaunch, a launch of a kernel in a graph.
 *
 * A CapturedLaunch keeps its kernel and arguments alive, including arrays of other libraries.
 * update_launch() replaces the arguments after the driver has accepted the new arguments. */
#include "py/graphkernel.h"

#include "base/mem.h"
#include "py/argument.h"
#include "py/devarray.h"

typedef struct nl_py_graphkernel {
    PyObject_HEAD nl_py_state *state;
    nl_graph *graph;
    nl_py_kernel *kernel;
    PyObject *args;  /* tuple */
    PyObject *extra; /* list of the arrays made from the arguments, or NULL */
    CUgraphNode node;
    nl_launch shape;
    /* set if update_launch() has set `args`: then the graph does not own their buffers */
    int updated;
} nl_py_graphkernel;

static PyObject *pack_arguments(PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

PyObject *nl_py_graphkernel_new(nl_py_state *state, nl_graph *graph, nl_py_kernel *kernel,
                                const nl_launch *shape, PyObject *const *args, PyObject *kept) {
    nl_error err;
    PyTypeObject *type = state->captured_type;
    PyObject *tuple = pack_arguments(args, kernel->kernel->params.count);
    nl_py_graphkernel *c = tuple ? (nl_py_graphkernel *)type->tp_alloc(type, 0) : NULL;
    if (!c) {
        Py_XDECREF(tuple);
        return NULL;
    }
    nl_graph_retain(graph);
    c->state = state;
    c->graph = graph;
    c->kernel = (nl_py_kernel *)Py_NewRef((PyObject *)kernel);
    c->args = tuple;
    c->extra = Py_XNewRef(kept);
    c->shape = *shape;
    if (nl_graph_last_node(shape->stream, &c->node, &err) < 0) {
        nl_py_raise(&err);
        Py_CLEAR(c);
    }
    return (PyObject *)c;
}

/* Calls nl_py_devarray_order_with_stream for the arrays in a tuple, and in nested tuples. */
static int order_arrays_with_stream(const nl_py_state *state, PyObject *tuple, CUstream stream,
                                    int blocking, nl_error *err) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *value = PyTuple_GET_ITEM(tuple, i);
        if (nl_py_devarray_check(state, value))
            result = nl_py_devarray_order_with_stream((nl_py_array *)value, stream, blocking, err);
        else if (PyTuple_Check(value))
            result = order_arrays_with_stream(state, value, stream, blocking, err);
    }
    return result;
}

int nl_py_graphkernel_order_arrays(PyObject *self, CUstream stream, int blocking, nl_error *err) {
    nl_py_graphkernel *c = (nl_py_graphkernel *)self;
    int result = 0;
    Py_BEGIN_CRITICAL_SECTION(c);
    if (c->updated)
        result = order_arrays_with_stream(c->state, c->args, stream, blocking, err);
    Py_END_CRITICAL_SECTION();
    return result;
}

PyObject *nl_py_graphkernel_kernel_and_args(PyObject *self) {
    nl_py_graphkernel *c = (nl_py_graphkernel *)self;
    PyObject *pair;
    Py_BEGIN_CRITICAL_SECTION(c);
    pair = PyTuple_Pack(2, (PyObject *)c->kernel, c->args);
    Py_END_CRITICAL_SECTION();
    return pair;
}

static int write_arguments(nl_py_call *call, PyObject *const *args, unsigned char *block,
                           void **values) {
    for (int i = 0; i < call->params->count; i++) {
        values[i] = block + call->params->items[i].offset;
        if (nl_py_argument_write(call, i, args[i], block) < 0)
            return -1;
    }
    if (!call->hosts.count)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s(): host arrays cannot be arguments of a graph's launch: "
                 "pass device arrays (cuda.to_device(x))",
                 call->name);
    return -1;
}

static int set_launch_values(nl_py_graphkernel *c, void **values) {
    nl_error err;
    int result;
    NL_UNLOCKED(result = nl_graph_set_arguments(c->graph, c->node, c->kernel->kernel, &c->shape,
                                                values, &err));
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

/* Marks the buffers of the arguments as not movable for their lifetime, because the graph contains
 * their addresses. */
static void forbid_moves_of_arrays(const nl_py_state *state, PyObject *tuple) {
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *value = PyTuple_GET_ITEM(tuple, i);
        if (nl_py_devarray_check(state, value))
            nl_buffer_forbid_move(((nl_py_array *)value)->buffer);
        else if (PyTuple_Check(value))
            forbid_moves_of_arrays(state, value);
    }
}

static void replace_arguments(nl_py_graphkernel *c, PyObject *args, PyObject *extra) {
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

/* Sorts the arguments by parameter. `args` contains the values of the keyword arguments after those
 * of the positional arguments; all items of `ordered` must be NULL before the call. */
static int order_keywords(const nl_kernel *kernel, PyObject *const *args, Py_ssize_t nargs,
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
    return 0; /* the caller has checked the number of arguments, so each parameter has a value */
}

static PyObject *update_launch(nl_py_graphkernel *c, PyObject *const *args, Py_ssize_t nargs);

static PyObject *captured_update(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords) {
    nl_py_graphkernel *c = (nl_py_graphkernel *)self;
    const nl_kernel *kernel = c->kernel->kernel;
    int count = kernel->params.count;
    Py_ssize_t given = nargs + nl_py_count_keywords(keywords);
    PyObject *result = NULL;
    nl_error err;
    if (given != count)
        return PyErr_Format(PyExc_TypeError, "%s() takes %d argument%s but %zd %s given",
                            kernel->name, count, count == 1 ? "" : "s", given,
                            given == 1 ? "was" : "were");
    if (given == nargs)
        return update_launch(c, args, nargs);
    PyObject **ordered = nl_mem_zalloc((size_t)count * sizeof *ordered, &err);
    if (!ordered)
        return nl_py_raise(&err);
    if (order_keywords(kernel, args, nargs, keywords, ordered) == 0)
        result = update_launch(c, ordered, count);
    nl_mem_free(ordered);
    return result;
}

static PyObject *update_launch(nl_py_graphkernel *c, PyObject *const *args, Py_ssize_t nargs) {
    nl_kernel *kernel = c->kernel->kernel;
    const nl_params *params = &kernel->params;
    size_t pointers = ((size_t)params->count * sizeof(void *) + 15) / 16 * 16;
    nl_error err;
    void **values = nl_mem_zalloc(pointers + params->size + 16, &err);
    if (!values)
        return nl_py_raise(&err);
    nl_py_values read;
    nl_py_call call;
    nl_py_values_init(&read, c->state, kernel->module->device, NULL, 1);
    call.state = c->state;
    call.name = kernel->name;
    call.params = params;
    call.kernel = kernel;
    call.device = kernel->module->device;
    call.stream = NULL;
    call.blocking = 1; /* this code adds no waits: the launch of the graph orders the work */
    call.epoch = read.epoch;
    call.may_visit = 0;
    call.visited = 0;
    call.values = &read;
    call.implicit = 0;
    nl_py_hostcopy_init(&call.hosts, 1);
    int result = write_arguments(&call, args, (unsigned char *)values + pointers, values);
    PyObject *tuple = result == 0 ? pack_arguments(args, nargs) : NULL;
    PyObject *made = tuple ? nl_py_values_list_created_arrays(&read) : NULL;
    forbid_moves_of_arrays(c->state, tuple);
    if (!tuple || PyErr_Occurred() || nl_py_kernel_check_addresses(c->kernel, call.epoch) < 0 ||
        set_launch_values(c, values) < 0)
        result = -1;
    if (result == 0)
        replace_arguments(c, tuple, Py_XNewRef(made));
    else
        Py_XDECREF(tuple);
    nl_py_hostcopy_clear(&call.hosts);
    Py_XDECREF(made);
    nl_py_values_clear(&read);
    nl_mem_free(values);
    return result == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *captured_name(PyObject *self, void *Py_UNUSED(closure)) {
    return PyUnicode_FromString(((nl_py_graphkernel *)self)->kernel->kernel->name);
}

static PyObject *captured_args(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *args;
    Py_BEGIN_CRITICAL_SECTION(self);
    args = Py_NewRef(((nl_py_graphkernel *)self)->args);
    Py_END_CRITICAL_SECTION();
    return args;
}

static PyObject *captured_grid(PyObject *self, void *Py_UNUSED(closure)) {
    const unsigned *g = ((nl_py_graphkernel *)self)->shape.grid;
    return Py_BuildValue("(III)", g[0], g[1], g[2]);
}

static PyObject *captured_block(PyObject *self, void *Py_UNUSED(closure)) {
    const unsigned *b = ((nl_py_graphkernel *)self)->shape.block;
    return Py_BuildValue("(III)", b[0], b[1], b[2]);
}

static PyObject *captured_shared(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLong(((nl_py_graphkernel *)self)->shape.shared);
}

static PyObject *captured_repr(PyObject *self) {
    const nl_py_graphkernel *c = (nl_py_graphkernel *)self;
    const unsigned *g = c->shape.grid, *b = c->shape.block;
    return PyUnicode_FromFormat("<captured launch of %s[(%u, %u, %u), (%u, %u, %u)]>",
                                c->kernel->kernel->name, g[0], g[1], g[2], b[0], b[1], b[2]);
}

static int captured_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_graphkernel *c = (nl_py_graphkernel *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(c->kernel);
    Py_VISIT(c->args);
    Py_VISIT(c->extra);
    return 0;
}

/* The type needs no tp_clear: each reference cycle contains the graph's list of launches, or an
 * argument that was changed later to refer to it. */
static void captured_dealloc(PyObject *self) {
    nl_py_graphkernel *c = (nl_py_graphkernel *)self;
    PyObject_GC_UnTrack(self);
    NL_UNLOCKED(nl_graph_release(c->graph));
    Py_XDECREF(c->kernel);
    Py_XDECREF(c->args);
    Py_XDECREF(c->extra);
    nl_py_free_object(self);
}

static PyMethodDef captured_methods[] = {
    {"update", (PyCFunction)(void (*)(void))captured_update, METH_FASTCALL | METH_KEYWORDS,
     "update(*args)\n\nSets new arguments for all later launches of the graph. "
     "Device arrays and numbers are accepted, one argument per parameter of the kernel. "
     "The graph keeps the new arguments alive and releases the old ones. "
     "Raises TypeError, ValueError or OverflowError if an argument does not fit the parameter; "
     "then all arguments remain unchanged."},
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
    .basicsize = sizeof(nl_py_graphkernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = captured_slots,
};

int nl_py_graphkernel_exec(PyObject *module) {
    return nl_py_state_add_type(module, &captured_spec, NULL,
                                &nl_py_state_of(module)->captured_type);
}
