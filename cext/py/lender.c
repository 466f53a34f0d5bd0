/* py/lender: reads the current stream of PyTorch, through DLPack's exchange API or PyTorch's own
 * function, and the current stream of CuPy. */
#include "py/lender.h"

#include "py/fastarray.h"

/* ---- libraries ---- */

int nl_py_lender_has_stream(nl_py_state *state, PyObject *obj) {
    return nl_py_dlpack_register(state, obj) || nl_py_fastarray_has_stream(state, obj);
}

int nl_py_lender_stream(nl_py_state *state, PyObject *obj, const nl_device *dev,
                        nl_dl_current *current, CUstream *handle, PyObject **keeper) {
    *keeper = NULL;
    if (nl_py_dlpack_is_registered(state, obj))
        return nl_py_dlpack_current_stream(state, obj, dev->ordinal, current, handle);
    return nl_py_fastarray_read_stream(state, obj, dev->ordinal, handle, keeper);
}

/* ---- a Stream over a foreign handle ---- */

/* lock of foreign_stream; no thread holds it while it runs Python code */
static nl_mutex lock = NL_MUTEX_INIT;

/* Returns the Stream that was created last for a foreign handle, if that Stream wraps this handle,
 * else NULL. The Stream keeps the owner of the handle alive, so no other stream has the same handle
 * while the Stream exists. */
static PyObject *find_latest_stream(nl_py_state *state, const nl_device *dev, CUstream handle) {
    PyObject *stream = NULL;
    nl_mutex_lock(&lock);
    const nl_py_stream *latest = (nl_py_stream *)state->foreign_stream;
    if (latest && latest->stream->handle == handle && latest->stream->device == dev)
        stream = Py_NewRef(state->foreign_stream);
    nl_mutex_unlock(&lock);
    return stream;
}

PyObject *nl_py_lender_stream_for_view(nl_py_state *state, const nl_device *dev, CUstream handle,
                                       PyObject *keeper) {
    PyObject *stream = find_latest_stream(state, dev, handle);
    if (stream)
        return stream;
    stream = nl_py_stream_wrap_handle(state, handle, keeper);
    if (!stream)
        return NULL;
    nl_stream_assume_unordered(((nl_py_stream *)stream)->stream);
    nl_mutex_lock(&lock);
    PyObject *before = state->foreign_stream;
    state->foreign_stream = Py_NewRef(stream);
    nl_mutex_unlock(&lock);
    Py_XDECREF(before);
    return stream;
}

PyObject *nl_py_lender_array_stream(nl_py_array *a) {
    PyObject *stream, *keeper;
    CUstream handle;
    nl_dl_current current = {.of = NULL};
    Py_BEGIN_CRITICAL_SECTION(a);
    stream = Py_XNewRef(a->stream);
    Py_END_CRITICAL_SECTION();
    if (stream || !(a->flags & NL_PY_ARRAY_LENT))
        return stream;
    const nl_device *dev = a->buffer->device;
    int found = nl_py_lender_stream(a->state, a->owner, dev, &current, &handle, &keeper);
    if (found > 0 && !nl_py_lender_is_default(handle) && dev->ordinal == nl_device_selected())
        stream = nl_py_lender_stream_for_view(a->state, dev, handle, keeper);
    Py_XDECREF(keeper);
    return stream;
}
