/* py/reduction: the calls of ufunc.reduce and ufunc.accumulate, and the base of cuda.reduce. */
#ifndef NL_PY_REDUCTION_H
#define NL_PY_REDUCTION_H

#include "py/state.h"

/* Calls that are not planned in C call the methods _reduce and _accumulate. */
PyObject *nl_py_reduction_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords);
PyObject *nl_py_reduction_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *keywords);
/* _note(method, dtype of the array, dtype=, dtype of out=, Reducer, initial) */
PyObject *nl_py_reduction_note(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

#endif
