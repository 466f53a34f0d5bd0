/* py/stream: the types Stream and Event, and what a `stream=` argument means. */
#ifndef NL_PY_STREAM_H
#define NL_PY_STREAM_H

#include "py/state.h"
#include "core/stream.h"
#include "py/callback.h"

typedef struct nl_py_stream {
    PyObject_HEAD nl_stream *stream;
    PyObject *owner; /* Stream.wrap(handle, owner): kept alive */
    PyObject *weakrefs;
} nl_py_stream;

/* The Stream of this thread for work that names none (`with stream:`, or what the arrays of a call
 * are bound to). NULL nearly always: the default stream. */
extern NL_THREAD_LOCAL PyObject *nl_py_stream_here;

/* Is it known to be ordered with the default stream? */
int nl_py_stream_is_ordered(PyObject *stream);

PyObject *nl_py_stream_of_device(void);
/* The same for work on the current device; borrowed. */
static inline PyObject *nl_py_stream_current(void) {
    return __builtin_expect(nl_py_stream_here != NULL, 0) ? nl_py_stream_of_device() : NULL;
}
/* From now on it is this one (or NULL); new reference to the one before. */
PyObject *nl_py_stream_swap(PyObject *stream);
/* callable(*args), with this one as the current one. */
PyObject *nl_py_stream_call(PyObject *stream, vectorcallfunc function, PyObject *callable,
                            PyObject *const *args, size_t nargsf, PyObject *keywords);

/* The same object, or NULL for NULL, None and 0. */
PyObject *nl_py_stream_or_null(PyObject *stream);
/* Reads a stream argument: NULL, None and 0 are the thread's current stream (the captured one in a
 * thread that captures), else a Stream or an object with __cuda_stream__; anything else is a
 * TypeError. blocking: the stream is ordered with the legacy default stream (NULL if not wanted).
 * The caller keeps `argument` alive while it uses the handle. 0 or -1 with an exception. */
int nl_py_stream_from(nl_py_state *state, PyObject *argument, CUstream *handle, int *blocking);
/* The same, for what outlives a capture, or a block: NULL, None and 0 stay the default stream. And
 * while the stream is being captured `blocking` is 0 above, so that all arrays go by nl_buffer_use,
 * and here it is what the stream is. */
int nl_py_stream_read(nl_py_state *state, PyObject *argument, CUstream *handle, int *blocking);

/* The handle for 0 and None, too: that of the current stream; captures aside. */
int nl_py_stream_number(nl_py_state *state, PyObject *argument, CUstream *handle);

/* A new Stream over a handle that others made and destroy; `owner` (or NULL) is kept alive by it.
 */
PyObject *nl_py_stream_over(nl_py_state *state, CUstream handle, PyObject *owner);

#endif
