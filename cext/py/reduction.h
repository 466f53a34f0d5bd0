/* py/reduction: reductions and scans of device arrays that are called again. The first call with
 * arrays of some geometry is worked out in Python (numbalite/ufuncs), which notes how it was made;
 * the next ones are compared, launched and returned here. */
#ifndef NL_PY_REDUCTION_H
#define NL_PY_REDUCTION_H

#include "py/state.h"

/* A call as it was written; borrowed, NULL or None where nothing was given. */
typedef struct nl_py_call {
    char method;    /* 'r' or 'a' */
    int32_t number; /* what else the result depends on */
    PyObject *array, *axis, *dtype, *out, *keepdims, *stream;
} nl_py_call;

int nl_py_reduction_gives(PyObject *value);
/* `known` is a dict of calls. The result, or NULL: without an exception if the call is not known.
 */
PyObject *nl_py_reduction_repeat(PyObject *known, nl_py_state *state, const nl_py_call *r);
/* How a call was made, and the array that it wrote. */
int nl_py_reduction_note(PyObject *known, nl_py_state *state, const nl_py_call *r, PyObject *plan,
                         PyObject *made);

/* ufunc.reduce and ufunc.accumulate; what is not known goes to the methods _reduce and _accumulate.
 */
PyObject *nl_py_ufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *keywords);
PyObject *nl_py_ufunc_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords);
/* _note(method, plan, made, array, axis, dtype, out, keepdims) */
PyObject *nl_py_ufunc_note(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

#endif
