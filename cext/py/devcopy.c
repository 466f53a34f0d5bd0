/* py/devcopy: copies the elements of device arrays (a single element, to and from NumPy arrays,
 * between device arrays) and fills arrays.
 *
 * On the default stream, a copy from or to the host is complete when the call returns. On another
 * stream, the call only enqueues the copy if the host memory is page-locked, and keeps the NumPy
 * array alive until the copy is complete. The elements of pageable memory cannot be copied after
 * the call: an upload reads the memory before the call returns, and the call waits for a download.
 * Copies between device arrays and fills never wait. */
#include "py/devcopy.h"

#include <stdlib.h>
#include "base/mem.h"
#include "core/graph.h"
#include "core/peer.h"
#include "core/bounce.h"
#include "core/transfer.h"
#include "core/wait.h"
#include "py/capture.h"
#include "py/hostmemory.h"
#include "py/keep.h"
#include "py/trace.h"
#include "py/lender.h"
#include "py/stream.h"

/* ---- the element ---- */

/* Reads the array's own stream: sets the stream's handle (NULL if the array has no stream, or the
 * default stream), and a new reference to an object that keeps the handle alive, or NULL. 0, or -1
 * with an exception. */
static int read_bound_stream(nl_py_array *a, CUstream *stream, int *blocking,
                             PyObject **stream_object) {
    *stream = NULL;
    *stream_object = nl_py_lender_array_stream(a);
    if (!*stream_object && PyErr_Occurred())
        return -1;
    if (*stream_object &&
        nl_py_stream_from_argument(a->state, *stream_object, stream, blocking) < 0) {
        Py_CLEAR(*stream_object);
        return -1;
    }
    return 0;
}

static int read_bytes(void *to, CUdeviceptr from, size_t size, CUstream stream, nl_error *err) {
    if (stream == NULL)
        return NL_CU(err, MemcpyDtoH, to, from, size);
    if (NL_CU(err, MemcpyDtoHAsync, to, from, size, stream) < 0)
        return -1;
    nl_wait_hold_interrupts(); /* the copy begins only when the stream is idle: see core/wait */
    int result = NL_CU(err, StreamSynchronize, stream);
    nl_wait_release_interrupts();
    return result;
}

static PyObject *read_element(const nl_py_array *a, CUdeviceptr address, CUstream stream) {
    unsigned char small[256], *bytes = small;
    nl_error err;
    PyObject *result = NULL;
    int status = 0;
    if (a->itemsize > (int64_t)sizeof small) {
        bytes = nl_mem_alloc((size_t)a->itemsize, &err);
        if (!bytes)
            return nl_py_raise(&err);
    }
    if (a->itemsize > 0) {
        nl_py_checks_note_caller();
        Py_BEGIN_ALLOW_THREADS;
        status = nl_device_check_generation(a->buffer->device, a->buffer->generation, &err) < 0 ||
                         nl_device_bind(a->buffer->device, &err) < 0
                     ? -1
                     : read_bytes(bytes, address, (size_t)a->itemsize, stream, &err);
        Py_END_ALLOW_THREADS;
    }
    result = status < 0 ? nl_py_raise(&err) : nl_py_hostarray_new_scalar(a->descr, bytes);
    if (bytes != small)
        nl_mem_free(bytes);
    return result;
}

/* Reads the array's own stream. If the array has no stream, reads the thread's current stream,
 * provided that it is on the array's device. */
static int read_array_stream(nl_py_array *a, CUstream *stream, int *blocking,
                             PyObject **stream_object) {
    const nl_py_stream *current = (nl_py_stream *)nl_py_stream_here;
    if (read_bound_stream(a, stream, blocking, stream_object) < 0)
        return -1;
    if (*stream || !current || current->stream->device != a->buffer->device)
        return 0;
    return nl_py_stream_read(a->state, nl_py_stream_here, stream, blocking);
}

PyObject *nl_py_devcopy_read_element(const nl_py_array *a, CUdeviceptr address) {
    PyObject *stream_object;
    CUstream stream;
    if (nl_capture_is_any_active() &&
        nl_py_capture_check_query(nl_capture_stream_of_thread(), "reading an element") < 0)
        return NULL;
    if (read_array_stream((nl_py_array *)a, &stream, NULL, &stream_object) < 0)
        return NULL;
    PyObject *result = read_element(a, address, stream);
    Py_XDECREF(stream_object);
    return result;
}

PyObject *nl_py_devcopy_read_element_on(const nl_py_array *a, CUstream stream) {
    if (!stream)
        return nl_py_devcopy_read_element(a, a->address);
    if (nl_capture_is_any_active() && nl_py_capture_check_query(stream, "reading an element") < 0)
        return NULL;
    return read_element(a, a->address, stream);
}

/* ---- arguments ---- */

/* Raises an exception unless shape and dtype are the same. */
static int check_shape_and_dtype(const nl_py_array *a, const int64_t *shape, int ndim,
                                 PyObject *descr, const char *what) {
    int same = ndim == a->ndim;
    for (int i = 0; same && i < ndim; i++)
        same = shape[i] == a->shape[i];
    if (!same) {
        PyObject *ours = nl_py_geometry_new_tuple(a->shape, a->ndim);
        PyObject *theirs = nl_py_geometry_new_tuple(shape, ndim);
        if (ours && theirs)
            PyErr_Format(PyExc_ValueError, "the device array has shape %S, the %s has shape %S",
                         ours, what, theirs);
        Py_XDECREF(ours);
        Py_XDECREF(theirs);
        return -1;
    }
    if (nl_py_hostarray_same_dtype(a->descr, descr))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "incompatible dtype: the device array has dtype %S, the %s has %S", a->descr, what,
                 descr);
    return -1;
}

static int check_writable(const nl_py_array *a) {
    if (!(a->flags & NL_PY_ARRAY_NO_TARGET))
        return 0;
    PyErr_SetString(PyExc_ValueError, "the device array is read-only");
    return -1;
}

/* Parses (other, stream=None) to `other` and the stream's handle. If `stream` is the default
 * stream, the array's own stream is used. */
static int parse_arguments(nl_py_array *a, PyObject *args, PyObject *kwargs, char *name,
                           PyObject **other, CUstream *stream, int *blocking,
                           PyObject **stream_object) {
    char *names[] = {name, "stream", NULL};
    PyObject *argument = Py_None;
    nl_error err;
    *stream_object = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, other, &argument))
        return -1;
    if (nl_py_stream_read(a->state, argument, stream, blocking) < 0)
        return -1;
    if (*stream == NULL && read_array_stream(a, stream, blocking, stream_object) < 0)
        return -1;
    if (nl_capture_is_any_active() &&
        nl_py_stream_from_argument(a->state, *stream_object ? *stream_object : argument, stream,
                                   blocking) < 0)
        goto fail;
    if (nl_capture_is_any_active() && nl_py_capture_check_default_stream(*stream, "a copy") < 0)
        goto fail;
    if (nl_py_devarray_order_with_stream(a, *stream, *blocking, &err) == 0)
        return 0;
    nl_py_raise(&err);
fail:
    Py_CLEAR(*stream_object);
    return -1;
}

/* ---- host and back ---- */

static int copy_host_array(nl_py_array *a, const nl_host_array *host, nl_direction direction,
                           CUstream stream) {
    nl_device *dev = a->buffer->device;
    nl_layout device;
    nl_error err;
    int result, asynchronous, captured = 0;
    if (nl_py_devarray_count(a) == 0)
        return 0;
    nl_py_devarray_layout(a, &device);
    if (nl_capture_is_any_active() &&
        (captured = nl_py_capture_keep_alive(stream, host->array, 1)) < 0)
        return -1;
    nl_py_keep_drop_released();
    int ordinary = stream == NULL || nl_py_hostmemory_owns_array(a->state, host->array);
    nl_py_checks_note_caller();
    Py_BEGIN_ALLOW_THREADS;
    result = nl_device_bind(dev, &err);
    asynchronous =
        result == 0 && stream && (captured || (!ordinary && nl_bounce_is_locked(host->data)));
    if (result == 0) {
        CUdeviceptr memory = (CUdeviceptr)(uintptr_t)host->data;
        result = direction == NL_HOST_TO_DEVICE
                     ? nl_transfer(dev, direction, a->address, &device, memory, &host->layout,
                                   stream, asynchronous, &err)
                     : nl_transfer(dev, direction, memory, &host->layout, a->address, &device,
                                   stream, asynchronous, &err);
    }
    Py_END_ALLOW_THREADS;
    if (result == 0 && asynchronous && !captured)
        result = nl_py_keep_until_complete(host->array, stream, &err);
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

static int read_host_argument(nl_py_array *a, PyObject *obj, nl_host_array *host) {
    if (!nl_py_hostarray_is_array(obj)) {
        PyErr_Format(PyExc_TypeError, "a NumPy array is needed, not %.80s", Py_TYPE(obj)->tp_name);
        return -1;
    }
    if (nl_py_hostarray_read(obj, host) < 0)
        return -1;
    return check_shape_and_dtype(a, host->layout.shape, host->layout.ndim, host->descr,
                                 "host array");
}

PyObject *nl_py_devcopy_read(PyObject *self, PyObject *args, PyObject *kwargs) {
    nl_py_array *a = (nl_py_array *)self;
    PyObject *dest, *stream_object;
    CUstream stream;
    int blocking;
    nl_host_array host;
    int result = -1;
    if (parse_arguments(a, args, kwargs, "dest", &dest, &stream, &blocking, &stream_object) < 0)
        return NULL;
    if (read_host_argument(a, dest, &host) < 0)
        goto done;
    if (!host.writable)
        PyErr_SetString(PyExc_ValueError, "the host array is read-only");
    else if (nl_layout_overlaps_itself(&host.layout))
        PyErr_SetString(PyExc_ValueError,
                        "elements of the host array overlap: it cannot be a copy's destination");
    else
        result = copy_host_array(a, &host, NL_DEVICE_TO_HOST, stream);
done:
    Py_XDECREF(stream_object);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* Returns a new NumPy array with the elements. The copy is complete on return, even if the new
 * array's memory is page-locked. */
PyObject *nl_py_devcopy_download(PyObject *self, PyObject *args, PyObject *kwargs) {
    nl_py_array *a = (nl_py_array *)self;
    PyObject *order, *stream_object, *result = NULL;
    CUstream stream;
    int blocking;
    nl_host_array host;
    nl_layout layout;
    if (parse_arguments(a, args, kwargs, "order", &order, &stream, &blocking, &stream_object) < 0)
        return NULL;
    nl_py_devarray_layout(a, &layout);
    if (PyUnicode_Check(order) && PyUnicode_CompareWithASCIIString(order, "F") == 0)
        nl_layout_set_f(&layout);
    else
        nl_layout_set_c(&layout);
    result = nl_py_hostmemory_empty(a->state, a->descr, &layout);
    if (result && a->itemsize > 0 &&
        (nl_py_hostarray_read(result, &host) < 0 ||
         copy_host_array(a, &host, NL_DEVICE_TO_HOST, stream) < 0))
        Py_CLEAR(result);
    Py_XDECREF(stream_object);
    return result;
}

/* Returns True if a copy of the array to the host would become part of a capture or invalidate it,
 * also if another library captures the array's stream or the default stream. Returns False for a
 * lost device, because the copy itself reports the loss. */
PyObject *nl_py_devcopy_would_be_captured(PyObject *self, PyObject *Py_UNUSED(unused)) {
    nl_py_array *a = (nl_py_array *)self;
    nl_device *dev = a->buffer->device;
    PyObject *stream_object;
    CUstream stream;
    nl_error err;
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (nl_capture_is_any_active() &&
        (nl_capture_is_active_in_thread() || nl_capture_is_on_device(dev)))
        Py_RETURN_TRUE;
    if (nl_device_check_generation(dev, a->buffer->generation, &err) < 0)
        Py_RETURN_FALSE;
    if (read_array_stream(a, &stream, NULL, &stream_object) < 0)
        return NULL;
    CUresult result = nl_device_bind(dev, &err) < 0
                          ? CUDA_ERROR_INVALID_CONTEXT
                          : nl_cu.StreamIsCapturing(stream ? stream : CU_STREAM_LEGACY, &status);
    Py_XDECREF(stream_object);
    return PyBool_FromLong(result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                           (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE));
}

/* The destination of a copy must be writable, and its elements must not overlap. */
static int check_destination(const nl_py_array *a) {
    nl_layout layout;
    if (check_writable(a) < 0)
        return -1;
    nl_py_devarray_layout(a, &layout);
    if (!nl_layout_overlaps_itself(&layout))
        return 0;
    PyErr_SetString(PyExc_ValueError,
                    "elements of the device array overlap: it cannot be a copy's destination");
    return -1;
}

PyObject *nl_py_devcopy_write(PyObject *self, PyObject *args, PyObject *kwargs) {
    nl_py_array *a = (nl_py_array *)self;
    PyObject *src, *stream_object;
    CUstream stream;
    int blocking;
    nl_host_array host;
    int result = -1;
    if (nl_py_is_tracing())
        return nl_py_trace_method(self, "_write", args, kwargs);
    if (parse_arguments(a, args, kwargs, "src", &src, &stream, &blocking, &stream_object) < 0)
        return NULL;
    if (check_destination(a) == 0 && read_host_argument(a, src, &host) == 0)
        result = copy_host_array(a, &host, NL_HOST_TO_DEVICE, stream);
    Py_XDECREF(stream_object);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- device arrays ---- */

typedef struct place {
    nl_device *device;
    CUdeviceptr address;
    const nl_layout *layout;
} place;

static int copy_on_stream(nl_device *dev, place to, place from, CUstream stream, nl_error *err) {
    return nl_transfer(dev, NL_DEVICE_TO_DEVICE, to.address, to.layout, from.address, from.layout,
                       stream, 1, err);
}

static int is_default_stream(CUstream stream) {
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* Chooses the streams of both sides of a copy between devices. If the call specifies a stream
 * (`asked`), the array on that stream's device uses it, and nl_peer_choose_stream selects the
 * stream of the other array. Without a specified stream, each side uses its array's own stream, or
 * the default stream of its device. */
static int find_streams(nl_peer *to, nl_peer *from, CUstream own, int own_blocking, int asked,
                        const nl_peer **given, nl_error *err) {
    nl_device *device = NULL;
    if (!is_default_stream(to->stream)) {
        if (nl_peer_device_of_stream(to->stream, to->device, from->device, &device, err) < 0)
            return -1;
        nl_peer *side = device == to->device ? to : from;
        if (asked || side == from) {
            *given = side;
            side->stream = to->stream;
            side->blocking = to->blocking;
            return nl_peer_choose_stream(side == to ? from : to, side->blocking, err);
        }
    } else if (asked) {
        from->stream = to->stream;
        return 0;
    }
    if (!is_default_stream(own) &&
        nl_peer_device_of_stream(own, from->device, to->device, &device, err) < 0)
        return -1;
    if (is_default_stream(own) || device == from->device) {
        from->stream = own;
        from->blocking = own_blocking;
    }
    return 0;
}

/* Copies between overlapping arrays through a packed buffer, so that the source is read completely
 * before the destination is written. */
static int copy_overlapping(place to, place from, int64_t bytes, CUstream stream, int blocking,
                            nl_error *err) {
    nl_layout packed = *from.layout;
    nl_buffer *between = NULL;
    nl_layout_set_c(&packed);
    if (nl_buffer_alloc(from.device, (size_t)bytes, &between, err) < 0)
        return -1;
    place middle = {from.device, between->address, &packed};
    int result = nl_buffer_order_with_stream(between, stream, blocking, err);
    if (result == 0)
        result = copy_on_stream(from.device, middle, from, stream, err);
    if (result == 0)
        result = copy_on_stream(from.device, to, middle, stream, err);
    nl_buffer_release(between);
    return result;
}

static int layouts_overlap(const place *a, const place *b) {
    nl_layout_view one = nl_layout_make_view(a->layout, a->address);
    nl_layout_view other = nl_layout_make_view(b->layout, b->address);
    return nl_ranges_overlap(nl_layout_address_range(&one), nl_layout_address_range(&other));
}

/* Copies between devices in the order of the stream that the call specifies, or, if `asked` is 0,
 * of the arrays' own streams. */
static int copy_between_devices(nl_peer *to, nl_peer *from, nl_py_array *source, int asked) {
    const nl_peer *given = NULL;
    PyObject *stream_object = NULL;
    CUstream stream = to->stream, own = NULL;
    int blocking = to->blocking, own_blocking = 1, result = -1;
    nl_error err;
    if (!asked && read_bound_stream(source, &own, &own_blocking, &stream_object) < 0)
        return -1;
    if (nl_capture_is_any_active() &&
        (nl_py_capture_check_wait(stream, "a copy between devices", "") < 0 ||
         nl_py_capture_check_wait(own, "a copy between devices", "") < 0 ||
         nl_py_capture_check_default_stream(NULL, "a copy between devices") < 0))
        goto done;
    nl_py_checks_note_caller();
    Py_BEGIN_ALLOW_THREADS;
    result = find_streams(to, from, own, own_blocking, asked, &given, &err);
    if (result == 0)
        result = nl_buffer_order_with_stream(source->buffer, given ? stream : from->stream,
                                             given ? blocking : from->blocking, &err);
    if (result == 0)
        result = nl_peer_copy(to, from, given, &err);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        nl_py_raise(&err);
done:
    Py_XDECREF(stream_object);
    return result;
}

PyObject *nl_py_devcopy_copy(PyObject *self, PyObject *args, PyObject *kwargs) {
    nl_py_array *a = (nl_py_array *)self, *b;
    PyObject *src, *stream_object;
    CUstream stream;
    int blocking;
    nl_layout to_layout, from_layout;
    nl_error err;
    int result = -1;
    if (nl_py_is_tracing())
        return nl_py_trace_method(self, "_copy", args, kwargs);
    if (parse_arguments(a, args, kwargs, "src", &src, &stream, &blocking, &stream_object) < 0)
        return NULL;
    if (!nl_py_devarray_check(a->state, src)) {
        PyErr_Format(PyExc_TypeError, "a device array is needed, not %.80s", Py_TYPE(src)->tp_name);
        goto done;
    }
    b = (nl_py_array *)src;
    if (check_destination(a) < 0 ||
        check_shape_and_dtype(a, b->shape, b->ndim, b->descr, "source") < 0)
        goto done;
    int64_t bytes = nl_py_devarray_count(a) * a->itemsize;
    if (bytes == 0) {
        result = 0;
        goto done;
    }
    nl_device *dev = a->buffer->device, *other = b->buffer->device;
    if (nl_device_check_generation(other, b->buffer->generation, &err) < 0) {
        nl_py_raise(&err);
        goto done;
    }
    nl_py_devarray_layout(a, &to_layout);
    nl_py_devarray_layout(b, &from_layout);
    if (dev != other) {
        nl_peer to = {dev, a->address, &to_layout, stream, blocking, 0};
        nl_peer from = {other, b->address, &from_layout, NULL, 1, 0};
        result = copy_between_devices(&to, &from, b, stream != NULL && stream_object == NULL);
        goto done;
    }
    place to = {dev, a->address, &to_layout}, from = {dev, b->address, &from_layout};
    nl_py_checks_note_caller();
    Py_BEGIN_ALLOW_THREADS;
    result = nl_buffer_order_with_stream(b->buffer, stream, blocking, &err);
    if (result == 0)
        result = nl_device_bind(dev, &err);
    if (result == 0 && layouts_overlap(&to, &from))
        result = copy_overlapping(to, from, bytes, stream, blocking, &err);
    else if (result == 0)
        result = copy_on_stream(to.device, to, from, stream, &err);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        nl_py_raise(&err);
done:
    Py_XDECREF(stream_object);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *nl_py_devcopy_fill(PyObject *self, PyObject *args, PyObject *kwargs) {
    nl_py_array *a = (nl_py_array *)self;
    PyObject *value, *stream_object;
    CUstream stream;
    int blocking;
    nl_host_array host;
    nl_layout layout;
    nl_error err;
    int result = -1;
    if (nl_py_is_tracing())
        return nl_py_trace_method(self, "_fill", args, kwargs);
    if (parse_arguments(a, args, kwargs, "value", &value, &stream, &blocking, &stream_object) < 0)
        return NULL;
    if (check_writable(a) < 0)
        goto done;
    if (!nl_py_hostarray_is_array(value) || nl_py_hostarray_read(value, &host) < 0 ||
        host.layout.ndim != 0 || !nl_py_hostarray_same_dtype(a->descr, host.descr)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError,
                            "the value must be a 0-dimensional NumPy array of the same dtype");
        goto done;
    }
    if (nl_capture_is_any_active() && nl_py_capture_keep_alive(stream, value, 0) < 0)
        goto done;
    nl_py_devarray_layout(a, &layout);
    result = 0;
    if (nl_py_devarray_count(a) * a->itemsize > 0) {
        nl_device *dev = a->buffer->device;
        nl_py_checks_note_caller();
        Py_BEGIN_ALLOW_THREADS;
        result = nl_device_bind(dev, &err) < 0
                     ? -1
                     : nl_fill(dev, a->address, &layout, host.data, stream, 1, &err);
        Py_END_ALLOW_THREADS;
        if (result < 0)
            nl_py_raise(&err);
    }
done:
    Py_XDECREF(stream_object);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}
