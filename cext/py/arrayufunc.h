/* py/arrayufunc: NumPy's ufuncs on a DeviceArray. */
#ifndef NL_PY_ARRAYUFUNC_H
#define NL_PY_ARRAYUFUNC_H

#include "py/state.h"

int nl_py_arrayufunc_is_number(PyObject *obj);
/* Returns whether the operand is a plain array or a number. Other operands may define
 * __array_ufunc__ themselves.
 */
int nl_py_arrayufunc_is_array_or_number(const nl_py_state *state, PyObject *obj);

PyObject *nl_py_array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *keywords);

#endif
