/* py/graph: the type Graph. */
#ifndef NL_PY_GRAPH_H
#define NL_PY_GRAPH_H

#include "py/state.h"
#include "py/kernel.h"

/* Adds the launch that was just made to the graph's list, if the launch was captured. Call this
 * function only if nl_capture_is_any_active() returns 1. 0, or -1 with an exception. */
int nl_py_graph_add_launch(nl_py_kernel *kernel, const nl_launch *shape, PyObject *const *args,
                           PyObject *kept);

#endif
