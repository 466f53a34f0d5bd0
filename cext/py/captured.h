/* py/captured: the type CapturedLaunch, which makes up a graph's list of launches. */
#ifndef NL_PY_CAPTURED_H
#define NL_PY_CAPTURED_H

#include "py/state.h"
#include "core/graph.h"
#include "py/kernel.h"

/* The launch that was just captured, with its arguments and what was made of them (a list or NULL).
 * New reference. */
PyObject *nl_py_captured_new(nl_py_state *state, nl_graph *graph, nl_py_kernel *kernel,
                             const nl_launch *shape, PyObject *const *args, PyObject *kept);
/* Orders arguments that came by update() on a stream, as those of any launch. 0 or -1. */
int nl_py_captured_use(PyObject *self, CUstream stream, int blocking, nl_error *err);
/* (kernel, arguments) */
PyObject *nl_py_captured_pair(PyObject *self);

#endif
