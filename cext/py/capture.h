/* py/capture: what a capture under way asks of the rest: that what captured work uses is kept, and
 * that what cannot be captured is refused before the driver refuses it, for then the capture would
 * be lost. */
#ifndef NL_PY_CAPTURE_H
#define NL_PY_CAPTURE_H

#include "py/state.h"
#include "core/capture.h"
#include "core/graph.h"

/* The type Graph is in py/graph; a capture refers to the one that it is for. */
typedef struct nl_py_graph {
    PyObject_HEAD nl_py_state *state;
    nl_graph *graph;    /* NULL: the capture has not begun */
    PyObject *stream;   /* that was captured */
    PyObject *kept;     /* list */
    PyObject *hooked;   /* list: those of the kernels that report faults */
    PyObject *launches; /* list of CapturedLaunch */
    PyObject *scratch;  /* dict: number of a captured stream -> its workspace */
    PyObject *weakrefs;
} nl_py_graph;

/* All of these only after nl_capture_under_way(), so that ordinary calls pay for one test. */

/* The graph that work on the stream is being captured for, or NULL. New reference. */
nl_py_graph *nl_py_capture_graph(CUstream stream);
/* If work on the stream is being captured, keeps the object as long as the graph: 1; else 0, or -1
 * with an exception. `host`: it is an array that the graph will copy from or to. */
int nl_py_capture_keep(CUstream stream, PyObject *object, int host);
/* The same for a kernel that is about to be launched. */
int nl_py_capture_keep_kernel(CUstream stream, PyObject *kernel, int has_hook);
/* The same for what an array's memory belongs to; 0 or -1 with *err. */
int nl_py_capture_keep_owner(CUstream stream, PyObject *owner, nl_error *err);
/* RuntimeError (-1) if `what` goes to the default stream from a thread that captures another. */
int nl_py_capture_check_default(CUstream stream, const char *what);
/* RuntimeError (-1) if work on the stream is being captured: `what` has to wait; `advice` ("" or
 * what follows "cannot be captured") says what to do. */
int nl_py_capture_check_waiting(CUstream stream, const char *what, const char *advice);
/* RuntimeError (-1) if work on the stream, or on any stream of the device, is being captured:
 * `what` would wait for, or ask about, work that does not run now. */
int nl_py_capture_check_asking(CUstream stream, const char *what);
int nl_py_capture_check_device(const nl_device *device, const char *what);

#endif
