/* py/trace: records the device operations of a Python function as a trace, and replays the trace
 * for other arrays of the same layout and dtype.
 *
 * While a thread records, this file adds the thread's calls of launchers and ufuncs, and its copies
 * between arrays, to the trace. A trace stores each call and the origin of each array of the call:
 * an argument, a new array, a result of an earlier call, or a view of one of these. For each array,
 * a trace stores whether the array is bound to the stream of the call. An operation that cannot be
 * replayed invalidates the trace, for example a wait, a read of an element, or the use of an array
 * or a stream of unknown origin. */
#ifndef NL_PY_TRACE_H
#define NL_PY_TRACE_H

#include "py/devarray.h"

typedef struct nl_py_tracer nl_py_tracer;

/* The recorder of the calling thread; the pointer is NULL unless the thread records a trace. */
extern NL_THREAD_LOCAL nl_py_tracer *nl_py_trace_current;

static inline int nl_py_is_tracing(void) {
    return __builtin_expect(nl_py_trace_current != NULL, 0);
}

/* ---- these functions are hooks for device operations; call them only while this thread records
 * ---- */

/* Makes a call and adds the call to the trace. */
PyObject *nl_py_trace_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                           PyObject *keywords);
/* Looks up a function in a module, then records its call like nl_py_trace_call. */
PyObject *nl_py_trace_call_by_name(const char *module, const char *name, PyObject *const *args,
                                   Py_ssize_t nargs, PyObject *keywords);
/* Records a call of a method of a device array like nl_py_trace_call. */
PyObject *nl_py_trace_method(PyObject *self, const char *name, PyObject *args, PyObject *kwargs);
/* Invalidates the trace that this thread is recording, if any. */
void nl_py_trace_invalidate(void);

/* ---- traces ---- */

/* Calls function(*args) and records a trace. `inputs` are the device arrays among the arguments.
 * `stream` is the stream to which some of these arrays are bound, or the current stream, or NULL.
 * *trace is a new reference, or NULL if the call cannot be replayed. */
PyObject *nl_py_trace_record(nl_py_state *state, PyObject *function, PyObject *const *args,
                             size_t nargsf, PyObject *keywords, PyObject *const *inputs, int count,
                             PyObject *stream, PyObject **trace);
/* Replays a trace for other input arrays and their stream, without calling the traced function.
 * Returns the result that the traced function would return. */
PyObject *nl_py_trace_replay(PyObject *trace, PyObject *const *inputs, PyObject *stream);
/* Returns the estimated memory of a trace in bytes. */
size_t nl_py_trace_size(PyObject *trace);
/* Returns whether the trace was replayed since the last call of nl_py_trace_was_replayed. */
int nl_py_trace_was_replayed(PyObject *trace);

#endif
