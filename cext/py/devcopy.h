/* py/devcopy: copies from and to a DeviceArray. */
#ifndef NL_PY_DEVCOPY_H
#define NL_PY_DEVCOPY_H

#include "py/devarray.h"

PyObject *nl_py_devcopy_read_element(const nl_py_array *a, CUdeviceptr address);
/* Reads the element of a 0-D array like nl_py_devcopy_read_element, in the order of a stream (NULL:
 * the array's usual stream). */
PyObject *nl_py_devcopy_read_element_on(const nl_py_array *a, CUstream stream);
PyObject *nl_py_devcopy_read(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *nl_py_devcopy_download(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *nl_py_devcopy_would_be_captured(PyObject *self, PyObject *unused);
PyObject *nl_py_devcopy_write(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *nl_py_devcopy_copy(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *nl_py_devcopy_fill(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
