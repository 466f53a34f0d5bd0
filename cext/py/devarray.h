/* py/devarray: DeviceArray: a dtype, a shape and strides over device memory. The methods of
 * DeviceArray are in other files; py/arraytype defines the type. */
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
    NL_PY_ARRAY_READONLY = 4, /* the owner of the memory permits only reads */
    NL_PY_ARRAY_REPEATED = 8, /* the array is a result of broadcast_to: only kernels may write to
                               * it */
    NL_PY_ARRAY_VIEW = 16,    /* a view of another array */
    NL_PY_ARRAY_LENT = 32, /* the memory belongs to a library with a current stream (py/lender) */
    NL_PY_ARRAY_NO_TARGET = NL_PY_ARRAY_READONLY | NL_PY_ARRAY_REPEATED,
};

/* Immutable after its creation, except `stream` and `code`. */
typedef struct nl_py_array {
    PyObject_HEAD nl_py_state *state; /* lives as long as the Python type */
    nl_buffer *buffer;
    CUdeviceptr address; /* of the first element */
    uint32_t code;       /* type code; 0 if not computed yet, or if no kernel accepts the array */
    uint8_t dtype;       /* nl_dtype */
    uint8_t class;       /* nl_element_class */
    uint8_t flags;
    uint8_t misaligned; /* bitwise OR of the low 8 bits of all elements' addresses */
    int ndim;
    int64_t itemsize;
    int64_t *shape; /* shape[ndim], then strides[ndim] in bytes, as in a parameter block */
    int64_t dims[2 * NL_PY_INLINE_DIMS];
    PyObject *descr;  /* numpy.dtype */
    PyObject *owner;  /* owner of another library's memory, or NULL */
    PyObject *stream; /* default stream of the methods, or NULL; set by _bind */
    PyObject *weakrefs;
} nl_py_array;

static inline int64_t *nl_py_devarray_strides(const nl_py_array *a) {
    return a->shape + a->ndim;
}

static inline int nl_py_devarray_check_exact(const nl_py_state *state, PyObject *obj) {
    return Py_TYPE(obj) == state->devarray_class;
}
static inline int nl_py_devarray_check(const nl_py_state *state, PyObject *obj) {
    return Py_TYPE(obj) == state->devarray_class ||
           PyType_IsSubtype(Py_TYPE(obj), state->devarray_type);
}

/* Returns the stream to which device arrays among these arguments are bound, also in tuples and
 * lists. Returns a borrowed reference. Returns NULL if the arrays have no stream or different
 * streams, or if the stream is the current stream or ordered with the default stream. */
PyObject *nl_py_devarray_find_stream(const nl_py_state *state, PyObject *const *args,
                                     Py_ssize_t count);

/* The parts of a new array. The new array retains `buffer` and takes its own references to the
 * objects. */
typedef struct nl_py_array_parts {
    nl_buffer *buffer;
    CUdeviceptr address;
    PyObject *descr;
    nl_element element;
    PyObject *owner;
    PyObject *stream;
    int readonly, repeated, view, lent; /* flags */
    int record;                         /* create a 0-D instance of devrecord_class */
    nl_device *device; /* device and find_device are used only by nl_py_devarray_over_address */
    int find_device;
} nl_py_array_parts;

/* Returns the members that a view has in common with `base`. */
static inline nl_py_array_parts nl_py_devarray_shared_members(const nl_py_array *base) {
    return (nl_py_array_parts){.buffer = base->buffer,
                               .owner = base->owner,
                               .stream = base->stream,
                               .readonly = base->flags & NL_PY_ARRAY_READONLY,
                               .repeated = base->flags & NL_PY_ARRAY_REPEATED,
                               .view = 1,
                               .lent = base->flags & NL_PY_ARRAY_LENT};
}

PyObject *nl_py_devarray_new(nl_py_state *state, const nl_py_array_parts *parts,
                             const nl_layout *layout);
/* Returns a new array on the current device, bound to the thread's current stream, not initialized.
 * `layout` must be complete and checked. */
PyObject *nl_py_devarray_empty(nl_py_state *state, PyObject *descr, nl_element element,
                               const nl_layout *layout);
/* The hook that records this thread's new arrays (py/trace); NULL in most threads. The hook must
 * call nl_py_devarray_allocate itself. */
typedef PyObject *(*nl_py_array_recorder)(nl_py_state *state, nl_py_array_parts *parts,
                                          const nl_layout *layout);
extern NL_THREAD_LOCAL nl_py_array_recorder nl_py_devarray_recorder;
/* Allocates the memory of a new array like nl_py_devarray_empty; fills parts->buffer and
 * parts->address. */
PyObject *nl_py_devarray_allocate(nl_py_state *state, nl_py_array_parts *parts,
                                  const nl_layout *layout);
/* Returns a view of `base` with another address and geometry, which are not checked. */
PyObject *nl_py_devarray_view(const nl_py_array *base, CUdeviceptr address,
                              const nl_layout *layout);
/* Returns the record at `address` in an array of records, as an object that shares the array's
 * memory. */
PyObject *nl_py_devarray_record_at(const nl_py_array *base, CUdeviceptr address);
/* Returns whether address + low to address + high is a valid range of addresses. An empty range is
 * always valid. */
static inline int nl_py_address_range_is_valid(CUdeviceptr address, int64_t low, int64_t high) {
    return high <= low ||
           (address != 0 && address + (CUdeviceptr)low <= address + (CUdeviceptr)high);
}
/* Returns an array over `address`, on parts->device (NULL: the current device); if find_device is
 * set, on the device that contains the memory. Fills parts->buffer and parts->address. */
PyObject *nl_py_devarray_over_address(nl_py_state *state, CUdeviceptr address,
                                      const nl_layout *layout, nl_py_array_parts *parts);
void nl_py_devarray_layout(const nl_py_array *a, nl_layout *layout);
nl_range nl_py_devarray_address_range(const nl_py_array *a);
int64_t nl_py_devarray_count(const nl_py_array *a);
/* Call this function before work on a stream uses the array: it checks that the array's memory
 * still exists, and makes the stream wait for the allocation. 0, or -1 with *err. */
static inline int nl_py_devarray_order_with_stream(const nl_py_array *a, CUstream stream,
                                                   int blocking, nl_error *err) {
    nl_buffer *buffer = a->buffer;
    if (nl_device_check_generation(buffer->device, buffer->generation, err) < 0)
        return -1;
    if (nl_capture_is_any_active() && a->owner &&
        nl_py_capture_keep_owner(stream, a->owner, err) < 0)
        return -1;
    return nl_buffer_order_with_stream(buffer, stream, blocking, err);
}
/* Calls nl_buffer_alloc on a bound device, without the interpreter's lock if driver calls are
 * needed. */
int nl_py_devarray_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* Releases a reference to a buffer, without the interpreter's lock if driver calls are needed. */
void nl_py_devarray_buffer_release(nl_buffer *buffer);

#endif
