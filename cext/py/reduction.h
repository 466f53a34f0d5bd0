/* py/reduction: reductions and scans of device arrays that are called again. The first call with
 * arrays of some geometry is worked out in Python (numbalite/ufuncs), which notes how it was made;
 * the next ones are compared, launched and returned here. */
#ifndef NL_PY_REDUCTION_H
#define NL_PY_REDUCTION_H

#include "py/state.h"

/* ufunc.reduce and ufunc.accumulate; what is not known goes to the methods _reduce and _accumulate.
 */
PyObject *nl_py_ufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *keywords);
PyObject *nl_py_ufunc_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords);
/* _note(method, plan, made, array, axis, dtype, out, keepdims) */
PyObject *nl_py_ufunc_note(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

#endif
