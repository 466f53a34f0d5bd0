/* py/devarray: creates arrays, over memory of numbalite or of other libraries, or as views of
 * arrays. Everything that a launch needs is computed when the array is created: the type code,
 * contiguity and alignment. Views share the buffer by reference count. Each array over another
 * library's memory has a reference to the owner of the memory, which is visible to the garbage
 * collector. */
#include "py/devarray.h"

#include <string.h>
#include "base/mem.h"
#include "py/code.h"
#include "py/stream.h"

NL_THREAD_LOCAL nl_py_array_recorder nl_py_devarray_recorder;

/* The class of new arrays or records. The module that defines the class registers the class; an
 * import of numbalite.cuda does not load that module. */
static inline PyTypeObject *class_of_new_array(const nl_py_state *state, int record) {
    PyTypeObject *const *class = record ? &state->devrecord_class : &state->devarray_class;
    if (*class == state->devarray_type) {
        PyObject *module = PyImport_ImportModule(record ? "numbalite.ndarray.records"
                                                        : "numbalite.ndarray.arrays");
        if (!module)
            return NULL;
        Py_DECREF(module);
    }
    return *class;
}

PyObject *nl_py_devarray_new(nl_py_state *state, const nl_py_array_parts *parts,
                             const nl_layout *layout) {
    nl_error err;
    PyTypeObject *type = class_of_new_array(state, parts->record);
    if (!type)
        return NULL;
    nl_py_array *a = (nl_py_array *)type->tp_alloc(type, 0);
    if (!a)
        return NULL;
    size_t half = (size_t)layout->ndim * sizeof(int64_t);
    a->state = state;
    a->shape = a->dims;
    if (layout->ndim > NL_PY_INLINE_DIMS) {
        a->shape = nl_mem_alloc(2 * half, &err);
        if (!a->shape) {
            Py_DECREF(a);
            return nl_py_raise(&err);
        }
    }
    nl_buffer_retain(parts->buffer);
    a->buffer = parts->buffer;
    a->address = parts->address;
    a->dtype = (uint8_t)parts->element.dtype;
    a->class = (uint8_t)parts->element.class;
    a->itemsize = parts->element.itemsize;
    a->ndim = layout->ndim;
    memcpy(a->shape, layout->shape, half);
    memcpy(a->shape + a->ndim, layout->strides, half);
    a->descr = Py_NewRef(parts->descr);
    a->owner = Py_XNewRef(parts->owner);
    a->stream = Py_XNewRef(parts->stream);
    a->flags = (uint8_t)(nl_layout_contiguous_orders(layout) | /* NL_PY_ARRAY_C, NL_PY_ARRAY_F */
                         (parts->readonly ? NL_PY_ARRAY_READONLY : 0) |
                         (parts->repeated ? NL_PY_ARRAY_REPEATED : 0) |
                         (parts->view ? NL_PY_ARRAY_VIEW : 0) |

                         (parts->lent ? NL_PY_ARRAY_LENT : 0));
    a->misaligned = nl_layout_low_bits(layout, parts->address);
    if (parts->element.class == NL_ELEMENT_PLAIN)
        a->code = nl_py_code_of_array(parts->element.dtype, layout->ndim, a->flags & NL_PY_ARRAY_C,
                                      a->flags & NL_PY_ARRAY_F, 0);
    return (PyObject *)a;
}

/* Creates a view of a part of an array. With `record`, creates a record instead of a 0-D array. */
static inline PyObject *make_view(const nl_py_array *base, CUdeviceptr address,
                                  const nl_layout *layout, int record) {
    nl_py_array_parts parts = nl_py_devarray_shared_members(base);
    parts.address = address;
    parts.descr = base->descr;
    parts.element =
        (nl_element){(nl_dtype)base->dtype, (nl_element_class)base->class, base->itemsize};
    parts.record = record;
    return nl_py_devarray_new(base->state, &parts, layout);
}

PyObject *nl_py_devarray_view(const nl_py_array *base, CUdeviceptr address,
                              const nl_layout *layout) {
    return make_view(base, address, layout, 0);
}

PyObject *nl_py_devarray_record_at(const nl_py_array *base, CUdeviceptr address) {
    nl_layout layout = {.ndim = 0, .itemsize = base->itemsize};
    return make_view(base, address, &layout, 1);
}

/* Finds the stream to which the arrays among the arguments are bound. Returns 0 if the arrays are
 * bound to different streams. The search depth in nested lists is limited, because a list may
 * contain itself. */
static int find_stream(const nl_py_state *state, PyObject *const *args, Py_ssize_t count, int depth,
                       PyObject **found) {
    enum { MAX_DEPTH = 3 };
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = NULL;
        if (nl_py_devarray_check(state, args[i]))
            one = ((nl_py_array *)args[i])->stream;
        else if ((PyTuple_CheckExact(args[i]) || PyList_CheckExact(args[i])) && depth < MAX_DEPTH &&
                 !find_stream(state, PySequence_Fast_ITEMS(args[i]),
                              PySequence_Fast_GET_SIZE(args[i]), depth + 1, found))
            return 0;
        if (one && *found && one != *found)
            return 0;
        *found = one ? one : *found;
    }
    return 1;
}

PyObject *nl_py_devarray_find_stream(const nl_py_state *state, PyObject *const *args,
                                     Py_ssize_t count) {
    PyObject *found = NULL;
    if (!find_stream(state, args, count, 0, &found) || !found || found == nl_py_stream_here ||
        !Py_IS_TYPE(found, state->stream_class) || nl_py_stream_is_ordered(found))
        return NULL;
    return found;
}

void nl_py_devarray_buffer_release(nl_buffer *buffer) {
    PyObject *type, *value, *traceback;
    buffer = nl_buffer_drop_reference(buffer);
    if (__builtin_expect(buffer == NULL, 1))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    NL_UNLOCKED(nl_buffer_destroy(buffer));
    PyErr_Restore(type, value, traceback);
}

void nl_py_devarray_layout(const nl_py_array *a, nl_layout *layout) {
    layout->ndim = a->ndim;
    layout->itemsize = a->itemsize;
    memcpy(layout->shape, a->shape, (size_t)a->ndim * sizeof(int64_t));
    memcpy(layout->strides, nl_py_devarray_strides(a), (size_t)a->ndim * sizeof(int64_t));
}

nl_range nl_py_devarray_address_range(const nl_py_array *a) {
    nl_layout_view view = {a->address, a->ndim, a->itemsize, a->shape, nl_py_devarray_strides(a)};
    return nl_layout_address_range(&view);
}

int64_t nl_py_devarray_count(const nl_py_array *a) {
    int64_t count = 1;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] == 0)
            return 0;
    for (int i = 0; i < a->ndim; i++)
        count *= a->shape[i];
    return count;
}

/* The driver may block any call until a callback ends, and the callback may need the
 * interpreter's lock. */
int nl_py_devarray_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err) {
    int result;
    *out = nl_buffer_reuse(dev, size);
    if (*out)
        return 0;
    NL_UNLOCKED(result = nl_buffer_alloc(dev, size, out, err));
    return result;
}

PyObject *nl_py_devarray_allocate(nl_py_state *state, nl_py_array_parts *parts,
                                  const nl_layout *layout) {
    nl_error err;
    int64_t low, high;
    if (__builtin_expect(nl_py_devarray_recorder != NULL, 0))
        return nl_py_devarray_recorder(state, parts, layout);
    if (nl_py_geometry_byte_extent(layout, &low, &high) < 0)
        return NULL;
    nl_device *dev = nl_device_current(&err);
    if (!dev || nl_py_devarray_buffer_alloc(dev, (size_t)(high - low), &parts->buffer, &err) < 0)
        return nl_py_raise(&err);
    parts->address = parts->buffer->address - (CUdeviceptr)low;
    if (!parts->stream)
        parts->stream = nl_py_stream_current();
    PyObject *array = nl_py_devarray_new(state, parts, layout);
    nl_py_devarray_buffer_release(parts->buffer);
    return array;
}

PyObject *nl_py_devarray_empty(nl_py_state *state, PyObject *descr, nl_element element,
                               const nl_layout *layout) {
    nl_py_array_parts parts = {.descr = descr, .element = element};
    return nl_py_devarray_allocate(state, &parts, layout);
}

PyObject *nl_py_devarray_over_address(nl_py_state *state, CUdeviceptr address,
                                      const nl_layout *layout, nl_py_array_parts *parts) {
    int64_t low, high;
    nl_error err;
    nl_buffer *buffer = NULL;
    if (nl_py_geometry_byte_extent(layout, &low, &high) < 0)
        return NULL;
    if (!nl_py_address_range_is_valid(address, low, high))
        return PyErr_Format(PyExc_ValueError, "address %llu cannot be that of %lld bytes",
                            (unsigned long long)address, (long long)(high - low));
    nl_device *dev = parts->device ? parts->device : nl_device_current(&err);
    if (dev && parts->find_device && high > low)
        dev = nl_device_find_by_address(dev, address + (CUdeviceptr)low);
    if (!dev || nl_buffer_wrap_memory(dev, address + (CUdeviceptr)low, (size_t)(high - low), NULL,
                                      NULL, &buffer, &err) < 0)
        return nl_py_raise(&err);
    parts->buffer = buffer;
    parts->address = address;
    PyObject *result = nl_py_devarray_new(state, parts, layout);
    nl_buffer_release(buffer);
    return result;
}
