/* py/capture: rules for the rest of the extension while a stream is captured. Objects that
 * captured work uses are kept alive. Operations that cannot be captured raise an exception before
 * any driver call, because an error of the driver invalidates the capture. */
#ifndef NL_PY_CAPTURE_H
#define NL_PY_CAPTURE_H

#include "py/state.h"
#include "core/capture.h"
#include "core/graph.h"

/* The struct of the Python type Graph, which py/graph defines. A capture refers to its
 * nl_py_graph. */
typedef struct nl_py_graph {
    PyObject_HEAD nl_py_state *state;
    nl_graph *graph;    /* NULL before the capture begins */
    PyObject *stream;   /* the captured stream */
    PyObject *kept;     /* list */
    PyObject *hooked;   /* list of the captured kernels that have a fault hook */
    PyObject *launches; /* list of CapturedLaunch */
    PyObject *scratch;  /* dict from the number of a captured stream to its workspace */
    PyObject *weakrefs;
} nl_py_graph;

/* Call the functions below only if nl_capture_is_any_active() returns 1, so that launches without a
 * capture make only that test. */

/* Returns the graph that the capture of this stream creates, or NULL. Returns a new reference. */
nl_py_graph *nl_py_capture_graph(CUstream stream);
/* If the stream is being captured, keeps the object alive as long as the graph and returns 1;
 * otherwise returns 0. Returns -1 with an exception on an error. `host`: the object is an array
 * from or to which the graph will copy. */
int nl_py_capture_keep_alive(CUstream stream, PyObject *object, int host);
/* Keeps a kernel alive that the caller is about to launch, like nl_py_capture_keep_alive. */
int nl_py_capture_keep_kernel(CUstream stream, PyObject *kernel, int has_hook);
/* Keeps the owner of an array's memory alive, like nl_py_capture_keep_alive. Returns 0, or -1 with
 * *err. */
int nl_py_capture_keep_owner(CUstream stream, PyObject *owner, nl_error *err);
/* Raises RuntimeError and returns -1 if the operation `what` uses the default stream in a thread
 * that captures another stream. */
int nl_py_capture_check_default_stream(CUstream stream, const char *what);
/* Raises RuntimeError and returns -1 if the stream is being captured, because the operation `what`
 * would have to wait for the stream. `advice` is the end of the message after "cannot be captured",
 * or "". */
int nl_py_capture_check_wait(CUstream stream, const char *what, const char *advice);
/* Raises RuntimeError and returns -1 if the stream, or any stream of the device, is being captured:
 * the operation `what` would wait for captured work or query captured work, which does not run
 * during a capture. */
int nl_py_capture_check_query(CUstream stream, const char *what);
int nl_py_capture_check_device(const nl_device *device, const char *what);

#endif
