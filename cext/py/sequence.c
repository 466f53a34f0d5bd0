/* py/sequence: numpy.arange of ints, as a new device array of int64. */
#include "py/copykernel.h"
#include "py/devarray.h"

enum {
    MAX_BITS = 53 /* Python code computes the length as a quotient of floats, exact up to here */
};

/* Reads first, stop and step. Returns 0 if Python code must read the arguments. */
static int read_ints(PyObject *const *args, Py_ssize_t nargs, int64_t *values) {
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int overflow = 1;
        if (PyLong_CheckExact(args[i]))
            values[i] = PyLong_AsLongLongAndOverflow(args[i], &overflow);
        if (overflow || values[i] > (int64_t)1 << MAX_BITS || values[i] < -((int64_t)1 << MAX_BITS))
            return 0;
    }
    if (nargs == 1) {
        values[1] = values[0];
        values[0] = 0;
    }
    return values[2] != 0;
}

static int64_t count_of_range(const int64_t *values) {
    const int64_t span = values[1] - values[0], step = values[2];
    if ((span > 0) != (step > 0) || span == 0)
        return 0;
    return span / step + (span % step != 0);
}

static int launch_sequence(const nl_py_state *state, PyObject *made, int64_t count,
                           const int64_t *values) {
    PyObject *kernel = nl_py_copykernel_find(state, NL_PY_COPYKERNEL_SEQUENCE, NULL, 0);
    PyObject *args[] = {made, kernel ? PyLong_FromLongLong(values[0]) : NULL, NULL};
    int result = -1;
    if (args[1])
        args[2] = PyLong_FromLongLong(values[2]);
    if (args[2])
        result = nl_py_copykernel_launch(
            kernel, (count + NL_PY_COPY_THREADS - 1) / NL_PY_COPY_THREADS, NULL, args, 3);
    Py_XDECREF(kernel);
    Py_XDECREF(args[1]);
    Py_XDECREF(args[2]);
    return result;
}

static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *keywords) {
    nl_py_state *state = nl_py_state_of(module);
    nl_layout layout = {.ndim = 1, .itemsize = sizeof(int64_t)};
    int64_t values[3] = {0, 0, 1};
    if (nargs < 1 || nargs > 3 || nl_py_count_keywords(keywords) || !read_ints(args, nargs, values))
        return Py_NewRef(Py_NotImplemented);
    layout.shape[0] = count_of_range(values);
    nl_layout_set_c(&layout);
    PyObject *descr = nl_py_hostarray_descr_of_dtype(NL_INT64), *made = NULL;
    if (descr)
        made = nl_py_devarray_empty(state, descr, nl_py_hostarray_element_of_descr(descr), &layout);
    Py_XDECREF(descr);
    if (made && layout.shape[0] && launch_sequence(state, made, layout.shape[0], values) < 0)
        Py_CLEAR(made);
    return made;
}

static PyMethodDef functions[] = {
    {"arange", (PyCFunction)(void (*)(void))arange, METH_FASTCALL | METH_KEYWORDS,
     "arange(first, stop, step): numpy.arange of ints on the current device. "
     "Returns NotImplemented for arguments that only Python code supports."},
    {NULL, NULL, 0, NULL}};

int nl_py_sequence_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
