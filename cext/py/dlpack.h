/* py/dlpack: arrays of other libraries, and to them, through DLPack. */
#ifndef NL_PY_DLPACK_H
#define NL_PY_DLPACK_H

#include "py/devarray.h"

/* 1 and a new DeviceArray over the memory of `obj`, which is kept, if it has __dlpack__ and its
 * memory is a device's; 0 if not; -1 with an exception. Work on `stream` comes after the
 * producer's. */
int nl_py_dlpack_import(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array);

#endif
