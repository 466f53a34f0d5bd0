/* py/copykernel: implements the cache of kernels, and their launch. */
#include "py/copykernel.h"

#include <string.h>
#include "py/launcher.h"
#include "py/stream.h"
#include "py/trace.h"

static const struct {
    const char *module, *function;
} sources[] = {
    [NL_PY_COPYKERNEL_JOIN] = {"numbalite.ndarray.batchcopy", "join_kernel"},
    [NL_PY_COPYKERNEL_CAST] = {"numbalite.ndarray.batchcopy", "cast_kernel"},
    [NL_PY_COPYKERNEL_TRANSPOSE] = {"numbalite.ndarray.batchcopy", "transpose_kernel"},
    [NL_PY_COPYKERNEL_GATHER] = {"numbalite.ndarray.gather", "gather_kernel"},
    [NL_PY_COPYKERNEL_SEQUENCE] = {"numbalite.functions.creation", "sequence_kernel"},
};

static PyObject *make_kernel(nl_py_copykernel_kind kind, const int *numbers, int count) {
    PyObject *module = PyImport_ImportModule(sources[kind].module), *result = NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, sources[kind].function) : NULL;
    PyObject *args = function ? PyTuple_New(count) : NULL;
    for (int i = 0; args && i < count; i++) {
        PyObject *number = PyLong_FromLong(numbers[i]);
        if (!number)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, number);
    }
    if (args)
        result = PyObject_Call(function, args, NULL);
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

PyObject *nl_py_copykernel_find(const nl_py_state *state, nl_py_copykernel_kind kind,
                                const int *numbers, int count) {
    uint64_t code = (uint64_t)kind;
    for (int i = 0; i < count; i++)
        code = code << 8 | (uint64_t)numbers[i];
    PyObject *found = NULL, *key = PyLong_FromUnsignedLongLong(code);
    if (key && PyDict_GetItemRef(state->copy_kernels, key, &found) >= 0 && !found) {
        found = make_kernel(kind, numbers, count);
        if (found && PyDict_SetItem(state->copy_kernels, key, found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(key);
    return found;
}

int nl_py_copykernel_launch(PyObject *kernel, int64_t blocks, PyObject *stream,
                            PyObject *const *args, Py_ssize_t nargs) {
    nl_py_dispatcher *d = (nl_py_dispatcher *)kernel;
    nl_launch shape;
    int blocking = 1;
    memset(&shape, 0, sizeof shape); /* shapes are compared as bytes */
    if (blocks > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "a copy of %lld blocks is too large for a launch",
                     (long long)blocks);
        return -1;
    }
    shape.grid[0] = (unsigned)blocks;
    shape.block[0] = NL_PY_COPY_THREADS;
    shape.grid[1] = shape.grid[2] = shape.block[1] = shape.block[2] = 1;
    if (stream && nl_py_stream_read(d->state, stream, &shape.stream, &blocking) < 0)
        return -1;
    if (!nl_py_is_tracing())
        return nl_py_launcher_launch(d, &shape, blocking, stream, args, nargs);
    PyObject *launcher = nl_py_launcher_new(d, &shape, blocking, stream);
    PyObject *done = launcher ? PyObject_Vectorcall(launcher, args, (size_t)nargs, NULL) : NULL;
    Py_XDECREF(launcher);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int nl_py_copykernel_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->copy_kernels = PyDict_New();
    return state->copy_kernels ? PyModule_AddObjectRef(module, "copy_kernels", state->copy_kernels)
                               : -1;
}
