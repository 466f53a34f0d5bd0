/* py/lender: libraries whose memory device arrays use, and the streams on which they work.
 *
 * PyTorch and CuPy have a current stream, which a program changes at any time. So a device array
 * over their memory asks for it at each use, instead of keeping the stream of the time when it was
 * made. */
#ifndef NL_PY_LENDER_H
#define NL_PY_LENDER_H

#include "py/devarray.h"
#include "py/dlpack.h"
#include "py/stream.h"

/* Is `obj` an array of a library whose current stream is available? Device arrays over it are
 * marked with NL_PY_ARRAY_LENT. */
int nl_py_lender_is(nl_py_state *state, PyObject *obj);
/* The stream on which the owner of the array works now, new reference; NULL: the default stream, or
 * with an exception. */
PyObject *nl_py_array_stream(nl_py_array *a);

/* The current stream of the library of `obj` on this device: 1 and *handle, with what keeps it
 * alive (new reference, or NULL); 0 if the library has none; -1 with an exception. */
int nl_py_lender_stream(nl_py_state *state, PyObject *obj, const nl_device *dev,
                        nl_dl_current *current, CUstream *handle, PyObject **keeper);
/* A Stream over a handle of a library, new reference. */
PyObject *nl_py_lender_stream_over(nl_py_state *state, const nl_device *dev, CUstream handle,
                                   PyObject *keeper);
static inline int nl_py_lender_is_default(CUstream handle) {
    return (uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD;
}

#endif
