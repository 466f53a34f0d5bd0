/* py/dlpackout: exports a DeviceArray to other libraries through DLPack. */
#ifndef NL_PY_DLPACKOUT_H
#define NL_PY_DLPACKOUT_H

#include "py/state.h"

PyObject *nl_py_dlpackout_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *nl_py_dlpackout_dlpack_device(PyObject *self, PyObject *unused);

#endif
