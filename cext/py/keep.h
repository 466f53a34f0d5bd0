/* py/keep: keeps Python objects alive until a stream has executed all earlier work. */
#ifndef NL_PY_KEEP_H
#define NL_PY_KEEP_H

#include "py/state.h"
#include "driver/driver.h"

/* Keeps a reference to `object` until the stream has executed all earlier work. Waits for the
 * stream if the host function cannot be launched. The caller must hold the interpreter's lock. */
int nl_py_keep_until_complete(PyObject *object, CUstream stream, nl_error *err);
/* Drops the objects whose streams are done. The interpreter also calls this function soon after a
 * stream is done. */
void nl_py_keep_drop_released(void);

#endif
