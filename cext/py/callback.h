/* py/callback: Python functions that the driver calls when the work before them in a stream is
 * done. */
#ifndef NL_PY_CALLBACK_H
#define NL_PY_CALLBACK_H

#include "py/compat.h"
#include "core/device.h"

/* Puts `function`, to be called without arguments, behind the work of a stream. `stream` is the
 * Python object that keeps the handle alive until then. 0 or -1 with an exception. */
int nl_py_callback_add(PyObject *stream, nl_device *dev, CUstream handle, PyObject *function);

/* Callbacks that have not run to their end yet. While there are some, a driver call that may have
 * to wait for room in a queue must not be made with the interpreter's lock held. */
int nl_py_callbacks_pending(void);

/* Drops what a reset of the device has kept from ever being called. */
void nl_py_callbacks_purge(const nl_device *dev);

#endif
