/* py/guoperands: the operands of a gufunc call. Reads the dimensions of the operands, replaces
 * operands that the loop cannot use by copies, and copies host arrays to the device. */
#include "py/gucall.h"

#include <stdlib.h>
#include <string.h>
#include "py/guaxes.h"

static int raise_error(const nl_error *err) {
    nl_py_raise(err);
    return -1;
}

/* ---- operands ---- */

int nl_py_guoperands_read(nl_py_gucall *c, PyObject *const *args, PyObject *const *outs) {
    for (int i = 0; i < c->count; i++) {
        nl_py_operand *op = &c->operands[i];
        PyObject *given = i < c->nin ? args[i] : outs[i - c->nin];
        c->read = i + 1;
        if (!given)
            nl_py_operand_set_missing(op);
        else if ((!nl_gcore_is_written(&c->g->core, i)
                      ? nl_py_operand_read(&c->operation, given, i, op)
                  : i < c->nin ? nl_py_operand_read_in_out(&c->operation, given, i, op)
                               : nl_py_operand_read_out(&c->operation, given, i, op)) < 0)
            return -1;
        c->on_device |= op->place == NL_PY_PLACE_DEVICE;
    }
    return 0;
}

/* Copies the geometry of an operand to the loop (core/gloop). */
static void copy_geometry_to_loop(nl_py_gucall *c, int i) {
    const nl_py_operand *op = &c->operands[i];
    nl_goperand *o = &c->loop.operands[i];
    size_t size = (size_t)op->ndim * sizeof(int64_t);
    o->given = op->place != NL_PY_PLACE_NONE;
    o->array.ndim = op->ndim;
    if (!o->given || op->ndim == 0)
        return;
    o->array.itemsize = op->itemsize;
    memcpy(o->array.shape, op->shape, size);
    memcpy(o->array.strides, op->strides, size);
}

int nl_py_guoperands_find_dimensions(nl_py_gucall *c) {
    PyObject *keepdims = c->keywords.given[NL_PY_KEY_KEEPDIMS];
    nl_error err;
    if (keepdims && !PyBool_Check(keepdims)) {
        PyErr_SetString(PyExc_TypeError, "'keepdims' must be a boolean");
        return -1;
    }
    if (keepdims && nl_gloop_check_keepdims(&c->g->core, &err) < 0)
        return raise_error(&err);
    if (nl_py_guaxes_check(&c->g->core, c->keywords.given[NL_PY_KEY_AXES],
                           c->keywords.given[NL_PY_KEY_AXIS]) < 0)
        return -1;
    c->loop.core = &c->g->core;
    c->loop.keepdims = keepdims == Py_True;
    for (int i = 0; i < c->count; i++)
        copy_geometry_to_loop(c, i);
    if (nl_gloop_read_dimensions(&c->loop, &err) < 0)
        return raise_error(&err);
    if (nl_py_guaxes_read(&c->loop, c->keywords.given[NL_PY_KEY_AXES],
                          c->keywords.given[NL_PY_KEY_AXIS]) < 0)
        return -1;
    if (nl_gloop_set_sizes(&c->loop, &err) < 0 || nl_gloop_broadcast_operands(&c->loop, &err) < 0)
        return raise_error(&err);
    return 0;
}

PyObject *nl_py_guoperands_get_stream(const nl_py_gucall *c) {
    PyObject *stream = c->keywords.given[NL_PY_KEY_STREAM];
    return stream ? stream : Py_None;
}

/* Stores the caller's array in `outs`; the operand that replaces this array is copied to it after
 * the call. */
static void keep_caller_array(nl_py_gucall *c, int i) {
    c->outs[c->replaced++] = c->operands[i]; /* moves the references */
    nl_py_operand_set_missing(&c->operands[i]);
    c->stands_in[i] = c->replaced;
}

/* Replaces an operand by another array of the same shape. Steals the reference to `array`; NULL
 * means that an exception is set. */
static int replace_operand(nl_py_gucall *c, int i, PyObject *array) {
    nl_py_operand *op = &c->operands[i];
    PyObject *given = op->given;
    int result;
    if (!array)
        return -1;
    if (!nl_gcore_is_written(&c->g->core, i)) {
        nl_py_operand_clear(op);
        result = nl_py_operand_read(&c->operation, array, i, op);
        op->given = given;
    } else { /* after the call, the values of this array are copied to the caller's array */
        if (c->stands_in[i])
            nl_py_operand_clear(op);
        else
            keep_caller_array(c, i);
        result = nl_py_operand_read_in_out(&c->operation, array, i, op);
    }
    Py_DECREF(array); /* the operand holds its own reference */
    if (result < 0)
        return -1;
    const nl_layout *before = &c->loop.operands[i].array;
    if (op->ndim != before->ndim ||
        memcmp(op->shape, before->shape, (size_t)op->ndim * sizeof(int64_t)) != 0 ||
        op->dtype != c->dtypes[i]) {
        PyErr_Format(PyExc_RuntimeError, "%U: an operand came back changed", c->g->name);
        return -1;
    }
    copy_geometry_to_loop(c, i);
    return 0;
}

static int is_aligned(const nl_py_gucall *c, int i, nl_dtype dtype) {
    const nl_py_operand *op = &c->operands[i];
    uint64_t bits = op->address;
    for (int k = 0; k < op->ndim; k++)
        bits |= op->shape[k] > 1 ? (uint64_t)op->strides[k] : 0;
    return (bits & (nl_dtype_align(dtype) - 1)) == 0;
}

/* Returns whether the core array is contiguous in C or Fortran order. */
int nl_py_guoperands_is_dense(const nl_py_gucall *c, int i, char order, int64_t itemsize) {
    int64_t shape[NL_GU_MAX_CORE], strides[NL_GU_MAX_CORE], expected = itemsize;
    int n = c->g->core.ndim[i];
    nl_gloop_core_layout(&c->loop, i, shape, strides);
    for (int k = 0; k < n; k++)
        if (shape[k] == 0)
            return 1;
    for (int k = 0; k < n; k++) {
        int at = order == 'F' ? k : n - 1 - k;
        if (shape[at] > 1 && strides[at] != expected)
            return 0;
        expected *= shape[at];
    }
    return 1;
}

/* Returns whether the core array of a host array is still contiguous after the array was copied to
 * the device. The copy is contiguous in the array's own axis order. In the copy, the core is
 * contiguous only if no loop dimension has a smaller stride than the core's size. */
static int copy_has_dense_core(const nl_py_gucall *c, int i) {
    const nl_goperand *o = &c->loop.operands[i];
    int64_t shape[NL_GU_MAX_CORE], strides[NL_GU_MAX_CORE], bytes = o->array.itemsize;
    nl_gloop_core_layout(&c->loop, i, shape, strides);
    for (int k = 0; k < c->g->core.ndim[i]; k++)
        bytes *= shape[k];
    for (int k = 0; k < o->array.ndim - o->core; k++) {
        int64_t stride = llabs(o->array.strides[o->axes[k]]);
        if (o->array.shape[o->axes[k]] > 1 && stride && stride < bytes)
            return 0;
    }
    return 1;
}

static int has_promised_order(const nl_py_gucall *c, int i) {
    const nl_py_operand *op = &c->operands[i];
    if (c->orders[i] == 'A' || op->place == NL_PY_PLACE_VALUE)
        return 1;
    return nl_py_guoperands_is_dense(c, i, c->orders[i], op->itemsize) &&
           (op->place != NL_PY_PLACE_HOST || copy_has_dense_core(c, i));
}

/* Returns the axes of the core array in the order of the signature, for the method _lay. */
static PyObject *core_axes_tuple(const nl_py_gucall *c, int i) {
    const nl_goperand *o = &c->loop.operands[i];
    PyObject *axes = PyTuple_New(o->core);
    for (int k = 0; axes && k < o->core; k++) {
        PyObject *axis = PyLong_FromLong(o->axes[o->array.ndim - o->core + k]);
        if (axis)
            PyTuple_SET_ITEM(axes, k, axis);
        else
            Py_CLEAR(axes);
    }
    return axes;
}

static PyObject *cast_operand(nl_py_gucall *c, int i, nl_dtype dtype) {
    const char *method = nl_gcore_is_written(&c->g->core, i) ? "_cast_to_write" : "_cast";
    PyObject *descr = nl_py_hostarray_descr_of_dtype(dtype);
    PyObject *made =
        descr ? PyObject_CallMethod((PyObject *)c->g, method, "OOO", c->operands[i].array, descr,
                                    nl_py_guoperands_get_stream(c))
              : NULL;
    Py_XDECREF(descr);
    return made;
}

static int copy_to_core_order(nl_py_gucall *c, int i) {
    PyObject *axes = core_axes_tuple(c, i), *laid = NULL;
    if (axes)
        laid =
            PyObject_CallMethod((PyObject *)c->g, "_copy_contiguous", "OOCO", c->operands[i].array,
                                axes, c->orders[i], nl_py_guoperands_get_stream(c));
    Py_XDECREF(axes);
    return replace_operand(c, i, laid);
}

int nl_py_guoperands_replace_inputs(nl_py_gucall *c) {
    for (int i = 0; i < c->nin; i++) {
        nl_py_operand *op = &c->operands[i];
        nl_dtype dtype = (nl_dtype)c->dtypes[i];
        if (op->place == NL_PY_PLACE_VALUE)
            continue;
        c->stands_in[i] = 0;
        if (op->dtype != dtype && replace_operand(c, i, cast_operand(c, i, dtype)) < 0)
            return -1;
        if (!has_promised_order(c, i) && copy_to_core_order(c, i) < 0)
            return -1;
        if (op->place == NL_PY_PLACE_DEVICE && !is_aligned(c, i, dtype)) {
            if (nl_gcore_is_written(&c->g->core, i)) {
                if (replace_operand(c, i, cast_operand(c, i, dtype)) < 0 ||
                    (!has_promised_order(c, i) && copy_to_core_order(c, i) < 0))
                    return -1;
                continue;
            }
            if (nl_py_operand_copy_separate(&c->operation, op) < 0)
                return -1;
            copy_geometry_to_loop(c, i);
            if (!has_promised_order(c, i) && copy_to_core_order(c, i) < 0)
                return -1;
        }
    }
    return 0;
}

static char output_order(const nl_py_gucall *c) {
    int fortran = 1;
    if (c->keywords.order != 'A')
        return c->keywords.order;
    for (int i = 0; i < c->nin; i++) {
        const nl_layout *a = &c->loop.operands[i].array;
        if (a->ndim > 0)
            fortran = fortran && nl_layout_is_f(a) && (a->ndim == 1 || !nl_layout_is_c(a));
    }
    return fortran ? 'F' : 'C';
}

static int make_output(nl_py_gucall *c, int i, int on_device) {
    nl_goperand *o = &c->loop.operands[i];
    nl_dtype dtype = (nl_dtype)c->dtypes[i];
    nl_error err;
    o->array.itemsize = (int64_t)nl_dtype_size(dtype);
    if (nl_gloop_set_output_layout(&c->loop, i, output_order(c), c->orders[i] == 'F', &err) < 0)
        return raise_error(&err);
    return nl_py_operand_make_array(&c->operation, &c->operands[i], on_device, dtype, o->array.ndim,
                                    o->array.shape, o->array.strides);
}

/* Allocates missing outputs, and replacements for outputs that the loop cannot write. */
int nl_py_guoperands_make_outputs(nl_py_gucall *c) {
    for (int i = c->nin; i < c->count; i++) {
        nl_py_operand *op = &c->operands[i];
        int device = c->on_device;
        c->stands_in[i] = 0;
        if (op->place != NL_PY_PLACE_NONE) {
            if (op->dtype == c->dtypes[i] && has_promised_order(c, i) &&
                (op->place == NL_PY_PLACE_HOST || is_aligned(c, i, (nl_dtype)op->dtype)))
                continue;
            device = op->place == NL_PY_PLACE_DEVICE;
            keep_caller_array(c, i);
        }
        if (make_output(c, i, device) < 0)
            return -1;
    }
    return 0;
}

static int raise_shared_memory(const nl_py_gucall *c, int i, int k) {
    PyErr_Format(PyExc_ValueError,
                 "%U(): operands %d and %d share memory, and the function writes both", c->g->name,
                 i + 1, k + 1);
    return -1;
}

/* Copies inputs that overlap a written operand: a thread of the loop may write to the overlapping
 * memory before another thread reads the input. */
static int separate_inputs(nl_py_gucall *c) {
    int no_core = 1;
    for (int i = 0; i < c->count; i++)
        no_core = no_core && c->g->core.ndim[i] == 0;
    for (int i = 0; i < c->nin; i++) {
        nl_py_operand *in = &c->operands[i];
        for (int k = 0; in->place == NL_PY_PLACE_DEVICE && k < c->count; k++) {
            const nl_py_operand *out = &c->operands[k];
            if (k == i || !nl_gcore_is_written(&c->g->core, k) ||
                out->place != NL_PY_PLACE_DEVICE || !nl_py_operands_overlap(in, out, no_core))
                continue;
            if (nl_gcore_is_written(&c->g->core, i))
                return raise_shared_memory(c, i, k);
            if (nl_py_operand_copy_separate(&c->operation, in) < 0)
                return -1;
            copy_geometry_to_loop(c, i);
            if (!has_promised_order(c, i) && copy_to_core_order(c, i) < 0)
                return -1;
            break;
        }
    }
    return 0;
}

int nl_py_guoperands_copy_to_device(nl_py_gucall *c) {
    if (separate_inputs(c) < 0)
        return -1;
    for (int i = 0; i < c->count; i++)
        c->operands[i].copied = c->operands[i].place != NL_PY_PLACE_HOST ? 0
                                : i >= c->nin                            ? NL_PY_TRANSFER_OUT
                                : nl_gcore_is_written(&c->g->core, i)
                                    ? NL_PY_TRANSFER_IN | NL_PY_TRANSFER_OUT
                                    : NL_PY_TRANSFER_IN;
    if (nl_py_operands_copy_to_device(&c->operation, c->operands, c->count, NL_PY_READS_SOME) < 0)
        return -1;
    for (int i = 0; i < c->count; i++) {
        nl_py_operand *op = &c->operands[i];
        c->slots[i][0] = op->address;
        c->slots[i][1] = 0;
        if (op->place == NL_PY_PLACE_VALUE &&
            nl_py_operand_write_scalar(op, (nl_dtype)c->dtypes[i], c->keywords.is_unsafe,
                                       c->slots[i]) < 0)
            return -1;
        if (op->copied)
            copy_geometry_to_loop(c, i);
    }
    return 0;
}
