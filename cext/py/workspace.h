/* py/workspace: memory for what CUDA's libraries do in captured streams. */
#ifndef NL_PY_WORKSPACE_H
#define NL_PY_WORKSPACE_H

#include "py/state.h"
#include "core/handle.h"

/* For a call of cuBLAS on a stream of the current device; *out stays as it is where the stream is
 * not being captured. After nl_capture_under_way(). 0, or -1 with an exception. */
int nl_py_workspace_blas(const nl_device *device, CUstream stream, nl_workspace *out);

#endif
