/* py/graphkernel: the type CapturedLaunch; a graph has a list of such objects. */
#ifndef NL_PY_GRAPHKERNEL_H
#define NL_PY_GRAPHKERNEL_H

#include "py/state.h"
#include "core/graph.h"
#include "py/kernel.h"

/* Returns a CapturedLaunch for the launch that was just captured, with its arguments and the list
 * of arrays that were made from them, or NULL. Returns a new reference, or NULL with an
 * exception. */
PyObject *nl_py_graphkernel_new(nl_py_state *state, nl_graph *graph, nl_py_kernel *kernel,
                                const nl_launch *shape, PyObject *const *args, PyObject *kept);
/* Called before a launch of the graph: makes `stream` wait for arrays that update() has set, as
 * nl_py_devarray_order_with_stream does for a launch. 0, or -1 with *err. */
int nl_py_graphkernel_order_arrays(PyObject *self, CUstream stream, int blocking, nl_error *err);
/* (kernel, arguments) */
PyObject *nl_py_graphkernel_kernel_and_args(PyObject *self);

#endif
