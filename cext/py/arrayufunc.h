/* py/arrayufunc: NumPy's ufuncs on a DeviceArray. */
#ifndef NL_PY_ARRAYUFUNC_H
#define NL_PY_ARRAYUFUNC_H

#include "py/state.h"

PyObject *nl_py_array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *keywords);

#endif
