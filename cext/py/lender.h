/* py/lender: the current streams of the libraries whose memory device arrays use.
 *
 * PyTorch and CuPy have a current stream, which the program may change at any time. So a device
 * array over memory of these libraries reads the current stream at each use, instead of storing the
 * stream at the time of its creation. */
#ifndef NL_PY_LENDER_H
#define NL_PY_LENDER_H

#include "py/devarray.h"
#include "py/dlpack.h"
#include "py/stream.h"

/* Returns whether `obj` is an array of a library that reports its current stream. Device arrays
 * over the memory of a library with a current stream have the flag NL_PY_ARRAY_LENT. */
int nl_py_lender_has_stream(nl_py_state *state, PyObject *obj);
/* Returns a new reference to the current stream of the library that owns the array. Returns NULL
 * without an exception for the default stream, NULL with an exception on an error. */
PyObject *nl_py_lender_array_stream(nl_py_array *a);

/* Reads the current stream, on this device, of the library to which `obj` belongs. On success,
 * returns 1, sets *handle, and sets *keeper to a new reference to an object that keeps the stream
 * alive, or NULL. Returns 0 if the library reports no stream, or -1 with an exception. */
int nl_py_lender_stream(nl_py_state *state, PyObject *obj, const nl_device *dev,
                        nl_dl_current *current, CUstream *handle, PyObject **keeper);
/* Returns a new reference to a Stream that wraps the stream handle of a library. */
PyObject *nl_py_lender_stream_for_view(nl_py_state *state, const nl_device *dev, CUstream handle,
                                       PyObject *keeper);
static inline int nl_py_lender_is_default(CUstream handle) {
    return (uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD;
}

#endif
