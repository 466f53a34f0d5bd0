/* py/graph: the type Graph. */
#ifndef NL_PY_GRAPH_H
#define NL_PY_GRAPH_H

#include "py/state.h"
#include "py/kernel.h"

/* After nl_capture_under_way(): a launch has just been made; if it was captured, it is put into the
 * graph's list. 0 or -1. */
int nl_py_graph_add_launch(nl_py_kernel *kernel, const nl_launch *shape, PyObject *const *args,
                           PyObject *kept);

#endif
