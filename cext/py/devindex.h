/* py/devindex: elements and views of a DeviceArray. */
#ifndef NL_PY_DEVINDEX_H
#define NL_PY_DEVINDEX_H

#include "py/devarray.h"

PyObject *nl_py_devindex_subscript(PyObject *self, PyObject *key);
PyObject *nl_py_devindex_item(PyObject *self, Py_ssize_t index);

#endif
