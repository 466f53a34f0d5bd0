/* py/workspace: allocates workspaces for captured calls of CUDA libraries. A cuBLAS handle and a
 * cuFFT plan have a workspace for the calls on a stream, which run one after another. A captured
 * call keeps the workspace's address, so two graphs that run at the same time would write to the
 * same memory. Therefore each graph has separate workspaces, one for each captured stream. */
#include "py/workspace.h"

#include "py/devarray.h"
#include "py/stream.h"

/* Allocates a workspace on the current device. */
static PyObject *new_bytes(nl_py_state *state, size_t size) {
    nl_layout layout = {.ndim = 1, .itemsize = 1, .shape = {(int64_t)size}};
    nl_element element = {NL_UINT8, NL_ELEMENT_PLAIN, 1};
    PyObject *descr =
        nl_py_geometry_strides(&layout, 'C') < 0 ? NULL : nl_py_hostarray_descr_of_dtype(NL_UINT8);
    PyObject *made = descr ? nl_py_devarray_empty(state, descr, element, &layout) : NULL;
    Py_XDECREF(descr);
    return made;
}

/* Returns the graph's workspace for the stream. If the workspace is too small, allocates a larger
 * workspace; the graph keeps both, because earlier captured calls use the smaller workspace.
 * Returns a new reference. */
static PyObject *get_graph_workspace(nl_py_graph *g, CUstream stream, size_t size) {
    PyObject *number = PyLong_FromVoidPtr(stream);
    PyObject *found = number ? PyDict_GetItemWithError(g->scratch, number) : NULL;
    if (found && (size_t)((nl_py_array *)found)->shape[0] >= size) {
        Py_INCREF(found);
    } else if (number && !PyErr_Occurred()) {
        found = new_bytes(g->state, size);
        if (found && (nl_py_capture_keep_alive(stream, found, 0) < 0 ||
                      PyDict_SetItem(g->scratch, number, found) < 0))
            Py_CLEAR(found);
    }
    Py_XDECREF(number);
    return found;
}

PyObject *nl_py_workspace_new(nl_py_state *state, size_t size) {
    PyObject *made = new_bytes(state, size);
    if (made)
        Py_CLEAR(((nl_py_array *)made)->stream);
    return made;
}

PyObject *nl_py_workspace_of_graph(CUstream stream, size_t size) {
    nl_py_graph *g = nl_capture_is_any_active() ? nl_py_capture_graph(stream) : NULL;
    PyObject *found = g ? get_graph_workspace(g, stream, size) : Py_NewRef(Py_None);
    Py_XDECREF(g);
    return found;
}

int nl_py_workspace_for_cublas(const nl_device *device, CUstream stream, nl_workspace *out) {
    nl_error err;
    size_t size = nl_handle_workspace_size(device);
    PyObject *array = nl_py_workspace_of_graph(stream, size);
    int result = array ? 0 : -1;
    if (array && array != Py_None) {
        *out = (nl_workspace){((nl_py_array *)array)->address, size};
        result = nl_py_devarray_order_with_stream((nl_py_array *)array, stream, 1, &err);
        if (result < 0)
            nl_py_raise(&err);
    }
    Py_XDECREF(array);
    return result;
}

static PyObject *workspace_of_graph(PyObject *module, PyObject *args) {
    PyObject *argument;
    Py_ssize_t size;
    CUstream stream;
    int blocking;
    if (!PyArg_ParseTuple(args, "On:workspace_of_graph", &argument, &size) ||
        nl_py_stream_from_argument(nl_py_state_of(module), argument, &stream, &blocking) < 0)
        return NULL;
    return nl_py_workspace_of_graph(stream, size > 0 ? (size_t)size : 1);
}

static PyMethodDef functions[] = {
    {"workspace_of_graph", workspace_of_graph, METH_VARARGS,
     "workspace_of_graph(stream, size): "
     "if the stream is being captured, returns at least `size` bytes. "
     "The memory is freed with the graph. Otherwise returns None."},
    {NULL, NULL, 0, NULL}};

int nl_py_workspace_exec(PyObject *module) {
    return nl_py_state_add_functions(module, functions);
}
