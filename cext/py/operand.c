/* py/operand: reads the operands of ufunc calls.
 *
 * A device array is used in place, because its geometry never changes. The geometry of a NumPy
 * array is copied, because another thread may change it while the interpreter's lock is released.
 * Scalars and 0-D host arrays are values, which are passed in the kernel's parameters. For host
 * arrays with dimensions, only the distinct elements are copied to the device (one element for a
 * broadcast array), contiguous and in the array's axis order. */
#include "py/operand.h"

#include <math.h>
#include <string.h>
#include "core/transfer.h"
#include "py/devarray.h"
#include "py/capture.h"
#include "py/hostmemory.h"
#include "py/stream.h"
#include "py/value.h"

/* ---- reading ---- */

static int set_scalar_operand(nl_py_operand *op, nl_dtype dtype, nl_py_weak weak) {
    op->place = NL_PY_PLACE_VALUE;
    op->dtype = (uint8_t)dtype;
    op->weak = (uint8_t)weak;
    op->itemsize = (int64_t)nl_dtype_size(dtype);
    op->shape = op->strides = op->dims;
    return 0;
}

static int set_device_operand(nl_py_operation *call, int index, nl_py_operand *op,
                              PyObject *array) {
    const nl_py_array *a = (nl_py_array *)array;
    nl_error err;
    op->array = Py_NewRef(array);
    op->place = NL_PY_PLACE_DEVICE;
    op->dtype = a->class == NL_ELEMENT_PLAIN ? a->dtype : NL_OPAQUE;
    op->readonly = (a->flags & NL_PY_ARRAY_NO_TARGET) != 0;
    op->ndim = a->ndim;
    op->itemsize = a->itemsize;
    op->address = a->address;
    op->shape = a->shape;
    op->strides = nl_py_devarray_strides(a);
    if (__builtin_expect(a->buffer->device != call->device && a->buffer->size, 0)) {
        PyErr_Format(PyExc_ValueError,
                     "%U(): operand %d is on device %d, but the call is on device %d: "
                     "copy the array to that device, or select the array's device",
                     call->name, index + 1, a->buffer->device->ordinal, call->device->ordinal);
        return -1;
    }
    if (nl_py_devarray_order_with_stream(a, call->stream, call->blocking, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    return 0;
}

static void set_operand_geometry(nl_py_operand *op, const nl_layout *layout) {
    size_t size = (size_t)layout->ndim * sizeof(int64_t);
    op->ndim = layout->ndim;
    memcpy(op->dims, layout->shape, size);
    memcpy(op->dims + NL_MAX_DIMS, layout->strides, size);
    op->shape = op->dims;
    op->strides = op->dims + NL_MAX_DIMS;
}

static void copy_operand_geometry(nl_py_operand *op, const nl_host_array *host) {
    op->place = NL_PY_PLACE_HOST;
    op->dtype = (uint8_t)host->element.dtype;
    op->readonly = !host->writable;
    op->itemsize = host->layout.itemsize;
    op->address = (uint64_t)(uintptr_t)host->data;
    set_operand_geometry(op, &host->layout);
}

static int set_host_operand(nl_py_operand *op, const nl_host_array *given) {
    nl_host_array host;
    if (given->element.class != NL_ELEMENT_SWAPPED) {
        op->array = Py_NewRef(given->array);
        copy_operand_geometry(op, given);
        return 0;
    }
    op->array = nl_py_hostarray_to_native_order(given->array);
    if (!op->array || nl_py_hostarray_read(op->array, &host) < 0)
        return -1;
    copy_operand_geometry(op, &host);
    return 0;
}

/* Replaces the operand by a new host array; steals the reference to the array. */
static int replace_by_host_array(nl_py_operand *op, PyObject *array) {
    nl_host_array host;
    int result =
        array && nl_py_hostarray_read(array, &host) == 0 ? set_host_operand(op, &host) : -1;
    Py_XDECREF(array);
    return result;
}

/* Converts a 0-D host input to a number. */
static int convert_0d_to_number(nl_py_operand *op) {
    if (op->ndim || op->dtype == NL_OPAQUE || op->place != NL_PY_PLACE_HOST)
        return 0;
    nl_scalar_load(&op->value, (nl_dtype)op->dtype, (const void *)(uintptr_t)op->address);
    return set_scalar_operand(op, (nl_dtype)op->dtype, NL_PY_STRONG);
}

/* Makes the call's device current again, because Python code of the operand may have made another
 * context current. */
static int rebind_device(const nl_py_operation *call) {
    nl_error err;
    if (nl_device_bind(call->device, &err) == 0)
        return 0;
    nl_py_raise(&err);
    return -1;
}

/* Adds the stream of an operand's library to the streams that wait for the call. Returns 1 if the
 * stream is new, 0 if the stream was added before, -1 with an exception. */
static int add_following_stream(nl_py_operation *call, CUstream stream) {
    for (int i = 0; i < call->follower_count; i++)
        if (call->followers[i] == stream)
            return 0;
    if (call->follower_count == NL_PY_MAX_FOLLOWERS) {
        PyErr_Format(PyExc_ValueError, "%U(): the operands belong to more than %d streams",
                     call->name, NL_PY_MAX_FOLLOWERS);
        return -1;
    }
    call->followers[call->follower_count++] = stream;
    return 1;
}

/* Makes the call wait for the earlier work of the operand's library, and stores the library's
 * stream, so that the library's later work waits for the call. */
static int order_with_library(nl_py_operation *call, const nl_py_value *v) {
    CUstream stream;
    if (!nl_py_value_needs_stream_order(v, call->stream, call->blocking, &stream))
        return 0;
    int added = add_following_stream(call, stream);
    return added <= 0 ? added : nl_py_value_order_stream(v, call->stream, call->blocking);
}

static int order_with_tensor(nl_py_operation *call, const nl_py_foreign *f) {
    if (!nl_py_arrayinterface_needs_stream_order(f, call->stream, call->blocking))
        return 0;
    int added = add_following_stream(call, f->stream);
    return added <= 0 ? added : nl_py_arrayinterface_order_stream(f, call->stream, call->blocking);
}

/* Reads a tensor of a class with DLPack's exchange API, without a device array over it. The caller
 * keeps the tensor alive. Returns 1 on success, 0 if the general path must read the tensor, -1 with
 * an exception. */
static int read_tensor(nl_py_operation *call, nl_py_operand *op, PyObject *obj) {
    nl_py_foreign f;
    if (!nl_py_dlpack_is_registered(call->state, obj) || nl_capture_is_any_active())
        return 0;
    int found = nl_py_dlpack_read(call->state, obj, &call->current, &f);
    if (found <= 0)
        return found;
    if (nl_device_find_by_address(call->device, f.address) != call->device)
        return 0;
    if (order_with_tensor(call, &f) < 0)
        return -1;
    op->place = NL_PY_PLACE_DEVICE;
    op->dtype = (uint8_t)f.element.dtype;
    op->itemsize = f.layout.itemsize;
    op->address = f.address;
    set_operand_geometry(op, &f.layout);
    return 1;
}

/* Reads an array that is not exactly a DeviceArray or numpy.ndarray. Returns 1 on success, 0 if the
 * object is not an array, -1 with an exception. */
static int set_foreign_operand(nl_py_operation *call, int index, nl_py_operand *op,
                               nl_py_value *v) {
    PyObject *array;
    if (v->mode || nl_py_value_read_dlpack(call->state, v, call->stream) < 0)
        return v->mode ? 0 : -1;
    switch ((nl_py_value_kind)v->kind) {
    case NL_PY_VALUE_DEVICE:
        if (order_with_library(call, v) < 0 || !(array = nl_py_value_get_array(call->state, v)) ||
            rebind_device(call) < 0)
            return -1;
        return set_device_operand(call, index, op, array) < 0 ? -1 : 1;
    case NL_PY_VALUE_HOST:
        if (rebind_device(call) < 0 || set_host_operand(op, &v->memory.host) < 0)
            return -1;
        return 1;
    case NL_PY_VALUE_NUMBER:
    case NL_PY_VALUE_OTHER:
        break;
    }
    return rebind_device(call);
}

/* Reads a Python or NumPy number. Returns 1 on success, 0 if the object is not a number, -1 with an
 * exception. */
static int read_number(nl_py_operand *op, PyObject *obj) {
    unsigned char bytes[16];
    if (nl_py_hostarray_is_scalar(obj)) {
        nl_dtype dtype = nl_py_hostarray_read_scalar(obj, bytes);
        if (dtype == NL_OPAQUE)
            return 0;
        nl_scalar_load(&op->value, dtype, bytes);
        set_scalar_operand(op, dtype, NL_PY_STRONG);
        return 1;
    }
    int weak = PyBool_Check(obj)      ? NL_PY_STRONG
               : PyLong_Check(obj)    ? NL_PY_WEAK_INT
               : PyFloat_Check(obj)   ? NL_PY_WEAK_FLOAT
               : PyComplex_Check(obj) ? NL_PY_WEAK_COMPLEX
                                      : -1;
    static const nl_dtype own[] = {NL_BOOL, NL_INT64, NL_FLOAT64, NL_COMPLEX128};
    if (weak < 0)
        return 0;
    set_scalar_operand(op, own[weak], (nl_py_weak)weak);
    return nl_py_value_read_number(obj, &op->value);
}

static void init_operand(nl_py_operand *op, PyObject *obj) {
    nl_py_operand_set_missing(op);
    op->given = obj;
    op->readonly = 0;
}

/* Reads an object of exactly the class numpy.ndarray. Returns 1 on success, 0 for another class, -1
 * with an exception. */
static inline int read_exact_ndarray(nl_py_operand *op, PyObject *obj) {
    nl_host_array host;
    if (!nl_py_hostarray_is_exact_array(obj))
        return 0;
    return nl_py_hostarray_read(obj, &host) < 0 || set_host_operand(op, &host) < 0 ? -1 : 1;
}

static int read_foreign_operand(nl_py_operation *call, int index, nl_py_operand *op, PyObject *obj,
                                int is_input) {
    nl_py_value v;
    if (nl_py_value_read(call->state, obj, &v) < 0)
        return -1;
    int found = set_foreign_operand(call, index, op, &v);
    if (found > 0 && is_input && v.is_masked) {
        PyErr_Format(PyExc_TypeError,
                     "%U(): operand %d is a masked array, whose mask would be ignored", call->name,
                     index + 1);
        found = -1;
    }
    nl_py_value_clear(&v);
    return found;
}

int nl_py_operand_read(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op) {
    init_operand(op, obj);
    if (nl_py_devarray_check_exact(call->state, obj))
        return set_device_operand(call, index, op, obj);
    int found = read_exact_ndarray(op, obj);
    if (found == 0)
        found = read_tensor(call, op, obj);
    if (found == 0)
        found = read_number(op, obj);
    if (found == 0)
        found = read_foreign_operand(call, index, op, obj, 1);
    if (found == 0)
        found = replace_by_host_array(op, nl_py_hostarray_from_object(obj));
    return found < 0 ? -1 : convert_0d_to_number(op);
}

static int check_overlap(nl_py_operation *call, int index, int is_input, const nl_py_operand *op) {
    nl_layout layout = {.ndim = op->ndim, .itemsize = op->itemsize};
    memcpy(layout.shape, op->shape, (size_t)op->ndim * sizeof(int64_t));
    memcpy(layout.strides, op->strides, (size_t)op->ndim * sizeof(int64_t));
    if (!nl_layout_overlaps_itself(&layout))
        return 0;
    PyErr_Format(PyExc_ValueError, "%U(): elements of operand %d, an %s, overlap in memory",
                 call->name, index + 1, is_input ? "input that the function writes" : "output");
    return -1;
}

/* Reads an array for writing. Returns 1 on success, 0 if the object is not an array, -1 with an
 * exception. */
static int read_output_array(nl_py_operation *call, int index, nl_py_operand *op, PyObject *obj) {
    if (nl_py_devarray_check(call->state, obj))
        return set_device_operand(call, index, op, obj) < 0 ? -1 : 1;
    int found = read_exact_ndarray(op, obj);
    if (found == 0)
        found = read_tensor(call, op, obj);
    return found ? found : read_foreign_operand(call, index, op, obj, 0);
}

static int read_writable(nl_py_operation *call, PyObject *obj, int index, int is_input,
                         nl_py_operand *op) {
    init_operand(op, obj);
    int found = read_output_array(call, index, op, obj);
    if (found < 0)
        return -1;
    if (found == 0 && is_input)
        PyErr_Format(
            PyExc_TypeError,
            "%U(): operand %d, an input that the function writes, must be an array, not %s",
            call->name, index + 1, Py_TYPE(obj)->tp_name);
    else if (found == 0)
        PyErr_SetString(PyExc_TypeError, "return arrays must be of ArrayType");
    if (found == 0)
        return -1;
    if (op->place == NL_PY_PLACE_HOST && op->array != obj && nl_py_hostarray_is_array(obj))
        op->readonly = !nl_py_hostarray_is_writable(obj); /* `array` is a native-endian copy */
    if (op->readonly && is_input)
        PyErr_Format(PyExc_ValueError,
                     "%U(): operand %d, an input that the function writes, is read-only",
                     call->name, index + 1);
    else if (op->readonly)
        PyErr_SetString(PyExc_ValueError, "output array is read-only");
    if (op->readonly)
        return -1;
    if (op->place == NL_PY_PLACE_DEVICE && op->array &&
        ((nl_py_array *)op->array)->flags & (NL_PY_ARRAY_C | NL_PY_ARRAY_F))
        return 0;
    return check_overlap(call, index, is_input, op);
}

int nl_py_operand_read_out(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op) {
    return read_writable(call, obj, index, 0, op);
}

int nl_py_operand_read_in_out(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op) {
    return read_writable(call, obj, index, 1, op);
}

void nl_py_operand_clear(nl_py_operand *op) {
    if (op->buffer)
        nl_py_devarray_buffer_release(op->buffer);
    op->buffer = NULL;
    Py_CLEAR(op->array);
}

PyObject *nl_py_operand_type_argument(const nl_py_operand *op) {
    switch (op->weak) {
    case NL_PY_WEAK_INT:
        return Py_NewRef((PyObject *)&PyLong_Type);
    case NL_PY_WEAK_FLOAT:
        return Py_NewRef((PyObject *)&PyFloat_Type);
    case NL_PY_WEAK_COMPLEX:
        return Py_NewRef((PyObject *)&PyComplex_Type);
    default:
        break;
    }
    if (op->dtype != NL_OPAQUE)
        return nl_py_hostarray_descr_of_dtype((nl_dtype)op->dtype);
    return op->place == NL_PY_PLACE_DEVICE ? Py_NewRef(((nl_py_array *)op->array)->descr)
                                           : PyObject_GetAttrString(op->array, "dtype");
}

/* Returns whether the integer type cannot represent the value. */
static int cannot_represent(double value, nl_dtype dtype) {
    unsigned char bytes[8];
    if (!(value >= -0x1p63 && value < 0x1p64) || value != trunc(value))
        return 1;
    nl_scalar integer = {.kind = value < 0 ? NL_SCALAR_INT : NL_SCALAR_UINT};
    integer.integer = value < 0 ? (int64_t)value : (int64_t)(uint64_t)value;
    return nl_scalar_store(&integer, dtype, bytes) != NL_STORED;
}

int nl_py_operand_write_scalar(const nl_py_operand *op, nl_dtype dtype, int may_lose, void *bytes) {
    int is_integer = dtype >= NL_INT8 && dtype <= NL_UINT64;
    if (op->weak == NL_PY_WEAK_FLOAT && is_integer && !may_lose &&
        cannot_represent(op->value.real, dtype)) {
        PyErr_Format(PyExc_TypeError,
                     "Python float %R is not a valid %s: write np.%s(%R) to convert it", op->given,
                     nl_dtype_name(dtype), nl_dtype_name(dtype), op->given);
        return -1;
    }
    if (op->weak == NL_PY_WEAK_INT && is_integer &&
        nl_scalar_store(&op->value, dtype, bytes) != NL_STORED) {
        PyErr_Format(PyExc_OverflowError, "Python integer %S out of bounds for %s", op->given,
                     nl_dtype_name(dtype));
        return -1;
    }
    if (op->value.kind == NL_SCALAR_BIG && isinf(op->value.real) && dtype != NL_BOOL) {
        PyErr_SetString(PyExc_OverflowError, "int too large to convert to float");
        return -1;
    }
    nl_scalar_cast(&op->value, dtype, bytes);
    return 0;
}

/* ---- making ---- */

static int allocate_buffer(nl_py_operation *call, int64_t size, nl_buffer **out) {
    nl_error err;
    int result = nl_py_devarray_buffer_alloc(call->device, (size_t)size, out, &err);
    if (result == 0) {
        result = nl_buffer_order_with_stream(*out, call->stream, call->blocking, &err);
        if (result < 0) {
            nl_py_devarray_buffer_release(*out);
            *out = NULL;
        }
    }
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

/* Returns the thread's current stream if the call uses that stream, else NULL. */
static PyObject *current_stream_of_call(const nl_py_operation *call) {
    PyObject *current = nl_py_stream_current();
    return current && ((nl_py_stream *)current)->stream->handle == call->stream ? current : NULL;
}

static PyObject *make_device_array(nl_py_operation *call, nl_dtype dtype, const nl_layout *layout,
                                   int64_t size) {
    nl_buffer *buffer = NULL;
    PyObject *array = NULL, *descr = nl_py_hostarray_descr_of_dtype(dtype);
    if (descr && allocate_buffer(call, size, &buffer) == 0) {
        nl_py_array_parts parts = {.buffer = buffer,
                                   .address = buffer->address,
                                   .descr = descr,
                                   .stream = current_stream_of_call(call),
                                   .element = {dtype, NL_ELEMENT_PLAIN, layout->itemsize}};
        array = nl_py_devarray_new(call->state, &parts, layout);
        nl_py_devarray_buffer_release(buffer);
    }
    Py_XDECREF(descr);
    return array;
}

int nl_py_operand_make_array(nl_py_operation *call, nl_py_operand *op, int on_device,
                             nl_dtype dtype, int ndim, const int64_t *shape,
                             const int64_t *strides) {
    nl_layout layout;
    int64_t low, high;
    layout.ndim = ndim;
    layout.itemsize = (int64_t)nl_dtype_size(dtype);
    memcpy(layout.shape, shape, (size_t)ndim * sizeof(int64_t));
    memcpy(layout.strides, strides, (size_t)ndim * sizeof(int64_t));
    if (nl_py_geometry_byte_extent(&layout, &low, &high) < 0)
        return -1;
    init_operand(op, NULL);
    if (on_device) {
        PyObject *array = make_device_array(call, dtype, &layout, high - low);
        if (!array)
            return -1;
        int result = set_device_operand(call, 0, op, array);
        Py_DECREF(array);
        op->made = 1;
        return result;
    }
    PyObject *descr = nl_py_hostarray_descr_of_dtype(dtype);
    PyObject *array = descr ? nl_py_hostmemory_empty(call->state, descr, &layout) : NULL;
    Py_XDECREF(descr);
    if (replace_by_host_array(op, array) < 0)
        return -1;
    op->made = 1;
    return 0;
}

PyObject *nl_py_operand_result(nl_py_operand *op, int scalars) {
    if (!op->made)
        return Py_NewRef(op->given);
    if (scalars && op->ndim == 0 && op->place == NL_PY_PLACE_HOST)
        return nl_py_hostarray_read_item(op->array);
    return Py_NewRef(op->array);
}

/* ---- to the device ---- */

/* Computes the layout of the distinct elements of an operand, in which broadcast dimensions have
 * length 1. */
static void layout_without_broadcasts(const nl_py_operand *op, nl_layout *layout) {
    layout->ndim = op->ndim;
    layout->itemsize = op->itemsize;
    for (int i = 0; i < op->ndim; i++) {
        layout->shape[i] = op->strides[i] == 0 && op->shape[i] > 1 ? 1 : op->shape[i];
        layout->strides[i] = op->strides[i];
    }
}

static int register_host_copy(nl_py_operation *call, const nl_py_operand *op, int index) {
    nl_py_hostcopy *copy = nl_py_hostcopy_reserve_item(&call->hosts);
    if (!copy)
        return -1;
    copy->mode = op->copied;
    copy->tag = index;
    copy->array = op->array;
    copy->data = (char *)(uintptr_t)op->address;
    layout_without_broadcasts(op, &copy->host);
    nl_py_hostcopy_add_item(&call->hosts, copy, 'K');
    return 0;
}

int nl_py_operands_copy_to_device(nl_py_operation *call, nl_py_operand *ops, int count,
                                  nl_py_reads reads) {
    nl_py_hostcopies *hosts = &call->hosts;
    for (int i = 0; i < count; i++)
        if (ops[i].copied && register_host_copy(call, &ops[i], i) < 0)
            return -1;
    if (hosts->count == 0)
        return 0;
    if (nl_capture_is_any_active() &&
        nl_py_capture_check_wait(call->stream, "a call with host arrays",
                                 ", because it waits for its copies: "
                                 "pass device arrays") < 0)
        return -1;
    if (nl_py_hostcopy_start_copies(hosts, call->device, call->stream, call->blocking, reads) < 0)
        return -1;
    for (int i = 0; i < hosts->count; i++) {
        ops[hosts->items[i].tag].address = hosts->items[i].address;
        ops[hosts->items[i].tag].strides = hosts->items[i].device.strides;
    }
    return 0;
}

static int order_followers(const nl_py_operation *call) {
    nl_error err;
    for (int i = 0; i < call->follower_count; i++)
        if (nl_stream_order_after(call->device, call->followers[i], call->stream, &err) < 0) {
            nl_py_raise(&err);
            return -1;
        }
    return 0;
}

int nl_py_operands_copy_to_host(nl_py_operation *call, nl_py_operand *ops, int count) {
    if (call->follower_count && order_followers(call) < 0)
        return -1;
    int waited = nl_py_hostcopy_copy_back(&call->hosts);
    if (waited <= 0)
        return waited;
    for (int i = 0; i < count; i++) {
        nl_py_operand *op = &ops[i];
        if (op->buffer)
            nl_buffer_forget_users(op->buffer);
        /* an output in the byte order that is not the machine's */
        if ((op->copied & NL_PY_TRANSFER_OUT) && !op->made && op->array != op->given &&
            nl_py_hostarray_is_array(op->given) &&
            nl_py_hostarray_copy_into(op->given, op->array) < 0)
            return -1;
    }
    return 0;
}

int nl_py_operand_copy_separate(nl_py_operation *call, nl_py_operand *op) {
    nl_layout from, to;
    nl_error err;
    int result;
    layout_without_broadcasts(op, &from);
    to = from;
    nl_layout_set_k_order(&to);
    if (allocate_buffer(call, nl_layout_count_elements(&to) * to.itemsize, &op->buffer) < 0)
        return -1;
    NL_UNLOCKED(result = nl_transfer(call->device, NL_DEVICE_TO_DEVICE, op->buffer->address, &to,
                                     op->address, &from, call->stream, 1, &err));
    if (result < 0) {
        nl_py_raise(&err);
        return -1;
    }
    op->address = op->buffer->address;
    op->strides = memcpy(op->dims + NL_MAX_DIMS, to.strides, (size_t)to.ndim * sizeof(int64_t));
    return 0;
}

/* ---- geometry ---- */

static nl_layout_view layout_view_of_operand(const nl_py_operand *op) {
    return (nl_layout_view){op->address, op->ndim, op->itemsize, op->shape, op->strides};
}

int nl_py_operands_overlap(const nl_py_operand *a, const nl_py_operand *b, int same_is_fine) {
    nl_layout_view of_a = layout_view_of_operand(a), of_b = layout_view_of_operand(b);
    if (same_is_fine && nl_layout_same_elements(&of_a, &of_b))
        return 0;
    return nl_layout_may_overlap(&of_a, &of_b);
}

PyObject *nl_py_operand_shape_text(const nl_py_shape *shapes, int count) {
    PyObject *text = PyUnicode_FromString("");
    for (int i = 0; i < count; i++) {
        int ndim = shapes[i].ndim;
        if (text)
            Py_SETREF(text, PyUnicode_FromFormat("%U%s(", text, i ? " " : ""));
        for (int d = 0; text && d < ndim; d++)
            Py_SETREF(text, PyUnicode_FromFormat("%U%lld%s", text, (long long)shapes[i].sizes[d],
                                                 d + 1 < ndim || ndim == 1 ? "," : ""));
        if (text)
            Py_SETREF(text, PyUnicode_FromFormat("%U)", text));
    }
    return text;
}

int nl_py_operand_broadcast_shapes(const nl_py_operation *call, const nl_py_shape *shapes,
                                   int count, int64_t *sizes) {
    int ndim = 0;
    for (int i = 0; i < count; i++)
        ndim = shapes[i].ndim > ndim ? shapes[i].ndim : ndim;
    for (int d = 0; d < ndim; d++)
        sizes[d] = 1;
    for (int i = 0; i < count; i++) {
        int64_t *last = sizes + ndim - shapes[i].ndim;
        for (int d = 0; d < shapes[i].ndim; d++) {
            int64_t size = shapes[i].sizes[d];
            if (size == 1 || size == last[d])
                continue;
            if (last[d] != 1)
                goto mismatch;
            last[d] = size;
        }
    }
    return ndim;
mismatch:;
    PyObject *text = nl_py_operand_shape_text(shapes, count);
    if (text)
        PyErr_Format(PyExc_ValueError,
                     "%U(): operands could not be broadcast together with shapes %U ", call->name,
                     text);
    Py_XDECREF(text);
    return -1;
}
