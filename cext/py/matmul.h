/* py/matmul: computes products of device arrays: `a @ b`, np.matmul. */
#ifndef NL_PY_MATMUL_H
#define NL_PY_MATMUL_H

#include "py/state.h"

/* nb_matrix_multiply of DeviceArray. */
PyObject *nl_py_matmul(PyObject *left, PyObject *right);

#endif
