/* py/workspace: allocates memory for CUDA libraries in captured streams. */
#ifndef NL_PY_WORKSPACE_H
#define NL_PY_WORKSPACE_H

#include "py/state.h"
#include "core/handle.h"
#include "py/devarray.h"

/* Allocates `size` bytes on the current device, as an array that has no reference to a stream.
 * Returns a new reference. */
PyObject *nl_py_workspace_new(nl_py_state *state, size_t size);
/* Returns a new reference to at least `size` bytes of memory that belong to the graph for which the
 * stream is being captured, or to None if the stream is not being captured. Returns NULL with an
 * exception on an error. */
PyObject *nl_py_workspace_of_graph(CUstream stream, size_t size);

/* Sets *out to the workspace for a cuBLAS call on a stream of the current device; does not change
 * *out if the stream is not being captured. Call this function only if nl_capture_is_any_active()
 * returns 1. 0, or -1 with an exception. */
int nl_py_workspace_for_cublas(const nl_device *device, CUstream stream, nl_workspace *out);

#endif
