/* py/launcher: k[grid, block], and the call of its result, which is the shortest code path from
 * Python to a launch.
 *
 * A launcher stores the kernel of its last call. If the device and the type codes are unchanged,
 * and all arguments have common types, a call only compares type codes, writes the parameter block
 * on the stack, and launches. A call on the shortest code path allocates no memory, looks up no
 * entry and releases no reference. Host arrays, keywords, other libraries' arrays and kernels with
 * fault records use slower code paths. */
#include "py/launcher.h"

#include <string.h>
#include "base/mem.h"
#include "py/argument.h"
#include "py/callback.h"
#include "py/devarray.h"
#include "py/capture.h"
#include "py/graph.h"
#include "py/owner.h"
#include "py/trace.h"
#include "py/stream.h"

#define INLINE_BLOCK 1024
#define INLINE_ARGS 64
#define SMALL_GRID 128 /* number of blocks below which most GPUs are not fully occupied */

typedef struct nl_py_launcher {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_dispatcher *dispatcher;
    PyObject *stream;    /* as given; NULL: the default stream */
    PyObject *callbacks; /* list of callbacks, created when the attribute is first read; or NULL */
    void *last;          /* nl_py_overload of the last call; the launch configuration was already
                          * checked for its kernel */
    int blocking;        /* nonzero if the stream is ordered with the legacy default stream */
    nl_launch shape;
} nl_py_launcher;

/* ---- launching ---- */

/* Calls `hook` unless it is NULL or `warned` is set. Sets `warned` when the hook returns without an
 * exception. 0, or -1 with the hook's exception. */
static int warn_once(PyObject *hook, uint32_t *warned) {
    if (!hook || nl_atomic_load32_relaxed(warned))
        return 0;
    Py_INCREF(hook);
    PyObject *result = PyObject_CallNoArgs(hook);
    Py_DECREF(hook);
    if (!result)
        return -1;
    Py_DECREF(result);
    nl_atomic_store32_relaxed(warned, 1);
    return 0;
}

/* Launches with host arrays: copies them to the device, launches, and copies them back. */
static int launch_with_host_copies(nl_py_launcher *l, nl_py_kernel *k, nl_py_call *call,
                                   unsigned char *block, void **values) {
    nl_error err;
    if (nl_py_argument_check_overlap(call) < 0)
        return -1;
    if (call->implicit && warn_once(l->dispatcher->warn_host, &l->dispatcher->warned) < 0)
        return -1;
    if (nl_device_bind(call->device, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    if (l->stream && l->shape.stream)
        nl_py_hostcopy_defer_results(&call->hosts, call->state);
    if (nl_py_hostcopy_start_copies(&call->hosts, call->device, l->shape.stream, l->blocking,
                                    NL_PY_READS_ANY) < 0)
        return -1;
    nl_py_argument_write_addresses(call, block);
    if (nl_py_kernel_launch(k, &l->shape, values, call->epoch) < 0)
        return -1;
    return nl_py_hostcopy_copy_back(&call->hosts) < 0 ? -1 : 0;
}

/* A launch during a capture uses this code path also for device arrays, so that the graph records
 * them. */
static __attribute__((noinline)) int is_ordered(const nl_py_launcher *l) {
    return l->blocking && !nl_capture_has_stream(l->shape.stream);
}

static __attribute__((noinline)) int launch_in_capture(nl_py_launcher *l, nl_py_kernel *k,
                                                       nl_py_call *call, PyObject *const *args,
                                                       unsigned char *block, void **values) {
    if (call->hosts.count) {
        if (nl_py_capture_check_wait(l->shape.stream, "a launch with host arrays",
                                     ", because it waits for its copies: "
                                     "pass device arrays") < 0)
            return -1;
        return launch_with_host_copies(l, k, call, block, values);
    }
    if (nl_py_kernel_launch(k, &l->shape, values, call->epoch) < 0)
        return -1;
    PyObject *made = nl_py_values_list_created_arrays(call->values);
    int result = PyErr_Occurred() ? -1 : nl_py_graph_add_launch(k, &l->shape, args, made);
    Py_XDECREF(made);
    return result;
}

/* Waits for work on memory of another device, whose streams are not ordered with the kernel. Before
 * the launch (`shape` is NULL), waits for the pending work of the other devices. After the launch,
 * waits for the kernel, so that the memory can be freed later. A failed wait is repeated, because
 * the error may be temporary. */
static __attribute__((noinline)) int wait_for_other_devices(const nl_py_call *call,
                                                            const nl_launch *shape) {
    nl_error err, ignored;
    int result;
    Py_BEGIN_ALLOW_THREADS;
    result = shape ? 0 : nl_device_synchronize_all(call->visited, &err);
    if (result == 0)
        result = nl_device_bind(call->device, &err);
    if (result == 0 && shape)
        result = NL_CU(&err, StreamSynchronize, shape->stream);
    if (result < 0 && shape && nl_device_bind(call->device, &ignored) == 0)
        (void)nl_device_wait_for_release(call->device);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

static int launch_in_buffers(nl_py_launcher *l, nl_py_kernel *k, nl_py_values *read,
                             PyObject *const *args, unsigned char *block, void **values) {
    nl_device *dev = read->device;
    const nl_params *params = &k->kernel->params;
    nl_error err;
    int result = -1, capturing = nl_capture_is_any_active();
    nl_py_call call; /* not zero-initialized, because the struct is large */
    call.state = l->dispatcher->state;
    call.name = k->kernel->name;
    call.params = params;
    call.kernel = k->kernel;
    call.device = dev;
    call.stream = l->shape.stream;
    call.blocking = capturing ? is_ordered(l) : l->blocking;
    call.epoch = read->epoch;
    call.may_visit = !capturing;
    call.visited = 0;
    call.values = read;
    call.implicit = 0;
    nl_py_hostcopy_init(&call.hosts, 1);
    for (int i = 0; i < params->count; i++) {
        values[i] = block + params->items[i].offset;
        if (nl_py_argument_write(&call, i, args[i], block) < 0)
            goto done;
    }
    if (__builtin_expect(read->runs != 0, 0) && nl_device_bind(dev, &err) < 0) {
        nl_py_raise(&err);
        goto done;
    }
    if (__builtin_expect(call.visited != 0, 0) && wait_for_other_devices(&call, NULL) < 0)
        goto done;
    result = capturing          ? launch_in_capture(l, k, &call, args, block, values)
             : call.hosts.count ? launch_with_host_copies(l, k, &call, block, values)
                                : nl_py_kernel_launch(k, &l->shape, values, call.epoch);
    if (__builtin_expect(call.visited != 0, 0) && result == 0)
        result = wait_for_other_devices(&call, &l->shape);
done:
    nl_py_hostcopy_clear(&call.hosts);
    return result;
}

/* Launches a kernel with more, or larger, parameters than the buffers on the stack have space
 * for. */
static int launch_in_heap_buffers(nl_py_launcher *l, nl_py_kernel *k, nl_py_values *read,
                                  PyObject *const *args) {
    const nl_params *params = &k->kernel->params;
    nl_error err;
    size_t pointers = (size_t)params->count * sizeof(void *), gap = (16 - pointers % 16) % 16;
    void **values = nl_mem_alloc(pointers + gap + params->size, &err);
    if (!values) {
        nl_py_raise(&err);
        return -1;
    }
    int result =
        launch_in_buffers(l, k, read, args, (unsigned char *)values + pointers + gap, values);
    nl_mem_free(values);
    return result;
}

/* Returns the kernel for these arguments, or NULL with an exception. */
static inline nl_py_kernel *find_kernel(nl_py_launcher *l, nl_py_values *read,
                                        PyObject *const *args, Py_ssize_t nargs) {
    nl_py_overload *overload = nl_atomic_load_pointer(&l->last);
    if (!overload || !nl_py_dispatcher_overload_fits(l->dispatcher, overload, read, args, nargs)) {
        overload = nl_py_dispatcher_find(l->dispatcher, &l->shape, read, args, nargs);
        if (!overload)
            return NULL;
        nl_atomic_store_pointer(&l->last, overload);
    }
    return nl_py_overload_kernel(overload);
}

static int launch_in_stack_buffers(nl_py_launcher *l, nl_py_kernel *k, nl_py_values *read,
                                   PyObject *const *args, Py_ssize_t nargs) {
    _Alignas(16) unsigned char block[INLINE_BLOCK];
    void *values[INLINE_ARGS];
    return k->kernel->params.size <= INLINE_BLOCK && nargs <= INLINE_ARGS
               ? launch_in_buffers(l, k, read, args, block, values)
               : launch_in_heap_buffers(l, k, read, args);
}

/* Returns whether an argument may have an owner with a stream of its own. `read` contains the
 * values that find_kernel has read. */
static inline int may_have_owners(const nl_py_values *read, PyObject *const *args,
                                  Py_ssize_t nargs) {
    const nl_py_state *state = read->state;
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (__builtin_expect(nl_py_owner_is_possible(state, args[i]) ||
                                 !(nl_py_devarray_check_exact(state, args[i]) ||
                                   nl_py_owner_is_plain_value(state, args[i])),
                             0))
            return 1;
    return 0;
}

/* Launches on the stream of the library that owns the arrays, if stream= was not passed. */
static __attribute__((noinline)) int launch_for_owners(nl_py_launcher *l, nl_py_kernel *k,
                                                       nl_py_values *read, PyObject *const *args,
                                                       Py_ssize_t nargs) {
    nl_py_owners owners;
    nl_py_launcher on = *l;
    int result = nl_py_owners_read(&owners, read->state, read->device, read, args, nargs);
    if (result == 0 && owners.count == 0) {
        result = launch_in_stack_buffers(l, k, read, args, nargs);
    } else if (result == 0 && (result = nl_py_owners_order_before(&owners)) == 0) {
        on.shape.stream = read->stream = owners.streams[0].handle;
        on.blocking = read->blocking = 0;
        result =
            nl_py_owners_order_after(&owners, launch_in_stack_buffers(&on, k, read, args, nargs));
    }
    nl_py_owners_clear(&owners);
    return result;
}

/* Launches on the stream l->shape.stream. `named` is set if the user has specified this stream:
 * then it is used even if the owner of the arrays has another stream. `views` contains tensors that
 * the caller has already read, or is NULL. */
static PyObject *launch_kernel(nl_py_launcher *l, PyObject *const *args, Py_ssize_t nargs,
                               int named, const nl_dl_views *views) {
    nl_py_values read; /* not zero-initialized, because the struct is large */
    nl_error err;
    int result = -1;
    nl_device *dev = nl_device_current(&err);
    if (!dev)
        return nl_py_raise(&err);
    nl_py_values_init(&read, l->dispatcher->state, dev, l->shape.stream, l->blocking);
    read.current.views = views;
    nl_py_kernel *k = find_kernel(l, &read, args, nargs);
    const nl_params *params = k ? &k->kernel->params : NULL;
    if (__builtin_expect(k && nargs != params->count, 0))
        nl_py_dispatcher_raise_argument_count(l->dispatcher, k->kernel, args, nargs, params->count);
    else if (k)
        result = !named && may_have_owners(&read, args, nargs)
                     ? launch_for_owners(l, k, &read, args, nargs)
                     : launch_in_stack_buffers(l, k, &read, args, nargs);
    nl_py_values_clear(&read);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* Launches on a stream other than the launcher's. */
static __attribute__((noinline)) PyObject *launch_on(PyObject *stream, nl_py_launcher *l,
                                                     PyObject *const *args, Py_ssize_t nargs,
                                                     const nl_dl_views *views) {
    nl_py_launcher other = *l;
    if (nl_py_stream_from_argument(l->dispatcher->state, stream, &other.shape.stream,
                                   &other.blocking) < 0)
        return NULL;
    PyObject *result = launch_kernel(&other, args, nargs, 1, views);
    nl_atomic_store_pointer(&l->last, other.last);
    return result;
}

/* Calls callback(kernel, launcher) for each callback, before the arguments are read. Iterates over
 * a copy of the list, because callbacks may change the list. */
static __attribute__((noinline)) int call_launch_callbacks(nl_py_launcher *l, PyObject *const *args,
                                                           Py_ssize_t nargs) {
    PyObject *callbacks = PySequence_Tuple(l->callbacks), *kernel = NULL, *values = NULL;
    int result = callbacks ? 0 : -1;
    if (result == 0 && PyTuple_GET_SIZE(callbacks) > 0) {
        values = PyTuple_New(nargs);
        for (Py_ssize_t i = 0; values && i < nargs; i++)
            PyTuple_SET_ITEM(values, i, Py_NewRef(args[i]));
        if (values)
            kernel = PyObject_CallMethod((PyObject *)l->dispatcher, "overload_for", "(O)", values);
        result = kernel ? 0 : -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(callbacks); i++) {
        PyObject *done = PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(callbacks, i), kernel,
                                                      (PyObject *)l, NULL);
        result = done ? 0 : -1;
        Py_XDECREF(done);
    }
    Py_XDECREF(values);
    Py_XDECREF(kernel);
    Py_XDECREF(callbacks);
    return result;
}

static PyObject *launch_with_callbacks(nl_py_launcher *l, PyObject *const *args, Py_ssize_t nargs,
                                       const nl_dl_views *views) {
    if (__builtin_expect(l->callbacks != NULL, 0)) {
        if (call_launch_callbacks(l, args, nargs) < 0)
            return NULL;
        views = NULL; /* the callbacks may have changed the tensors */
    }
    if (!l->stream && (nl_capture_is_any_active() || nl_py_stream_current()))
        return launch_on(NULL, l, args, nargs, views);
    return launch_kernel(l, args, nargs, l->stream != NULL, views);
}

int nl_py_launcher_launch(nl_py_dispatcher *d, const nl_launch *shape, int blocking,
                          PyObject *stream, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_launcher l = {.dispatcher = d, .stream = stream, .blocking = blocking};
    memcpy(&l.shape, shape, sizeof *shape); /* with padding: compared as bytes */
    PyObject *done = launch_with_callbacks(&l, args, nargs, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- keywords and defaults ---- */

static Py_ssize_t position_of_name(PyObject *names, PyObject *name) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *candidate = PyTuple_GET_ITEM(names, i);
        if (candidate == name || PyUnicode_Compare(candidate, name) == 0)
            return i;
    }
    return -1;
}

/* Returns a borrowed reference to the default value of a parameter, or NULL if it has none. */
static PyObject *default_argument(const nl_py_dispatcher *d, Py_ssize_t i) {
    Py_ssize_t count = d->defaults ? PyTuple_GET_SIZE(d->defaults) : 0;
    i -= PyTuple_GET_SIZE(d->parameters) - count;
    return i < 0 ? NULL : PyTuple_GET_ITEM(d->defaults, i);
}

/* Sorts the arguments by parameter and adds defaults. `args` contains the values of the keyword
 * arguments after those of the positional arguments; `keywords` may be NULL. */
static int order_keywords(nl_py_dispatcher *d, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *keywords, PyObject **ordered) {
    Py_ssize_t wanted = PyTuple_GET_SIZE(d->parameters), missing = 0;
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        Py_ssize_t at = position_of_name(d->parameters, name);
        if (at < 0) {
            PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'", d->name,
                         name);
            return -1;
        }
        if (ordered[at]) {
            PyErr_Format(PyExc_TypeError, "%U() got multiple values for argument '%U'", d->name,
                         name);
            return -1;
        }
        ordered[at] = args[nargs + i];
    }
    for (Py_ssize_t i = 0; i < wanted; i++)
        missing += !ordered[i] && !(ordered[i] = default_argument(d, i));
    if (missing)
        nl_py_dispatcher_raise_argument_count(d, NULL, ordered, wanted, wanted);
    return missing ? -1 : 0;
}

static PyObject *launch_with_keywords(nl_py_launcher *l, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *keywords) {
    PyObject *inline_ordered[INLINE_ARGS], **ordered = inline_ordered, *result = NULL;
    nl_py_dispatcher *d = l->dispatcher;
    nl_error err;
    if (!d->parameters)
        return PyErr_Format(PyExc_TypeError, "%U() takes no keyword arguments", d->name);
    Py_ssize_t wanted = PyTuple_GET_SIZE(d->parameters);
    if (nargs > wanted) {
        nl_py_dispatcher_raise_argument_count(d, NULL, args, nargs, wanted);
        return NULL;
    }
    if (wanted > INLINE_ARGS) {
        ordered = nl_mem_alloc((size_t)wanted * sizeof *ordered, &err);
        if (!ordered)
            return nl_py_raise(&err);
    }
    for (Py_ssize_t i = 0; i < wanted; i++)
        ordered[i] = i < nargs ? args[i] : NULL;
    if (order_keywords(d, args, nargs, keywords, ordered) == 0)
        result = launch_with_callbacks(l, ordered, wanted, NULL);
    if (ordered != inline_ordered)
        nl_mem_free(ordered);
    return result;
}

/* ---- on the stream of a call ---- */

/* _on(stream, *args): launches on a stream other than the launcher's. */
static PyObject *launcher_launch_on_stream(PyObject *self, PyObject *const *args,
                                           Py_ssize_t nargs) {
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "_on() takes a stream, then the kernel's arguments");
        return NULL;
    }
    return launch_on(args[0], (nl_py_launcher *)self, args + 1, nargs - 1, NULL);
}

/* Adds the launch to the trace, with the stream as an argument, because a replay may use another
 * bound stream. */
static PyObject *record_launch_in_trace(nl_py_launcher *l, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *keywords) {
    PyObject *given[1 + INLINE_ARGS] = {l->stream}, *launcher, *on, *result = NULL;
    nl_launch shape = l->shape;
    if (nargs > INLINE_ARGS || keywords) {
        nl_py_trace_invalidate();
        return nl_py_trace_call((PyObject *)l, args, (size_t)nargs, keywords);
    }
    shape.stream = NULL;
    memcpy(given + 1, args, (size_t)nargs * sizeof *args);
    launcher = nl_py_launcher_new(l->dispatcher, &shape, 1, NULL);
    on = launcher ? PyObject_GetAttrString(launcher, "_on") : NULL;
    if (on)
        result = nl_py_trace_call(on, given, (size_t)nargs + 1, NULL);
    Py_XDECREF(on);
    Py_XDECREF(launcher);
    return result;
}

/* Returns whether default values must replace missing arguments. */
static int has_missing_arguments(const nl_py_launcher *l, Py_ssize_t nargs) {
    return l->dispatcher->defaults && nargs < PyTuple_GET_SIZE(l->dispatcher->parameters);
}

static PyObject *launcher_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                     PyObject *keywords) {
    nl_py_launcher *l = (nl_py_launcher *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nl_py_is_tracing() && l->stream)
        return record_launch_in_trace(l, args, nargs, keywords);
    if (nl_py_is_tracing())
        return nl_py_trace_call(self, args, nargsf, keywords);
    if ((keywords && PyTuple_GET_SIZE(keywords)) || has_missing_arguments(l, nargs))
        return launch_with_keywords(l, args, nargs, keywords);
    return launch_with_callbacks(l, args, nargs, NULL);
}

PyObject *nl_py_launcher_call(const nl_py_state *state, PyObject *callable, PyObject *const *args,
                              Py_ssize_t nargs, const nl_dl_views *views) {
    nl_py_launcher *l = (nl_py_launcher *)callable;
    if (!Py_IS_TYPE(callable, state->launcher_type) || nl_py_is_tracing() ||
        has_missing_arguments(l, nargs))
        return PyObject_Vectorcall(callable, args, (size_t)nargs, NULL);
    return launch_with_callbacks(l, args, nargs, views);
}

/* ---- type ---- */

PyObject *nl_py_launcher_new(nl_py_dispatcher *d, const nl_launch *shape, int blocking,
                             PyObject *stream) {
    PyTypeObject *type = d->state->launcher_type;
    const unsigned *grid = shape->grid;
    if ((uint64_t)grid[0] * grid[1] < SMALL_GRID &&
        (uint64_t)grid[0] * grid[1] * grid[2] < SMALL_GRID &&
        warn_once(d->warn_small, &d->warned_small) < 0)
        return NULL;
    nl_py_launcher *l = (nl_py_launcher *)type->tp_alloc(type, 0);
    if (!l)
        return NULL;
    l->vectorcall = launcher_vectorcall;
    l->dispatcher = (nl_py_dispatcher *)Py_NewRef((PyObject *)d);
    l->stream = Py_XNewRef(stream);
    l->blocking = blocking;
    memcpy(&l->shape, shape, sizeof *shape); /* with padding: compared as bytes */
    return (PyObject *)l;
}

/* A launcher needs no tp_clear: all objects to which it refers are older, so each cycle contains
 * another object that can break the cycle. */
static int launcher_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_launcher *l = (nl_py_launcher *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(l->dispatcher);
    Py_VISIT(l->stream);
    Py_VISIT(l->callbacks);
    return 0;
}

static void launcher_dealloc(PyObject *self) {
    nl_py_launcher *l = (nl_py_launcher *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(l->dispatcher);
    Py_XDECREF(l->stream);
    Py_XDECREF(l->callbacks);
    nl_py_free_object(self);
}

static PyObject *launcher_grid(PyObject *self, void *Py_UNUSED(closure)) {
    const unsigned *g = ((nl_py_launcher *)self)->shape.grid;
    return Py_BuildValue("(III)", g[0], g[1], g[2]);
}

static PyObject *launcher_block(PyObject *self, void *Py_UNUSED(closure)) {
    const unsigned *b = ((nl_py_launcher *)self)->shape.block;
    return Py_BuildValue("(III)", b[0], b[1], b[2]);
}

static PyObject *launcher_stream(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *stream = ((nl_py_launcher *)self)->stream;
    return stream ? Py_NewRef(stream) : PyLong_FromLong(0);
}

static PyObject *launcher_shared(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLong(((nl_py_launcher *)self)->shape.shared);
}

static PyObject *launcher_callbacks(PyObject *self, void *Py_UNUSED(closure)) {
    nl_py_launcher *l = (nl_py_launcher *)self;
    PyObject *result;
    Py_BEGIN_CRITICAL_SECTION(self);
    if (l->callbacks == NULL)
        l->callbacks = PyList_New(0);
    result = Py_XNewRef(l->callbacks);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyObject *launcher_dispatcher(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef((PyObject *)((nl_py_launcher *)self)->dispatcher);
}

static PyObject *launcher_config(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_BuildValue("(NNNN)", launcher_grid(self, NULL), launcher_block(self, NULL),
                         launcher_stream(self, NULL), launcher_shared(self, NULL));
}

static PyObject *launcher_reduce(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    PyObject *dispatcher = (PyObject *)((nl_py_launcher *)self)->dispatcher;
    PyObject *configure = PyObject_GetAttrString(dispatcher, "configure");
    PyObject *config = configure ? launcher_config(self, NULL) : NULL;
    PyObject *result = config ? PyTuple_Pack(2, configure, config) : NULL;
    Py_XDECREF(configure);
    Py_XDECREF(config);
    return result;
}

static PyMethodDef launcher_methods[] = {
    {"__reduce__", launcher_reduce, METH_NOARGS, "The kernel and its configuration."},
    {"_on", (PyCFunction)(void (*)(void))launcher_launch_on_stream, METH_FASTCALL,
     "_on(stream, *args): launches on a stream other than the launcher's."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef launcher_getset[] = {
    {"griddim", launcher_grid, NULL, "Blocks in the grid, along x, y and z.", NULL},
    {"blockdim", launcher_block, NULL, "Threads in a block, along x, y and z.", NULL},
    {"stream", launcher_stream, NULL, "The stream; 0 is the default stream.", NULL},
    {"sharedmem", launcher_shared, NULL, "Bytes of dynamic shared memory per block.", NULL},
    {"config", launcher_config, NULL, "(griddim, blockdim, stream, sharedmem)", NULL},
    {"pre_launch_callbacks", launcher_callbacks, NULL,
     "A list of functions, called as f(kernel, launcher) before each launch of this launcher.",
     NULL},
    {"dispatcher", launcher_dispatcher, NULL, "The kernel that is launched.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef launcher_members[] = {{"__vectorcalloffset__", Py_T_PYSSIZET,
                                          offsetof(nl_py_launcher, vectorcall), Py_READONLY, NULL},
                                         {NULL, 0, 0, 0, NULL}};

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, "The type of kernel[grid, block, stream, shared], whose call launches the kernel."},
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_traverse, launcher_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, launcher_methods},
    {Py_tp_getset, launcher_getset},
    {Py_tp_members, launcher_members},
    {0, NULL}};

static PyType_Spec launcher_spec = {
    .name = "numbalite._core.Launcher",
    .basicsize = sizeof(nl_py_launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = launcher_slots,
};

int nl_py_launcher_exec(PyObject *module) {
    return nl_py_state_add_type(module, &launcher_spec, NULL,
                                &nl_py_state_of(module)->launcher_type);
}
