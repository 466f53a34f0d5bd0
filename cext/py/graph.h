/* py/graph: the types Graph and CapturedLaunch, and what a capture under way asks of the rest: that
 * what captured work uses is kept, and that what cannot be captured is refused before the driver
 * refuses it, for then the capture would be lost. */
#ifndef NL_PY_GRAPH_H
#define NL_PY_GRAPH_H

#include "py/state.h"
#include "core/graph.h"
#include "py/kernel.h"

/* All of these only after nl_capture_under_way(), so that ordinary calls pay for one test. */

/* If work on the stream is being captured, keeps the object as long as the graph: 1; else 0, or -1
 * with an exception. `host`: it is an array that the graph will copy from or to. */
int nl_py_graph_keep(CUstream stream, PyObject *object, int host);
/* The same for a kernel that is about to be launched. */
int nl_py_graph_keep_kernel(CUstream stream, nl_py_kernel *kernel);
/* RuntimeError (-1) if `what` goes to the default stream from a thread that captures another. */
int nl_py_graph_check_default(CUstream stream, const char *what);
/* RuntimeError (-1) if work on the stream is being captured: `what` has to wait; `advice` ("" or
 * what follows "cannot be captured") says what to do. */
int nl_py_graph_check_waiting(CUstream stream, const char *what, const char *advice);
/* RuntimeError (-1) if work on the stream, or on any stream of the device, is being captured:
 * `what` would wait for, or ask about, work that does not run now. */
int nl_py_graph_check_asking(CUstream stream, const char *what);
int nl_py_graph_check_device(const nl_device *device, const char *what);
/* A launch has just been made: if it was captured, it is put into the graph's list. 0 or -1. */
int nl_py_graph_add_launch(nl_py_kernel *kernel, const nl_launch *shape, PyObject *const *args,
                           PyObject *kept);

#endif
