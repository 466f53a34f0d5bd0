/* py/operand: operands of ufuncs.
 *
 * A device array is used where it is, for its geometry never changes. The geometry of a NumPy array
 * is copied, because another thread may change it while the interpreter's lock is released. Host
 * arrays without dimensions and scalars are values, which travel in the kernel's parameters. Arrays
 * that do travel go as few bytes as possible (a broadcast dimension once), in their own order of
 * dimensions, so that a kernel meets them without gaps. */
#include "py/operand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "core/bounce.h"
#include "core/transfer.h"
#include "py/devarray.h"
#include "py/graph.h"
#include "py/hostmemory.h"
#include "py/value.h"

#define BLOCK_ALIGN 64 /* of operands in the page-locked block */
#define FEW_UPLOADS 6  /* that need no memory of their own */
#define SHARED_MOST ((int64_t)1 << 30)

/* ---- reading ---- */

static int set_value(nl_py_operand *op, nl_dtype dtype, nl_py_weak weak) {
    op->place = NL_PY_PLACE_VALUE;
    op->dtype = (uint8_t)dtype;
    op->weak = (uint8_t)weak;
    op->itemsize = (int64_t)nl_dtype_size(dtype);
    op->shape = op->strides = op->dims;
    return 0;
}

static int set_device(nl_py_operation *call, int index, nl_py_operand *op, PyObject *array) {
    const nl_py_array *a = (nl_py_array *)array;
    nl_error err;
    op->array = Py_NewRef(array);
    op->place = NL_PY_PLACE_DEVICE;
    op->dtype = a->class == NL_ELEMENT_PLAIN ? a->dtype : NL_OPAQUE;
    op->readonly = (a->flags & NL_PY_ARRAY_READONLY) != 0;
    op->ndim = a->ndim;
    op->itemsize = a->itemsize;
    op->address = a->address;
    op->shape = a->shape;
    op->strides = nl_py_array_strides(a);
    if (__builtin_expect(a->buffer->device != call->device && a->buffer->size, 0)) {
        PyErr_Format(PyExc_ValueError,
                     "%U(): operand %d is on device %d, but the call is on device %d: copy it "
                     "over, or call where the array is",
                     call->name, index + 1, a->buffer->device->ordinal, call->device->ordinal);
        return -1;
    }
    if (nl_py_array_use(a, call->stream, call->blocking, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    return 0;
}

static void copy_geometry(nl_py_operand *op, const nl_host_array *host) {
    size_t size = (size_t)host->layout.ndim * sizeof(int64_t);
    op->place = NL_PY_PLACE_HOST;
    op->dtype = (uint8_t)host->element.dtype;
    op->readonly = !host->writable;
    op->ndim = host->layout.ndim;
    op->itemsize = host->layout.itemsize;
    op->address = (uint64_t)(uintptr_t)host->data;
    memcpy(op->dims, host->layout.shape, size);
    memcpy(op->dims + NL_MAX_DIMS, host->layout.strides, size);
    op->shape = op->dims;
    op->strides = op->dims + NL_MAX_DIMS;
}

static int set_host(nl_py_operand *op, const nl_host_array *given) {
    nl_host_array host;
    if (given->element.class != NL_ELEMENT_SWAPPED) {
        op->array = Py_NewRef(given->array);
        copy_geometry(op, given);
        return 0;
    }
    op->array = nl_host_array_native(given->array);
    if (!op->array || nl_host_array_read(op->array, &host) < 0)
        return -1;
    copy_geometry(op, &host);
    return 0;
}

/* A new array, whose reference this takes. */
static int set_made(nl_py_operand *op, PyObject *array) {
    nl_host_array host;
    int result = array && nl_host_array_read(array, &host) == 0 ? set_host(op, &host) : -1;
    Py_XDECREF(array);
    return result;
}

/* Of an input: what has no dimensions is a number. */
static int set_value_of(nl_py_operand *op) {
    if (op->ndim || op->dtype == NL_OPAQUE || op->place != NL_PY_PLACE_HOST)
        return 0;
    nl_scalar_load(&op->value, (nl_dtype)op->dtype, (const void *)(uintptr_t)op->address);
    return set_value(op, (nl_dtype)op->dtype, NL_PY_STRONG);
}

/* Whoever was asked may have made another context current. */
static int bind_again(const nl_py_operation *call) {
    nl_error err;
    if (nl_device_bind(call->device, &err) == 0)
        return 0;
    nl_py_raise(&err);
    return -1;
}

/* An array that is not plainly ours or NumPy's: 1, 0 if it is none, -1. */
static int set_other(nl_py_operation *call, int index, nl_py_operand *op, nl_py_value *v) {
    PyObject *array;
    if (v->mode || nl_py_value_export(call->state, v, call->stream) < 0)
        return v->mode ? 0 : -1;
    switch ((nl_py_value_kind)v->kind) {
    case NL_PY_VALUE_DEVICE:
        if (nl_py_value_wait(v, call->stream, call->blocking) < 0 ||
            !(array = nl_py_value_array(call->state, v)) || bind_again(call) < 0)
            return -1;
        return set_device(call, index, op, array) < 0 ? -1 : 1;
    case NL_PY_VALUE_HOST:
        if (bind_again(call) < 0 || set_host(op, &v->memory.host) < 0)
            return -1;
        return 1;
    case NL_PY_VALUE_NUMBER:
    case NL_PY_VALUE_OTHER:
        break;
    }
    return bind_again(call);
}

/* Python's and NumPy's numbers: 1, 0 if it is none, -1. */
static int read_number(nl_py_operand *op, PyObject *obj) {
    unsigned char bytes[16];
    if (nl_host_is_scalar(obj)) {
        nl_dtype dtype = nl_host_scalar_read(obj, bytes);
        if (dtype == NL_OPAQUE)
            return 0;
        nl_scalar_load(&op->value, dtype, bytes);
        set_value(op, dtype, NL_PY_STRONG);
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
    set_value(op, own[weak], (nl_py_weak)weak);
    return nl_py_number_read(obj, &op->value);
}

static void init(nl_py_operand *op, PyObject *obj) {
    nl_py_operand_none(op);
    op->given = obj;
    op->readonly = 0;
}

/* NumPy's own class: 1, 0 if it is of another, -1. */
static inline int read_exact(nl_py_operand *op, PyObject *obj) {
    nl_host_array host;
    if (!nl_host_is_exact_array(obj))
        return 0;
    return nl_host_array_read(obj, &host) < 0 || set_host(op, &host) < 0 ? -1 : 1;
}

static int read_other(nl_py_operation *call, int index, nl_py_operand *op, PyObject *obj,
                      int is_input) {
    nl_py_value v;
    if (nl_py_value_read(call->state, obj, &v) < 0)
        return -1;
    int found = set_other(call, index, op, &v);
    if (found > 0 && is_input && v.is_masked) {
        PyErr_Format(PyExc_TypeError,
                     "%U(): operand %d is a masked array, whose mask would not be seen", call->name,
                     index + 1);
        found = -1;
    }
    nl_py_value_clear(&v);
    return found;
}

int nl_py_operand_read(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op) {
    init(op, obj);
    if (nl_py_array_check_exact(call->state, obj))
        return set_device(call, index, op, obj);
    int found = read_exact(op, obj);
    if (found == 0)
        found = read_number(op, obj);
    if (found == 0)
        found = read_other(call, index, op, obj, 1);
    if (found == 0)
        found = set_made(op, nl_host_array_from(obj));
    return found < 0 ? -1 : set_value_of(op);
}

static int check_apart(nl_py_operation *call, int index, const nl_py_operand *op) {
    nl_layout layout = {.ndim = op->ndim, .itemsize = op->itemsize};
    memcpy(layout.shape, op->shape, (size_t)op->ndim * sizeof(int64_t));
    memcpy(layout.strides, op->strides, (size_t)op->ndim * sizeof(int64_t));
    if (!nl_layout_overlaps_itself(&layout))
        return 0;
    PyErr_Format(PyExc_ValueError, "%U(): elements of operand %d, an output, overlap in memory",
                 call->name, index + 1);
    return -1;
}

/* 1, 0 if it is no array, -1. */
static int read_out(nl_py_operation *call, int index, nl_py_operand *op, PyObject *obj) {
    if (nl_py_array_check(call->state, obj))
        return set_device(call, index, op, obj) < 0 ? -1 : 1;
    int found = read_exact(op, obj);
    return found ? found : read_other(call, index, op, obj, 0);
}

int nl_py_operand_read_out(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op) {
    init(op, obj);
    int found = read_out(call, index, op, obj);
    if (found < 0)
        return -1;
    if (found == 0) {
        PyErr_SetString(PyExc_TypeError, "return arrays must be of ArrayType");
        return -1;
    }
    if (op->place == NL_PY_PLACE_HOST && op->array != obj && nl_host_is_array(obj))
        op->readonly = !nl_host_array_writable(obj); /* of a copy in the other byte order */
    if (op->readonly) {
        PyErr_SetString(PyExc_ValueError, "output array is read-only");
        return -1;
    }
    if (op->place == NL_PY_PLACE_DEVICE &&
        ((nl_py_array *)op->array)->flags & (NL_PY_ARRAY_C | NL_PY_ARRAY_F))
        return 0;
    return check_apart(call, index, op);
}

void nl_py_operand_clear(nl_py_operand *op) {
    if (op->buffer)
        nl_py_buffer_release(op->buffer);
    op->buffer = NULL;
    Py_CLEAR(op->array);
}

PyObject *nl_py_operand_type(const nl_py_operand *op) {
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
        return nl_host_descr_plain((nl_dtype)op->dtype);
    return op->place == NL_PY_PLACE_DEVICE ? Py_NewRef(((nl_py_array *)op->array)->descr)
                                           : PyObject_GetAttrString(op->array, "dtype");
}

int nl_py_operand_value(const nl_py_operand *op, nl_dtype dtype, void *bytes) {
    if (op->weak == NL_PY_WEAK_INT && dtype >= NL_INT8 && dtype <= NL_UINT64 &&
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

static int alloc(nl_py_operation *call, int64_t size, nl_buffer **out) {
    nl_error err;
    int result = nl_py_buffer_alloc(call->device, (size_t)size, out, &err);
    if (result == 0) {
        result = nl_buffer_use(*out, call->stream, call->blocking, &err);
        if (result < 0) {
            nl_py_buffer_release(*out);
            *out = NULL;
        }
    }
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

static PyObject *make_device(nl_py_operation *call, nl_dtype dtype, const nl_layout *layout,
                             int64_t size) {
    nl_buffer *buffer = NULL;
    PyObject *array = NULL, *descr = nl_host_descr_plain(dtype);
    if (descr && alloc(call, size, &buffer) == 0) {
        nl_py_array_parts parts = {.buffer = buffer,
                                   .address = buffer->address,
                                   .descr = descr,
                                   .element = {dtype, NL_ELEMENT_PLAIN, layout->itemsize}};
        array = nl_py_array_new(call->state, &parts, layout);
        nl_py_buffer_release(buffer);
    }
    Py_XDECREF(descr);
    return array;
}

int nl_py_operand_make(nl_py_operation *call, nl_py_operand *op, int on_device, nl_dtype dtype,
                       int ndim, const int64_t *shape, const int64_t *strides) {
    nl_layout layout;
    int64_t low, high;
    layout.ndim = ndim;
    layout.itemsize = (int64_t)nl_dtype_size(dtype);
    memcpy(layout.shape, shape, (size_t)ndim * sizeof(int64_t));
    memcpy(layout.strides, strides, (size_t)ndim * sizeof(int64_t));
    if (nl_py_layout_extent(&layout, &low, &high) < 0)
        return -1;
    init(op, NULL);
    if (on_device) {
        PyObject *array = make_device(call, dtype, &layout, high - low);
        if (!array)
            return -1;
        int result = set_device(call, 0, op, array);
        Py_DECREF(array);
        op->made = 1;
        return result;
    }
    PyObject *descr = nl_host_descr_plain(dtype);
    PyObject *array = descr ? nl_py_host_empty(call->state, descr, &layout) : NULL;
    Py_XDECREF(descr);
    if (set_made(op, array) < 0)
        return -1;
    op->made = 1;
    return 0;
}

PyObject *nl_py_operand_result(nl_py_operand *op, int scalars) {
    if (!op->made)
        return Py_NewRef(op->given);
    if (scalars && op->ndim == 0 && op->place == NL_PY_PLACE_HOST)
        return nl_host_array_item(op->array);
    return Py_NewRef(op->array);
}

/* ---- to the device ---- */

/* Strides of a block that has the order of the original and holds every distinct element once.
 * Returns its size in bytes. */
static int64_t set_dense(const nl_py_operand *op, int64_t *dense) {
    int order[NL_MAX_DIMS], n = 0;
    int64_t stride = op->itemsize;
    for (int i = 0; i < op->ndim; i++) {
        dense[i] = 0;
        if (op->shape[i] == 0)
            stride = 0;
        if (op->shape[i] == 1 || op->strides[i] == 0)
            continue;
        int j = n++;
        for (; j > 0 && llabs(op->strides[order[j - 1]]) < llabs(op->strides[i]); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    while (n-- > 0) {
        dense[order[n]] = stride;
        stride *= op->shape[order[n]];
    }
    return stride;
}

/* The distinct elements only. */
static void distinct_layout(const nl_py_operand *op, const int64_t *strides, nl_layout *layout) {
    layout->ndim = op->ndim;
    layout->itemsize = op->itemsize;
    for (int i = 0; i < op->ndim; i++) {
        layout->shape[i] = op->strides[i] == 0 && op->shape[i] > 1 ? 1 : op->shape[i];
        layout->strides[i] = strides[i];
    }
}

/* From the device, or from the block, to the host. */
static int copy_back(nl_py_operation *call, nl_py_operand *op, nl_error *err) {
    nl_layout host, device;
    distinct_layout(op, op->host_strides, &host);
    distinct_layout(op, op->strides, &device);
    if (nl_layout_count(&host) == 0)
        return 0;
    if (!op->mirror)
        return nl_transfer(call->device, NL_DEVICE_TO_HOST, (CUdeviceptr)(uintptr_t)op->host, &host,
                           op->address, &device, call->stream, 0, err);
    nl_pinned_scatter(op->host, &host, op->mirror, &device);
    return 0;
}

static void copy_to_mirror(nl_py_operand *op) {
    nl_layout host, device;
    distinct_layout(op, op->host_strides, &host);
    distinct_layout(op, op->strides, &device);
    if (nl_layout_count(&host) != 0)
        nl_pinned_gather(op->mirror, &device, op->host, &host);
}

/* To the device, all at once. */
static int upload(nl_py_operation *call, nl_py_operand *ops, int count, nl_error *err) {
    nl_upload uploads[NL_PY_MAX_OPERANDS];
    nl_layout few[2 * FEW_UPLOADS], *layouts = few;
    int n = 0, status;
    for (int i = 0; i < count; i++)
        n += (ops[i].stage & NL_PY_STAGE_IN) != 0;
    if (n > FEW_UPLOADS)
        layouts = nl_mem_alloc(2 * (size_t)n * sizeof *layouts, err);
    if (layouts == NULL)
        return -1;
    n = 0;
    for (int i = 0; i < count; i++) {
        const nl_py_operand *op = &ops[i];
        if (!(op->stage & NL_PY_STAGE_IN))
            continue;
        nl_layout *host = &layouts[2 * n], *device = host + 1;
        distinct_layout(op, op->host_strides, host);
        distinct_layout(op, op->strides, device);
        if (nl_layout_count(host) != 0)
            uploads[n++] = (nl_upload){op->address, device, op->host, host};
    }
    status = nl_transfer_uploads(call->device, uploads, n, call->stream, err);
    if (layouts != few)
        nl_mem_free(layouts);
    return status;
}

static int place(nl_py_operation *call, nl_py_operand *op, int64_t size, int64_t *used,
                 nl_error *err) {
    if (call->shared) {
        op->mirror = call->shared + *used;
        op->address = call->shared_address + (CUdeviceptr)*used;
        *used += (size + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
        return 0;
    }
    if (nl_buffer_alloc(call->device, (size_t)size, &op->buffer, err) < 0)
        return -1;
    op->address = op->buffer->address;
    return nl_buffer_use(op->buffer, call->stream, call->blocking, err);
}

/* Page-locked memory that the kernel uses where it is, if there is some at hand. */
static int share(nl_py_operation *call, int64_t size, nl_error *err) {
    nl_error ignored;
    if (nl_cu.Checks && (nl_cu.Checks() & NL_CHECK_UNWRITTEN))
        return 0; /* of page-locked memory nobody knows what is written */
    if (size <= NL_PINNED_BYTES) {
        if (nl_pinned_take(call->device, &call->block, err) < 0)
            return -1;
        if (call->block) {
            call->shared = call->block->host;
            call->shared_address = call->block->address;
        }
        return 0;
    }
    if (!nl_bounce_can_lock((size_t)size) ||
        nl_hostblock_take(call->device, nl_bounce_round((size_t)size), NL_HOST_LOCKED, 0,
                          &call->large, &ignored) < 0)
        return 0;
    if (nl_hostblock_device_address(call->large, &call->shared_address, err) < 0)
        return -1;
    call->shared = call->large->memory;
    return 0;
}

void nl_py_operands_done(nl_py_operation *call) {
    nl_pinned_give(call->block);
    if (call->large) {
        NL_UNLOCKED(nl_hostblock_give(call->large));
    }
    call->block = NULL;
    call->large = NULL;
    call->shared = NULL;
}

static int stage_all(nl_py_operation *call, nl_py_operand *ops, int count, const int64_t *sizes,
                     int64_t shared, nl_error *err) {
    int64_t used = 0;
    if (nl_device_bind(call->device, err) < 0)
        return -1;
    if (shared > 0 && share(call, shared, err) < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        nl_py_operand *op = &ops[i];
        if (!op->stage)
            continue;
        if (place(call, op, sizes[i], &used, err) < 0)
            return -1;
        if ((op->stage & NL_PY_STAGE_IN) && op->mirror)
            copy_to_mirror(op);
    }
    return call->shared ? 0 : upload(call, ops, count, err);
}

int nl_py_operands_stage(nl_py_operation *call, nl_py_operand *ops, int count) {
    int64_t sizes[NL_PY_MAX_OPERANDS], most = NL_PINNED_BYTES, all = 0;
    nl_error err;
    int any = 0, back = 0, result;
    for (int i = 0; i < count; i++) {
        nl_py_operand *op = &ops[i];
        if (!op->stage)
            continue;
        any = 1;
        back |= op->stage & NL_PY_STAGE_OUT;
        op->host = (char *)(uintptr_t)op->address;
        op->host_strides = op->strides;
        op->mirror = NULL;
        sizes[i] = set_dense(op, op->dims + 2 * NL_MAX_DIMS);
        all += sizes[i] <= SHARED_MOST ? (sizes[i] + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN
                                       : SHARED_MOST + 1;
    }
    if (call->once && most < nl_bounce_shared())
        most = nl_bounce_shared();
    if (!any)
        return 0;
    if (nl_capture_under_way() &&
        nl_py_graph_check_waiting(call->stream, "a call with host arrays",
                                  ", because it waits for its copies: pass device arrays") < 0)
        return -1;
    /* the layouts above are those of the host until here: distinct_layout reads op->strides */
    for (int i = 0; i < count; i++)
        if (ops[i].stage)
            ops[i].strides = ops[i].dims + 2 * NL_MAX_DIMS;
    NL_UNLOCKED(result = stage_all(call, ops, count, sizes, back && all <= most ? all : 0, &err));
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

static int return_all(nl_py_operation *call, nl_py_operand *ops, int count, nl_error *err) {
    if (nl_device_bind(call->device, err) < 0 ||
        (call->shared && NL_CU(err, StreamSynchronize, call->stream) < 0))
        return -1;
    for (int i = 0; i < count; i++)
        if ((ops[i].stage & NL_PY_STAGE_OUT) && copy_back(call, &ops[i], err) < 0)
            return -1;
    return 0;
}

int nl_py_operands_return(nl_py_operation *call, nl_py_operand *ops, int count) {
    nl_error err;
    int back = 0, result;
    for (int i = 0; i < count; i++)
        back |= ops[i].stage & NL_PY_STAGE_OUT;
    if (!back)
        return 0;
    NL_UNLOCKED(result = return_all(call, ops, count, &err));
    if (result < 0) {
        nl_py_raise(&err);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        nl_py_operand *op = &ops[i];
        if (op->buffer)
            nl_buffer_settle(op->buffer); /* the stream has been waited for */
        /* an output in the other byte order */
        if ((op->stage & NL_PY_STAGE_OUT) && !op->made && op->array != op->given &&
            nl_host_is_array(op->given) && nl_host_array_assign(op->given, op->array) < 0)
            return -1;
    }
    return 0;
}

int nl_py_operand_separate(nl_py_operation *call, nl_py_operand *op) {
    nl_layout from, to;
    nl_error err;
    int64_t *dense = op->dims + 2 * NL_MAX_DIMS, size = set_dense(op, dense);
    int result;
    if (alloc(call, size, &op->buffer) < 0)
        return -1;
    distinct_layout(op, op->strides, &from);
    distinct_layout(op, dense, &to);
    NL_UNLOCKED(result = nl_transfer(call->device, NL_DEVICE_TO_DEVICE, op->buffer->address, &to,
                                     op->address, &from, call->stream, 1, &err));
    if (result < 0) {
        nl_py_raise(&err);
        return -1;
    }
    op->address = op->buffer->address;
    op->strides = dense;
    return 0;
}

/* ---- geometry ---- */

static int same_elements(const nl_py_operand *a, const nl_py_operand *b) {
    size_t size = (size_t)a->ndim * sizeof(int64_t);
    return a->address == b->address && a->ndim == b->ndim && a->itemsize == b->itemsize &&
           memcmp(a->shape, b->shape, size) == 0 && memcmp(a->strides, b->strides, size) == 0;
}

/* [low, high) around the address; 0 if there are no elements. */
static int extent(const nl_py_operand *op, int64_t *low, int64_t *high) {
    *low = 0;
    *high = op->itemsize;
    for (int i = 0; i < op->ndim; i++) {
        if (op->shape[i] == 0)
            return 0;
        int64_t last = (op->shape[i] - 1) * op->strides[i];
        *(last < 0 ? low : high) += last;
    }
    return 1;
}

/* The largest number that divides all distances between elements; 0 for one element. */
static uint64_t grid_of(const nl_py_operand *op, uint64_t grid) {
    for (int i = 0; i < op->ndim; i++) {
        uint64_t other = op->shape[i] > 1 ? (uint64_t)llabs(op->strides[i]) : 0;
        while (other) {
            uint64_t rest = grid % other;
            grid = other;
            other = rest;
        }
    }
    return grid;
}

int nl_py_operands_overlap(const nl_py_operand *a, const nl_py_operand *b, int same_is_fine) {
    int64_t low[2], high[2];
    if (!extent(a, &low[0], &high[0]) || !extent(b, &low[1], &high[1]))
        return 0;
    if (a->address + (uint64_t)low[0] >= b->address + (uint64_t)high[1] ||
        b->address + (uint64_t)low[1] >= a->address + (uint64_t)high[0])
        return 0;
    if (same_is_fine && same_elements(a, b))
        return 0;
    /* every other element, say: all elements of both lie on one grid, apart from each other */
    uint64_t grid = grid_of(a, grid_of(b, 0));
    if (grid == 0)
        return 1;
    uint64_t ahead = (b->address - a->address) % grid;
    if (b->address < a->address)
        ahead = (grid - (a->address - b->address) % grid) % grid;
    return ahead < (uint64_t)a->itemsize || grid - ahead < (uint64_t)b->itemsize;
}

PyObject *nl_py_shape_text(const nl_py_shape *shapes, int count) {
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

int nl_py_broadcast(const nl_py_operation *call, const nl_py_shape *shapes, int count,
                    int64_t *sizes) {
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
    PyObject *text = nl_py_shape_text(shapes, count);
    if (text)
        PyErr_Format(PyExc_ValueError,
                     "%U(): operands could not be broadcast together with shapes %U ", call->name,
                     text);
    Py_XDECREF(text);
    return -1;
}
