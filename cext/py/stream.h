/* py/stream: the type Stream, and reading `stream=` arguments. */
#ifndef NL_PY_STREAM_H
#define NL_PY_STREAM_H

#include "py/state.h"
#include "core/stream.h"
#include "py/callback.h"

typedef struct nl_py_stream {
    PyObject_HEAD nl_stream *stream;
    PyObject *owner; /* object that Stream.wrap(handle, owner) keeps alive */
    PyObject *weakrefs;
} nl_py_stream;

/* The current stream of this thread, used by work without stream= (`with stream:`, or the bound
 * stream of a call's arrays). The value NULL is the default stream, which is current in most
 * threads. */
extern NL_THREAD_LOCAL PyObject *nl_py_stream_here;

/* Returns whether the stream is ordered with the default stream; also returns 1 if an error
 * occurs. */
int nl_py_stream_is_ordered(PyObject *stream);

PyObject *nl_py_stream_current_of_device(void);
/* Returns a borrowed reference to the current stream if it is on the current device, else NULL. */
static inline PyObject *nl_py_stream_current(void) {
    return __builtin_expect(nl_py_stream_here != NULL, 0) ? nl_py_stream_current_of_device() : NULL;
}
/* Sets the current stream, or removes it for NULL. Returns a new reference to the previous current
 * stream. */
PyObject *nl_py_stream_swap_current(PyObject *stream);
/* Calls function(callable, args...) while `stream` is the current stream. */
PyObject *nl_py_stream_call_on(PyObject *stream, vectorcallfunc function, PyObject *callable,
                               PyObject *const *args, size_t nargsf, PyObject *keywords);

/* Returns the argument, or NULL if the argument is NULL, None or 0. */
PyObject *nl_py_stream_null_if_none(PyObject *stream);
/* Reads a stream argument. NULL, None and 0 are the thread's current stream, or the captured stream
 * in a thread that captures. Any other argument must be a Stream or an object with __cuda_stream__,
 * else TypeError is raised. *blocking is set if the stream is ordered with the legacy default
 * stream (`blocking` may be NULL). The caller must keep `argument` alive while it uses the handle.
 * 0, or -1 with an exception. */
int nl_py_stream_from_argument(nl_py_state *state, PyObject *argument, CUstream *handle,
                               int *blocking);
/* Reads a stream argument like nl_py_stream_from_argument, but for objects that outlive a capture
 * or a `with` block: NULL, None and 0 are the default stream. During a capture of the stream,
 * nl_py_stream_from_argument sets *blocking to 0, so that all arrays pass through
 * nl_buffer_order_with_stream, but nl_py_stream_read sets *blocking to the stream's real property.
 */
int nl_py_stream_read(nl_py_state *state, PyObject *argument, CUstream *handle, int *blocking);

/* Reads a stream's number as nl_py_stream_read reads a handle, except that 0 and None are the
 * current stream. An active capture does not change the result. */
int nl_py_stream_number(nl_py_state *state, PyObject *argument, CUstream *handle);

/* Returns a new Stream for a handle that another library creates and destroys. The Stream keeps
 * `owner` (or NULL) alive. */
PyObject *nl_py_stream_wrap_handle(nl_py_state *state, CUstream handle, PyObject *owner);

#endif
