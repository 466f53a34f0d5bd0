/* py/reduction: the calls of ufunc.reduce and ufunc.accumulate, and the base of cuda.reduce. */
#ifndef NL_PY_REDUCTION_H
#define NL_PY_REDUCTION_H

#include "py/state.h"

/* Calls that C code cannot plan are passed to the Python methods _reduce and _accumulate. */
PyObject *nl_py_reduction_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords);
PyObject *nl_py_reduction_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *keywords);
/* Implements _note(method, dtype of the array, dtype=, dtype of out=, Reducer, initial). */
PyObject *nl_py_reduction_store_reducer(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

#endif
