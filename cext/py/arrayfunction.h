/* py/arrayfunction: NumPy's functions on a DeviceArray. */
#ifndef NL_PY_ARRAYFUNCTION_H
#define NL_PY_ARRAYFUNCTION_H

#include "py/state.h"

PyObject *nl_py_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

#endif
