/* py/devarray: DeviceArray: a dtype, a shape and strides over a piece of device memory. Its methods
 * are in files of their own; py/arraytype puts the type together. */
#ifndef NL_PY_DEVARRAY_H
#define NL_PY_DEVARRAY_H

#include "py/state.h"
#include "core/buffer.h"
#include "core/layout.h"
#include "py/capture.h"
#include "py/geometry.h"
#include "py/hostarray.h"

#define NL_PY_INLINE_DIMS 4

enum {
    NL_PY_ARRAY_C = 1,
    NL_PY_ARRAY_F = 2,
    NL_PY_ARRAY_READONLY = 4, /* memory that its owner lends for reading only */
    NL_PY_ARRAY_REPEATED = 8, /* of broadcast_to: kernels alone may write to it */
    NL_PY_ARRAY_VIEW = 16,    /* made over the memory of another array */
    NL_PY_ARRAY_LENT = 32,    /* memory of a library with a current stream: see py/lender */
    NL_PY_ARRAY_NO_TARGET = NL_PY_ARRAY_READONLY | NL_PY_ARRAY_REPEATED,
};

/* Immutable after it is made, but for `stream` and `code`. */
typedef struct nl_py_array {
    PyObject_HEAD nl_py_state *state; /* lives as long as the type does */
    nl_buffer *buffer;
    CUdeviceptr address; /* of the first element */
    uint32_t code; /* what argument matching compares; 0: not computed, or no kernel takes it */
    uint8_t dtype; /* nl_dtype */
    uint8_t class; /* nl_element_class */
    uint8_t flags;
    uint8_t
        misaligned; /* low bits that addresses of elements have: 0 if all are multiples of 256 */
    int ndim;
    int64_t itemsize;
    int64_t *shape; /* shape[ndim], then strides[ndim] in bytes: as in a parameter block */
    int64_t dims[2 * NL_PY_INLINE_DIMS];
    PyObject *descr;  /* numpy.dtype */
    PyObject *owner;  /* of memory that is not ours, or NULL */
    PyObject *stream; /* default stream of the methods, or NULL; set by _bind */
    PyObject *weakrefs;
} nl_py_array;

static inline int64_t *nl_py_array_strides(const nl_py_array *a) {
    return a->shape + a->ndim;
}

static inline int nl_py_array_check_exact(const nl_py_state *state, PyObject *obj) {
    return Py_TYPE(obj) == state->devarray_class;
}
static inline int nl_py_array_check(const nl_py_state *state, PyObject *obj) {
    return Py_TYPE(obj) == state->devarray_class ||
           PyType_IsSubtype(Py_TYPE(obj), state->devarray_type);
}

/* The stream to which device arrays among these are bound, also in lists of them, if nothing else
 * orders it with the work of the calling thread: neither the default stream, nor that it is the
 * current one. Borrowed; NULL: there is none, or more than one. */
PyObject *nl_py_arrays_find_stream(const nl_py_state *state, PyObject *const *args,
                                   Py_ssize_t count);

/* What a new array is made from. `buffer` is retained, the objects get references of their own. */
typedef struct nl_py_array_parts {
    nl_buffer *buffer;
    CUdeviceptr address;
    PyObject *descr;
    nl_element element;
    PyObject *owner;
    PyObject *stream;
    int readonly, repeated, view, lent; /* flags */
    int record;                         /* an instance of devrecord_class, without dimensions */
    nl_device *device;                  /* for nl_py_array_over, as is this: */
    int find_device;
} nl_py_array_parts;

/* What a view of `base` has in common with it. */
static inline nl_py_array_parts nl_py_array_parts_of(const nl_py_array *base) {
    return (nl_py_array_parts){.buffer = base->buffer,
                               .owner = base->owner,
                               .stream = base->stream,
                               .readonly = base->flags & NL_PY_ARRAY_READONLY,
                               .repeated = base->flags & NL_PY_ARRAY_REPEATED,
                               .view = 1,
                               .lent = base->flags & NL_PY_ARRAY_LENT};
}

PyObject *nl_py_array_new(nl_py_state *state, const nl_py_array_parts *parts,
                          const nl_layout *layout);
/* A new array on the current device, bound to the thread's current stream, not initialised;
 * `layout` is complete and checked. */
PyObject *nl_py_array_empty(nl_py_state *state, PyObject *descr, nl_element element,
                            const nl_layout *layout);
/* What notes this thread's new arrays (py/recording), NULL nearly always: it is called instead of
 * the function below, which it calls. */
typedef PyObject *(*nl_py_array_recorder)(nl_py_state *state, nl_py_array_parts *parts,
                                          const nl_layout *layout);
extern NL_THREAD_LOCAL nl_py_array_recorder nl_py_array_recorder_here;
/* The same: fills parts->buffer and parts->address itself. */
PyObject *nl_py_array_allocate(nl_py_state *state, nl_py_array_parts *parts,
                               const nl_layout *layout);
/* A view of `base` with another address and geometry, unchecked. */
PyObject *nl_py_array_view(const nl_py_array *base, CUdeviceptr address, const nl_layout *layout);
/* The record at `address` of an array of records, as an object over the same memory. */
PyObject *nl_py_array_record(const nl_py_array *base, CUdeviceptr address);
/* Can elements lie from address + low to before address + high? Yes if there are none. */
static inline int nl_py_address_fits(CUdeviceptr address, int64_t low, int64_t high) {
    return high <= low ||
           (address != 0 && address + (CUdeviceptr)low <= address + (CUdeviceptr)high);
}
/* An array over `address`, on parts->device (the current one if NULL) or, if find_device, on the
 * one whose memory it is; fills parts->buffer and parts->address itself. */
PyObject *nl_py_array_over(nl_py_state *state, CUdeviceptr address, const nl_layout *layout,
                           nl_py_array_parts *parts);
void nl_py_array_layout(const nl_py_array *a, nl_layout *layout);
nl_range nl_py_array_range(const nl_py_array *a);
int64_t nl_py_array_count(const nl_py_array *a);
/* Before work on a stream touches the memory: it is still there, and the stream comes after its
 * allocation. 0 or -1 with *err. */
static inline int nl_py_array_use(const nl_py_array *a, CUstream stream, int blocking,
                                  nl_error *err) {
    nl_buffer *buffer = a->buffer;
    if (nl_device_alive(buffer->device, buffer->generation, err) < 0)
        return -1;
    if (nl_capture_under_way() && a->owner && nl_py_capture_keep_owner(stream, a->owner, err) < 0)
        return -1;
    return nl_buffer_use(buffer, stream, blocking, err);
}
/* nl_buffer_alloc on a bound device, without the interpreter's lock where that takes driver calls.
 */
int nl_py_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* Gives a reference up, without the interpreter's lock where that takes driver calls. */
void nl_py_buffer_release(nl_buffer *buffer);

#endif
