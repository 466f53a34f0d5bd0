/* py/workspace: memory for what CUDA's libraries do in captured streams. */
#ifndef NL_PY_WORKSPACE_H
#define NL_PY_WORKSPACE_H

#include "py/state.h"
#include "core/handle.h"
#include "py/devarray.h"

/* Device memory of so many bytes on the current device, as an array that holds no reference to a
 * stream. New reference. */
PyObject *nl_py_workspace_new(nl_py_state *state, size_t size);
/* Memory of so many bytes or more that belongs to the graph for which the stream is being captured;
 * None if the stream is not being captured. New reference, or
 * NULL with an exception. */
PyObject *nl_py_workspace_of_graph(CUstream stream, size_t size);

/* For a call of cuBLAS on a stream of the current device; *out stays as it is where the stream is
 * not being captured. After nl_capture_under_way(). 0, or -1 with an exception. */
int nl_py_workspace_blas(const nl_device *device, CUstream stream, nl_workspace *out);

#endif
