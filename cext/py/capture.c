/* py/capture: keeps objects alive and rejects operations during a capture. The map from captured
 * streams to threads and graphs is in core/capture. */
#include "py/capture.h"

#include "base/lock.h"

static void retain_object(void *object) {
    Py_INCREF((PyObject *)object);
}

nl_py_graph *nl_py_capture_graph(CUstream stream) {
    return nl_capture_retain_owner(stream, retain_object);
}

static int append_if_not_last(PyObject *list, PyObject *object) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (n > 0 && PyList_GET_ITEM(list, n - 1) == object)
        return 0;
    return PyList_Append(list, object);
}

int nl_py_capture_keep_alive(CUstream stream, PyObject *object, int host) {
    nl_py_graph *g = nl_py_capture_graph(stream);
    if (!g)
        return 0;
    int result = append_if_not_last(g->kept, object) < 0 ? -1 : 1;
    if (host)
        nl_atomic_store(&g->graph->touches_host, 1);
    Py_DECREF(g);
    return result;
}

int nl_py_capture_keep_kernel(CUstream stream, PyObject *kernel, int has_hook) {
    nl_py_graph *g = nl_py_capture_graph(stream);
    if (!g)
        return 0;
    int result = append_if_not_last(g->kept, kernel) < 0 ||
                         (has_hook && append_if_not_last(g->hooked, kernel) < 0)
                     ? -1
                     : 1;
    Py_DECREF(g);
    return result;
}

int nl_py_capture_keep_owner(CUstream stream, PyObject *owner, nl_error *err) {
    if (stream == NULL || nl_py_capture_keep_alive(stream, owner, 0) >= 0)
        return 0;
    PyErr_Clear();
    return nl_error_no_memory(err, sizeof(PyObject *));
}

int nl_py_capture_check_default_stream(CUstream stream, const char *what) {
    if ((stream && stream != CU_STREAM_LEGACY) || !nl_capture_is_active_in_thread())
        return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "%s on the default stream inside a capture would not be part of the graph: "
                 "pass the captured stream (stream=), or do it before the capture",
                 what);
    return -1;
}

int nl_py_capture_check_wait(CUstream stream, const char *what, const char *advice) {
    if (!nl_capture_has_stream(stream))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s cannot be captured%s", what, advice);
    return -1;
}

static int raise_query_in_capture(const char *what, const char *where) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s while %s is being captured: "
                 "a capture records work, which runs when the graph is launched. "
                 "Do it before the capture begins or after it ends",
                 what, where);
    return -1;
}

int nl_py_capture_check_query(CUstream stream, const char *what) {
    return nl_capture_has_stream(stream) ? raise_query_in_capture(what, "the stream") : 0;
}

int nl_py_capture_check_device(const nl_device *device, const char *what) {
    return nl_capture_is_on_device(device) ? raise_query_in_capture(what, "a stream of this device")
                                           : 0;
}
