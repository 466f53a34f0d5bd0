/* py/callback: Python functions that run when the earlier work of a stream is complete. */
#ifndef NL_PY_CALLBACK_H
#define NL_PY_CALLBACK_H

#include "py/compat.h"
#include "core/device.h"

/* Enqueues a call of `function()` on a stream; the call follows the earlier work of the stream.
 * `stream` is the Python object that keeps the stream's handle alive until that call. 0, or -1 with
 * an exception. */
int nl_py_callback_add(PyObject *stream, nl_device *dev, CUstream handle, PyObject *function);

/* Returns whether any callback has not ended. While callbacks are pending, a driver call that may
 * wait for a free entry in a queue must be made without the interpreter's lock. */
int nl_py_callbacks_pending(void);

/* Drops callbacks that can never run because their device was reset. */
void nl_py_callbacks_drop_outdated(const nl_device *dev);

#endif
