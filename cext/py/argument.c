/* py/argument: writes a Python value to the parameter block.
 *
 * The most frequent cases are tested first, by exact type: a device array that fits, an int, a
 * float. The general path for other values reads the number, or the array's element type, shape and
 * order, and compares them with the parameter. The fast path and the general path write the value,
 * or raise an exception that contains the types of the value and the parameter. Only safe
 * conversions are made: a float never becomes an int, and an array never changes its dtype. */
#include "py/argument.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "py/aggregate.h"
#include "py/dlpack.h"

/* ---- messages ---- */

static int is_pointer_to_pointers(const nl_param *p) {
    return strchr(p->ctype, '*') != strrchr(p->ctype, '*');
}

static const char *expected_argument_text(const nl_param *p, char *text, size_t size) {
    int64_t low;
    uint64_t high;
    const char *dtype = nl_dtype_name(p->dtype), *lane = nl_dtype_name((nl_dtype)p->lane);
    if (p->kind == NL_PARAM_POINTER && p->lanes)
        snprintf(text, size, "%s (a C-contiguous %s array of shape (n, %d))", p->ctype, lane,
                 p->lanes);
    else if (p->kind == NL_PARAM_POINTER && p->lane != NL_OPAQUE)
        snprintf(text, size, "%s (a C-contiguous bfloat16 or %s array)", p->ctype, lane);
    else if (p->kind == NL_PARAM_POINTER && p->dtype == NL_UINT64 && is_pointer_to_pointers(p))
        snprintf(text, size, "%s (a C-contiguous uint64 array of addresses)", p->ctype);
    else if (p->kind == NL_PARAM_POINTER && p->dtype != NL_OPAQUE)
        snprintf(text, size, "%s (a C-contiguous %s array)", p->ctype, dtype);
    else if (p->kind == NL_PARAM_POINTER && p->itemsize > 0)
        snprintf(text, size, "%s (a C-contiguous array of records of %lld bytes)", p->ctype,
                 (long long)p->itemsize);
    else if (p->kind == NL_PARAM_POINTER)
        snprintf(text, size, "%s (a C-contiguous array)", p->ctype);
    else if (p->kind == NL_PARAM_ARRAY && p->ndim == 0 && p->dtype == NL_OPAQUE)
        snprintf(text, size, "%s (a record of %lld bytes)", p->ctype, (long long)p->itemsize);
    else if (p->kind == NL_PARAM_ARRAY && p->ndim == 0)
        snprintf(text, size, "%s (a %s array of shape ())", p->ctype, dtype);
    else if (p->kind == NL_PARAM_ARRAY && p->dtype != NL_OPAQUE)
        snprintf(text, size, "%s (%s)", p->ctype, dtype);
    else if (p->kind == NL_PARAM_ARRAY)
        snprintf(text, size, "%s (an array of records of %lld bytes)", p->ctype,
                 (long long)p->itemsize);
    else if (p->kind == NL_PARAM_TUPLE)
        snprintf(text, size, "%s (a tuple of %d item%s)", p->ctype, p->parts,
                 p->parts == 1 ? "" : "s");
    else if (p->kind == NL_PARAM_EMPTY)
        snprintf(text, size, "%s", p->ctype);
    else if (p->kind == NL_PARAM_STRUCT && p->takes_bfloat16)
        snprintf(text, size, "%s (a float)", p->ctype);
    else if (nl_py_aggregate_is_dim3(p))
        snprintf(text, size, "%s (an int, or a tuple of up to 3)", p->ctype);
    else if (p->kind == NL_PARAM_STRUCT && p->parts)
        snprintf(text, size, "%s (a tuple of %d numbers)", p->ctype, p->parts);
    else if (p->kind == NL_PARAM_STRUCT)
        snprintf(text, size, "%s (a NumPy record of %u bytes)", p->ctype, p->size);
    else if (p->dtype >= NL_INT8 && p->dtype <= NL_UINT64) {
        nl_scalar_limits(p->dtype, &low, &high);
        snprintf(text, size, "%s (an int from %lld to %llu)", p->ctype, (long long)low,
                 (unsigned long long)high);
    } else
        snprintf(text, size, "%s (%s)", p->ctype, dtype);
    return text;
}

int nl_py_argument_raise_mismatch(const nl_py_call *call, int index, PyObject *value,
                                  PyObject *exception, const char *format, ...) {
    char expected[360], got[360], reason[360];
    const nl_param *p = &call->params->items[index];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    PyErr_Format(exception, "%s(): parameter %d '%s': expected %s, got %s%s", call->name,
                 p->number + 1, p->name, expected_argument_text(p, expected, sizeof expected),
                 nl_py_value_describe(call->state, value, got, sizeof got), reason);
    return -1;
}

/* ---- array types ---- */

/* Returns the object whose type and shape messages describe: the array made from the argument by
 * DLPack, else the argument itself. */
static PyObject *object_named_in_messages(const nl_py_value *v) {
    return v->exported && v->array ? v->array : v->given;
}

static int matches_element(const nl_param *p, const nl_element *e) {
    if (p->dtype != NL_OPAQUE)
        return (e->class == NL_ELEMENT_PLAIN && e->dtype == p->dtype) ||
               (e->class == NL_ELEMENT_TIME && p->dtype == NL_INT64);
    if (p->itemsize == 0)
        return 1;
    if (p->lane != NL_OPAQUE && e->class == NL_ELEMENT_PLAIN && e->dtype == p->lane)
        return 1; /* check_array also checks the number of lanes */
    int complex_pair = p->takes_complex && e->dtype >= NL_COMPLEX64;
    return e->itemsize == p->itemsize && (e->class == NL_ELEMENT_RECORD || complex_pair);
}

/* Advises to view the array as records with as many fields as fit into the struct. */
static void write_record_view_advice(const nl_param *p, const nl_element *e, char *text,
                                     size_t size) {
    static const char letters[] = "?biiiiuuuufffcc";
    int64_t fields = p->itemsize % e->itemsize ? 0 : p->itemsize / e->itemsize;
    if (fields < 2 || fields > 8) {
        snprintf(text, size, ": view it as records of %lld bytes, x.view([...])",
                 (long long)p->itemsize);
        return;
    }
    int used = snprintf(text, size, ": view it as records, such as x.view('");
    for (int64_t i = 0; i < fields; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%c%lld", i ? "," : "",
                         e->dtype == NL_BOOL ? '?' : letters[e->dtype], (long long)e->itemsize);
    snprintf(text + used, size - (size_t)used, "')");
}

/* Returns advice for an array of the wrong element type; uses `text` if the advice contains a
 * dtype. */
static const char *advice_for_element(const nl_param *p, const nl_element *e, char *text,
                                      size_t size) {
    switch (e->class) {
    case NL_ELEMENT_SWAPPED:
        return ": the array's byte order is not this machine's; "
               "convert it with x.astype(x.dtype.newbyteorder('='))";
    case NL_ELEMENT_TIME:
        return ": dates and times are int64 to a kernel";
    case NL_ELEMENT_OBJECT:
        return ": Python objects have no counterpart in C++";
    default:
        break;
    }
    if (e->class != NL_ELEMENT_PLAIN)
        return "";
    if (strstr(p->ctype, "bfloat16"))
        return ": convert it with x.astype(ml_dtypes.bfloat16)";
    if (p->kind == NL_PARAM_POINTER && is_pointer_to_pointers(p))
        return ": build an array of pointers from each x.__cuda_array_interface__['data'][0]";
    if (p->lane != NL_OPAQUE)
        snprintf(text, size, ": convert it, x = x.astype('%s')", nl_dtype_name((nl_dtype)p->lane));
    else if (p->dtype == NL_OPAQUE)
        write_record_view_advice(p, e, text, size);
    else
        snprintf(text, size, ": convert it, x = x.astype('%s')", nl_dtype_name(p->dtype));
    return text;
}

/* Checks the number of dimensions and the order that the parameter requires. */
static int check_order(const nl_py_call *call, int index, const nl_py_value *v, int is_copied) {
    const nl_param *p = &call->params->items[index];
    int is_f = v->order & NL_PY_ARRAY_F, is_c = v->order & NL_PY_ARRAY_C;
    if (p->kind == NL_PARAM_POINTER)
        return is_c ? 0
                    : nl_py_argument_raise_mismatch(
                          call, index, object_named_in_messages(v), PyExc_TypeError,
                          " that is not C-contiguous: a plain pointer has no strides");
    if (v->ndim != p->ndim)
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_TypeError,
            p->ndim ? ": it must have %d dimension%s" : ": pass one element of it", p->ndim,
            p->ndim == 1 ? "" : "s");
    /* the copy of an array that is contiguous in neither order is C-contiguous */
    if (p->order == NL_ORDER_C && !is_c && !(is_copied && !is_f))
        return nl_py_argument_raise_mismatch(call, index, object_named_in_messages(v),
                                             PyExc_TypeError, " that is not C-contiguous");
    if (p->order == NL_ORDER_F && !is_f)
        return nl_py_argument_raise_mismatch(call, index, object_named_in_messages(v),
                                             PyExc_TypeError, " that is not Fortran-contiguous");
    return 0;
}

/* Returns the device of the array's memory, or NULL for host memory or if the device is unknown. */
static const nl_device *device_of_value(const nl_py_call *call, const nl_py_value *v) {
    if (v->kind != NL_PY_VALUE_DEVICE || !call->device)
        return NULL;
    if (v->array) {
        const nl_buffer *buffer = ((nl_py_array *)v->array)->buffer;
        return buffer->size ? buffer->device : NULL;
    }
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] == 0)
            return NULL;
    return nl_device_find_by_address(call->device, v->address);
}

static int check_device(nl_py_call *call, int index, const nl_py_value *v) {
    const nl_device *device = device_of_value(call, v);
    if (!device || device == call->device)
        return 0;
    if (!call->may_visit || !nl_device_allows_peer_buffers(call->device, device))
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_ValueError,
            " on device %d, but the kernel runs on device %d: copy it over", device->ordinal,
            call->device->ordinal);
    call->visited |= UINT64_C(1) << device->ordinal;
    return 0;
}

/* Checks whether an array fits a parameter that is a pointer or array<>. 0, or -1 with an
 * exception. `mode`:
 * directions of the copy; A `mode` of 0 means that the array is used in place. */
static int check_array(nl_py_call *call, int index, const nl_py_value *v, int mode) {
    const nl_param *p = &call->params->items[index];
    const nl_element *e = &v->element;
    char advice[120];
    if (e->class == NL_ELEMENT_SWAPPED || e->class == NL_ELEMENT_OBJECT || !matches_element(p, e))
        return nl_py_argument_raise_mismatch(call, index, object_named_in_messages(v),
                                             PyExc_TypeError, "%s",
                                             advice_for_element(p, e, advice, sizeof advice));
    if (p->lanes && e->dtype == p->lane && (v->ndim == 0 || v->shape[v->ndim - 1] != p->lanes))
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_TypeError,
            ": its last axis must have %d items, such as x.reshape(-1, %d)", p->lanes, p->lanes);
    if (check_order(call, index, v, mode) < 0)
        return -1;
    if (v->is_readonly && !p->is_const && (!mode || (mode & NL_PY_TRANSFER_OUT)))
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_ValueError,
            " that is read-only: pass a copy, %sor declare the parameter const",
            call->device ? "or cuda.In(x), " : "");
    if (!mode && ((p->lanes ? v->address : v->misaligned) & (p->element_align - 1)))
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_ValueError,
            " whose elements are not aligned to %d bytes: pass a copy", (int)p->element_align);
    return check_device(call, index, v);
}

static void write_array(const nl_param *p, unsigned char *at, CUdeviceptr address,
                        const int64_t *shape, const int64_t *strides) {
    memcpy(at, &address, sizeof address);
    at += sizeof address;
    if (p->kind != NL_PARAM_ARRAY)
        return;
    for (int d = 0; d < p->ndim; d++, at += sizeof *shape)
        memcpy(at, &shape[d], sizeof *shape);
    for (int d = 0; d < p->ndim; d++, at += sizeof *strides)
        memcpy(at, &strides[d], sizeof *strides);
}

/* ---- kinds of arrays ---- */

/* Writes a device array that fits. The shape and strides of the array have the layout of the
 * parameter block, so they are copied as one block of bytes. Arrays of one and two dimensions use
 * memcpy with a constant size, because a real call of memcpy would take longer than the rest of
 * this function. */
static inline void write_array_header(const nl_param *p, unsigned char *at, const nl_py_array *a) {
    const size_t step = 2 * sizeof(int64_t);
    memcpy(at, &a->address, sizeof a->address);
    at += sizeof a->address;
    if (p->kind != NL_PARAM_ARRAY)
        return;
    if (p->ndim == 1)
        memcpy(at, a->shape, step);
    else if (p->ndim == 2)
        memcpy(at, a->shape, 2 * step);
    else
        memcpy(at, a->shape, (size_t)p->ndim * step);
}

static int use_device_array(const nl_py_call *call, const nl_py_array *a) {
    nl_error err;
    const nl_device *device = a->buffer->device;
    /* if an array is on another device, the launcher waits before and after the kernel */
    int visiting = a->buffer->size && device != call->device;
    int result = visiting ? nl_device_check_generation(device, a->buffer->generation, &err)
                          : nl_py_devarray_order_with_stream(a, call->stream, call->blocking, &err);
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

static int write_device_array(nl_py_call *call, int index, const nl_py_value *v,
                              unsigned char *at) {
    if (check_array(call, index, v, 0) < 0 ||
        (v->array ? use_device_array(call, (nl_py_array *)v->array)
                  : nl_py_value_order_stream(v, call->stream, call->blocking)) < 0)
        return -1;
    write_array(&call->params->items[index], at, v->address, v->shape, v->strides);
    return 0;
}

static __attribute__((noinline)) int write_own(nl_py_call *call, int index, PyObject *array,
                                               unsigned char *at) {
    nl_py_value v;
    nl_py_value_of_array(&v, array);
    return write_device_array(call, index, &v, at);
}

/* Returns the directions in which a host array is copied, or -1 with an exception. */
static int host_copy_directions(nl_py_call *call, int index, const nl_py_value *v) {
    const nl_param *p = &call->params->items[index];
    if (v->mode == 0)
        call->implicit |= !v->is_record;
    else if (p->is_const && v->mode == NL_PY_TRANSFER_OUT)
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_TypeError,
            ": cuda.Out makes no sense for a parameter that is const");
    return p->is_const ? NL_PY_TRANSFER_IN
           : v->mode   ? v->mode
                       : NL_PY_TRANSFER_IN | NL_PY_TRANSFER_OUT;
}

/* Adds a host array to the copies of the call. The device copy of a host array is C-contiguous,
 * unless the array is only Fortran-contiguous. */
static int write_host_array(nl_py_call *call, int index, const nl_py_value *v, unsigned char *at) {
    char order = v->order == NL_PY_ARRAY_F ? 'F' : 'C';
    if (v->is_masked)
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_TypeError,
            ": the mask would be lost; replace masked elements, x.filled(0)");
    int mode = host_copy_directions(call, index, v);
    if (mode < 0 || check_array(call, index, v, mode) < 0)
        return -1;
    if ((mode & NL_PY_TRANSFER_OUT) && nl_layout_overlaps_itself(&v->memory.host.layout))
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_ValueError,
            " whose elements overlap in memory: it cannot be copied back");
    nl_py_hostcopy *copy = nl_py_hostcopy_reserve_item(&call->hosts);
    if (!copy)
        return -1;
    copy->mode = mode;
    copy->tag = index;
    copy->array = v->array;
    copy->data = v->memory.host.data;
    nl_layout_copy(&copy->host, &v->memory.host.layout);
    nl_py_hostcopy_add_item(&call->hosts, copy, order);
    write_array(&call->params->items[index], at, 0, copy->device.shape, copy->device.strides);
    return 0;
}

int nl_py_argument_check_overlap(const nl_py_call *call) {
    int first, second, found = nl_py_hostcopy_find_overlap(&call->hosts, &first, &second);
    if (found <= 0)
        return found;
    const nl_param *a = &call->params->items[first], *b = &call->params->items[second];
    PyErr_Format(
        PyExc_ValueError,
        "%s(): parameters %d '%s' and %d '%s': the arrays overlap in memory and one is written, "
        "but each would be copied to the device separately; "
        "pass device arrays, or copies",
        call->name, a->number + 1, a->name, b->number + 1, b->name);
    return -1;
}

void nl_py_argument_write_addresses(const nl_py_call *call, unsigned char *block) {
    for (int i = 0; i < call->hosts.count; i++) {
        const nl_py_hostcopy *copy = &call->hosts.items[i];
        memcpy(block + call->params->items[copy->tag].offset, &copy->address, sizeof copy->address);
    }
}

/* Writes an address: None and 0 are written as NULL; any other address must be in memory that the
 * driver has allocated or registered. The user must guarantee that the address is correct and
 * remains valid. */
static int write_address(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    const nl_param *p = &call->params->items[index];
    CUdeviceptr address = 0;
    nl_error err;
    nl_address pointer;
    if (value != Py_None) {
        address = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return nl_py_argument_raise_mismatch(call, index, value, PyExc_ValueError,
                                                 ", which is no address");
        }
    }
    if (address && !call->device)
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_TypeError,
                                             ": pass an array, not an address");
    if (address && (nl_device_bind(call->device, &err) < 0 ||
                    nl_device_query_pointer(address, &pointer, &err) < 0 || pointer.type == 0))
        return nl_py_argument_raise_mismatch(
            call, index, value, PyExc_ValueError,
            ", which is not an address in device memory: pass an array, "
            "or its address (x.__cuda_array_interface__['data'][0])");
    if (address & (p->element_align - 1))
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_ValueError,
                                             ", which is not aligned to %d bytes",
                                             (int)p->element_align);
    memcpy(at, &address, sizeof address);
    return 0;
}

static int is_address(const nl_param *p, PyObject *value) {
    return p->kind == NL_PARAM_POINTER &&
           (value == Py_None || (PyLong_Check(value) && !PyBool_Check(value)));
}

/* Writes the address of a host array, for a function on the host. */
static int write_host_address(nl_py_call *call, int index, const nl_py_value *v,
                              unsigned char *at) {
    if (v->kind != NL_PY_VALUE_HOST || v->is_record)
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_TypeError,
            v->kind == NL_PY_VALUE_DEVICE
                ? ": it is in device memory; copy it over first, x.copy_to_host()"
                : ": pass a NumPy array, numpy.asarray(x)");
    if (v->is_masked)
        return nl_py_argument_raise_mismatch(
            call, index, object_named_in_messages(v), PyExc_TypeError,
            ": the mask would be lost; replace masked elements, x.filled(0)");
    if (check_array(call, index, v, 0) < 0)
        return -1;
    write_array(&call->params->items[index], at, v->address, v->shape, v->strides);
    return 0;
}

static int raise_array_mismatch(const nl_py_call *call, int index, const nl_py_value *v) {
    const nl_param *p = &call->params->items[index];
    const char *advice =
        p->kind == NL_PARAM_ARRAY && p->ndim == 0
            ? p->dtype == NL_OPAQUE
                  ? ": make one with numpy.array((...), dtype=[...])[()]"
                  : ": pass an array, numpy.array(x): the kernel takes a reference to its element"
        : PyList_Check(v->object) || PyTuple_Check(v->object)
            ? ": pass a NumPy array, numpy.array(x)"
        : v->kind == NL_PY_VALUE_NUMBER
            ? ": pass an array, also for a single value"
            : ": pass a NumPy array, a device array "
              "or an object with __cuda_array_interface__ or __dlpack__";
    return nl_py_argument_raise_mismatch(call, index, object_named_in_messages(v), PyExc_TypeError,
                                         "%s", advice);
}

/* Adds the names of the kernel and the parameter to an exception that was raised while an argument
 * was read. */
static int add_argument_to_error(nl_py_call *call, int index) {
    char where[360];
    const nl_param *p = &call->params->items[index];
    snprintf(where, sizeof where, "%.200s(): parameter %d '%.100s'", call->name, p->number + 1,
             p->name);
    nl_py_error_prefix_location(where);
    return -1;
}

_Static_assert((int)NL_ORDER_C == NL_PY_ARRAY_C && (int)NL_ORDER_F == NL_PY_ARRAY_F &&
                   (int)NL_LAYOUT_C == NL_PY_ARRAY_C && (int)NL_LAYOUT_F == NL_PY_ARRAY_F,
               "orders are flags");

/* Handles the simple case of check_array: elements of exactly the parameter's dtype, and no
 * conversion. `orders` are flags, like an array's. */
static inline int matches_without_conversion(const nl_param *p, nl_dtype dtype, int ndim,
                                             unsigned orders, unsigned misaligned) {
    unsigned wanted = p->kind == NL_PARAM_POINTER ? NL_ORDER_C : p->order;
    return dtype == p->dtype && p->dtype != NL_OPAQUE &&
           (p->kind == NL_PARAM_POINTER || ndim == p->ndim) && (orders & wanted) == wanted &&
           !(misaligned & (p->element_align - 1));
}

/* The fastest path of write_tensor: writes a tensor whose sizes and dtype the call has already
 * read. */
static inline int write_dense_tensor(const nl_py_call *call, const nl_param *p,
                                     const nl_dl_view *view, unsigned char *at) {
    nl_dl_dense t;
    if (p->kind == NL_PARAM_ARRAY &&
        (view->tensor.ndim != p->ndim || (p->ndim > 1 && p->order == NL_ORDER_F)))
        return 0;
    if (!nl_py_dlpack_read_dense(view, &call->values->current, p->dtype, call->stream,
                                 call->blocking, &t) ||
        (t.address & (p->element_align - 1)) ||
        nl_device_find_by_address(call->device, t.address) != call->device)
        return 0;
    write_array(p, at, t.address, t.sizes, t.sizes + view->tensor.ndim);
    return 1;
}

/* Writes a tensor of a class with DLPack's exchange API. Returns 1 if the tensor fits, -1 with an
 * exception, or 0 if the general path must write or reject the tensor. */
static int write_tensor(nl_py_call *call, int index, PyObject *tensor, unsigned char *at) {
    const nl_param *p = &call->params->items[index];
    nl_py_foreign f;
    const nl_dl_view *view = nl_dl_find_view(&call->values->current, tensor);
    if (view && write_dense_tensor(call, p, view, at))
        return 1;
    call->values->runs += !view;
    int found = nl_py_dlpack_read(call->state, tensor, &call->values->current, &f);
    if (found <= 0)
        return found < 0 ? add_argument_to_error(call, index) : 0;
    if (!matches_without_conversion(p, f.element.dtype, f.layout.ndim, f.orders,
                                    nl_layout_low_bits(&f.layout, f.address)) ||
        nl_device_find_by_address(call->device, f.address) != call->device)
        return 0;
    if (nl_py_arrayinterface_order_stream(&f, call->stream, call->blocking) < 0)
        return -1;
    write_array(p, at, f.address, f.layout.shape, f.layout.strides);
    return 1;
}

static int write_foreign_array(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    const nl_py_value *v;
    if (call->device && nl_py_dlpack_is_registered(call->state, value) &&
        !nl_py_values_contain(call->values, value)) {
        int written = write_tensor(call, index, value, at);
        if (written)
            return written < 0 ? -1 : 0;
    }
    if (is_address(&call->params->items[index], value))
        return write_address(call, index, value, at);
    v = call->device ? nl_py_values_read_dlpack(call->values, value)
                     : nl_py_values_read(call->values, value);
    if (!v)
        return add_argument_to_error(call, index);
    if (!call->device)
        return write_host_address(call, index, v, at);
    switch ((nl_py_value_kind)v->kind) {
    case NL_PY_VALUE_DEVICE:
        return write_device_array(call, index, v, at);
    case NL_PY_VALUE_HOST:
        return write_host_array(call, index, v, at);
    case NL_PY_VALUE_NUMBER:
    case NL_PY_VALUE_OTHER:
        break;
    }
    return raise_array_mismatch(call, index, v);
}

/* ---- scalars ---- */

/* Writes a datetime64 or timedelta64. Returns 1 if the value was written, 0 if its type is not
 * supported here, -1 with an exception.
 */
static int write_datetime(nl_py_call *call, PyObject *value, unsigned char *at) {
    if (nl_py_devarray_check(call->state, value)) {
        const nl_py_array *a = (nl_py_array *)value;
        if (a->ndim || a->class != NL_ELEMENT_TIME)
            return 0;
        PyObject *time = nl_py_values_read_element(call->values, value);
        int result = time ? nl_py_hostarray_read_time(time, at) : -1;
        Py_XDECREF(time);
        return result;
    }
    return nl_py_hostarray_read_time(value, at);
}

static int write_scalar(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    const nl_param *p = &call->params->items[index];
    nl_scalar s;
    if (p->dtype == NL_INT64) {
        int time = write_datetime(call, value, at);
        if (time)
            return time < 0 ? -1 : 0;
    }
    int found = nl_py_values_read_number(call->values, value, &s);
    if (found < 0)
        return add_argument_to_error(call, index);
    if (!found)
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_TypeError, "");
    switch (nl_scalar_store(&s, p->dtype, at)) {
    case NL_STORED:
        return 0;
    case NL_STORE_RANGE:
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_OverflowError,
                                             ", which does not fit");
    case NL_STORE_TYPE:
        break;
    }
    return nl_py_argument_raise_mismatch(
        call, index, value, PyExc_TypeError,
        s.kind == NL_SCALAR_FLOAT ? ": convert it with int(), if truncation is intended" : "");
}

/* ---- entry ---- */

/* Tests all conditions of check_array for the simple case: no conversion, and no stream that must
 * be ordered. */
static inline int passes_without_check(const nl_py_call *call, const nl_param *p,
                                       const nl_py_array *a) {
    return matches_without_conversion(p, (nl_dtype)a->dtype, a->ndim, a->flags, a->misaligned) &&
           (p->is_const || !(a->flags & NL_PY_ARRAY_READONLY)) &&
           a->buffer->device == call->device &&
           a->buffer->generation == call->kernel->module->generation && call->blocking;
}

int nl_py_argument_write(nl_py_call *call, int index, PyObject *value, unsigned char *block) {
    const nl_param *p = &call->params->items[index];
    unsigned char *at = block + p->offset;
    switch (p->kind) {
    case NL_PARAM_POINTER:
    case NL_PARAM_ARRAY:
        if (call->device && nl_py_devarray_check_exact(call->state, value)) {
            const nl_py_array *a = (nl_py_array *)value;
            if (passes_without_check(call, p, a)) {
                if (call->stream)
                    (void)nl_buffer_order_with_stream(a->buffer, call->stream, 1, NULL);
                write_array_header(p, at, a);
                return 0;
            }
            return write_own(call, index, value, at);
        }
        return write_foreign_array(call, index, value, at);
    case NL_PARAM_SCALAR:
        if (PyLong_CheckExact(value) && (p->dtype == NL_INT32 || p->dtype == NL_INT64)) {
            int overflow;
            int64_t v = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (!overflow && (p->dtype == NL_INT64 || v == (int32_t)v)) {
                memcpy(at, &v, p->size);
                return 0;
            }
        } else if (PyFloat_CheckExact(value) && p->dtype == NL_FLOAT64) {
            double v = PyFloat_AS_DOUBLE(value);
            memcpy(at, &v, sizeof v);
            return 0;
        } else if (PyFloat_CheckExact(value) && p->dtype == NL_FLOAT32) {
            float v = (float)PyFloat_AS_DOUBLE(value);
            if (isfinite(v)) { /* infinity may be the result of an overflow of a finite number */
                memcpy(at, &v, sizeof v);
                return 0;
            }
        }
        return write_scalar(call, index, value, at);
    case NL_PARAM_STRUCT:
        return nl_py_aggregate_write_struct(call, index, value, block);
    case NL_PARAM_TUPLE:
        return nl_py_aggregate_write_tuple(call, index, value, block);
    case NL_PARAM_EMPTY:
        return nl_py_aggregate_write_empty(call, index, value, block);
    }
    return -1;
}
