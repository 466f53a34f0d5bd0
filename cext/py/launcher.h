/* py/launcher: the type Launcher: k[grid, block]. */
#ifndef NL_PY_LAUNCHER_H
#define NL_PY_LAUNCHER_H

#include "py/dispatcher.h"

/* A launcher of this configuration. */
PyObject *nl_py_launcher_new(nl_py_dispatcher *d, const nl_launch *shape, int blocking,
                             PyObject *stream);

#endif
