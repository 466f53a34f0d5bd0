/* py/launcher: the type Launcher: k[grid, block]. */
#ifndef NL_PY_LAUNCHER_H
#define NL_PY_LAUNCHER_H

#include "py/dispatcher.h"
#include "py/dlpack.h"

/* Returns a new Launcher of this configuration. Returns NULL with an exception. */
PyObject *nl_py_launcher_new(nl_py_dispatcher *d, const nl_launch *shape, int blocking,
                             PyObject *stream);
/* Launches a kernel without a Launcher object. `stream` is NULL for the default stream; the
 * stream's handle is in `shape`. 0, or -1 with an exception. */
int nl_py_launcher_launch(nl_py_dispatcher *d, const nl_launch *shape, int blocking,
                          PyObject *stream, PyObject *const *args, Py_ssize_t nargs);
/* Calls a launcher whose tensor arguments the caller has already read: `views` contains some of
 * them. Other callables are called normally. Returns a new reference, or NULL with an exception. */
PyObject *nl_py_launcher_call(const nl_py_state *state, PyObject *callable, PyObject *const *args,
                              Py_ssize_t nargs, const nl_dl_views *views);

#endif
