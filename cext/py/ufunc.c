/* py/ufunc: calls an element-wise function, in these steps:
 *
 *   1. The location, type, shape and strides of the operands are read.
 *   2. The types select a loop, which Python code chooses once.
 *   3. Shapes are broadcast; missing outputs are allocated.
 *   4. Host arrays are copied to device memory; an input that overlaps an output is copied.
 *   5. The geometry is simplified. The kernel is selected, compiled once, and launched.
 *   6. Outputs on the host are copied back.
 *
 * If all operands, including outputs, are device arrays, a call makes one driver call and allocates
 * no memory. */
#include "py/ufunc.h"

#include <string.h>
#include "base/mem.h"
#include "py/arrayufunc.h"
#include "py/devarray.h"
#include "py/keywords.h"
#include "py/operand.h"
#include "py/override.h"
#include "py/trace.h"
#include "py/owner.h"
#include "py/stream.h"

#define INLINE_OPERANDS 6
#define INLINE_BLOCK 2048

typedef struct call {
    nl_py_operation op;
    nl_py_ufunc *ufunc;
    nl_py_keywords keywords;
    PyObject *outs[NL_PY_MAX_OPERANDS]; /* borrowed; NULL: to be allocated */
    nl_py_operand *operands;            /* operands in the order inputs, mask (if any), outputs */
    int nin, nmask, nout, count;
    int on_device; /* set if an operand is in device memory; then results are also in device
                    * memory */
    int nowhere;   /* set for where=False: then no element is computed */
    int ndim;
    int64_t shape[NL_MAX_DIMS];
    nl_py_ufunc_types *types; /* or NULL */
    uint8_t loop[NL_PY_MAX_OPERANDS];
    _Alignas(16) unsigned char slots[NL_PY_MAX_OPERANDS][NL_LOOP_SLOT]; /* inputs by value */
} call;

static nl_py_operand *first_output(const call *c) {
    return c->operands + c->nin + c->nmask;
}

/* ---- reading ---- */

static int read_mask(call *c) {
    PyObject *where = c->keywords.given[NL_PY_KEY_WHERE];
    nl_py_operand *op = &c->operands[c->nin];
    if (!where || where == Py_True)
        return 0;
    if (nl_py_operand_read(&c->op, where, c->nin, op) < 0)
        return -1;
    if (op->dtype != NL_BOOL) {
        PyObject *type = nl_py_operand_type_argument(op);
        if (type)
            PyErr_Format(PyExc_TypeError,
                         "Cannot cast array data from %R to dtype('bool') "
                         "according to the rule 'safe'",
                         type);
        Py_XDECREF(type);
        return -1;
    }
    if (op->place == NL_PY_PLACE_VALUE) {
        c->nowhere = op->value.integer == 0;
        nl_py_operand_clear(op);
        nl_py_operand_set_missing(op);
        return 0;
    }
    c->nmask = 1;
    return 0;
}

static int read_operands(call *c, PyObject *const *args) {
    for (int i = 0; i < c->nin; i++)
        if (nl_py_operand_read(&c->op, args[i], i, &c->operands[i]) < 0)
            return -1;
    if (read_mask(c) < 0)
        return -1;
    c->count = c->nin + c->nmask + c->nout;
    for (int i = 0; i < c->nout; i++)
        if (c->outs[i] &&
            nl_py_operand_read_out(&c->op, c->outs[i], c->nin + i, first_output(c) + i) < 0)
            return -1;
    for (int i = 0; i < c->count; i++)
        c->on_device |= c->operands[i].place == NL_PY_PLACE_DEVICE;
    return 0;
}

/* ---- types ---- */

/* Returns the code of dtype=, 0 if dtype= was not passed, -1 for a dtype that cannot be part of a
 * key. */
static int wanted_dtype(const call *c) {
    PyObject *dtype = c->keywords.given[NL_PY_KEY_DTYPE];
    if (!dtype)
        return 0;
    PyObject *descr = nl_py_hostarray_convert_descr(dtype);
    if (!descr) {
        PyErr_Clear(); /* _choose reports the error */
        return -1;
    }
    nl_element element = nl_py_hostarray_element_of_descr(descr);
    Py_DECREF(descr);
    return element.class == NL_ELEMENT_PLAIN ? (int)element.dtype : -1;
}

/* Writes the cache key: casting, dtype=, then one byte for each input (dtype and weak kind) and
 * output (dtype, or 0 for a missing output). */
static void write_cache_key(const call *c, nl_py_ufunc_key *key) {
    uint8_t *at = key->bytes;
    int dtype = wanted_dtype(c);
    key->size = (size_t)(2 + c->nin + c->nout);
    key->remember = dtype >= 0 && !c->keywords.given[NL_PY_KEY_SIGNATURE];
    nl_py_key_clear_padding(key->bytes, key->size);
    *at++ = c->keywords.casting_code;
    *at++ = (uint8_t)dtype;
    for (int i = 0; i < c->nin; i++) {
        const nl_py_operand *op = &c->operands[i];
        *at++ = (uint8_t)(op->dtype | op->weak << 5);
        key->remember &= op->dtype != NL_OPAQUE;
    }
    for (int i = 0; i < c->nout; i++) {
        const nl_py_operand *op = first_output(c) + i;
        int given = op->place != NL_PY_PLACE_NONE;
        *at++ = given ? op->dtype : 0;
        key->remember &= !given || op->dtype != NL_OPAQUE;
    }
}

static PyObject *dtypes_of_operands(const nl_py_operand *operands, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *type = operands[i].place == NL_PY_PLACE_NONE
                             ? Py_NewRef(Py_None)
                             : nl_py_operand_type_argument(&operands[i]);
        if (!type)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, type);
    }
    return tuple;
}

static int choose_loop(call *c, const nl_py_ufunc_key *key) {
    PyObject *inputs = dtypes_of_operands(c->operands, c->nin),
             *outputs = dtypes_of_operands(first_output(c), c->nout);
    nl_error err;
    int result = -1;
    if (inputs && outputs)
        result = nl_py_ufuncloops_choose(
            c->ufunc, key, inputs, outputs, c->keywords.casting, c->keywords.given[NL_PY_KEY_DTYPE],
            c->keywords.given[NL_PY_KEY_SIGNATURE], c->loop, &c->types);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    /* binds the device again, because Python code of _choose may have made another context
     * current */
    if (result == 0 && nl_device_bind(c->op.device, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    return result;
}

/* Raises an exception for types that _choose accepts with casting='unsafe', but that no kernel can
 * read. */
static int check_types(const call *c) {
    for (int i = 0; i < c->count; i++) {
        const nl_py_operand *op = &c->operands[i];
        if (op->place == NL_PY_PLACE_NONE || op->dtype != NL_OPAQUE)
            continue;
        PyObject *type = nl_py_operand_type_argument(op);
        PyObject *native = type ? PyObject_GetAttrString(type, "isnative") : NULL;
        if (native)
            PyErr_Format(PyExc_TypeError,
                         "%U(): operand %d has %R, which is not supported on the device%s",
                         c->op.name, i + 1, type,
                         native == Py_False ? ": convert it with "
                                              "x.astype(x.dtype.newbyteorder('='))"
                                            : "");
        Py_XDECREF(native);
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}

static int find_loop(call *c) {
    nl_py_ufunc_key key;
    write_cache_key(c, &key);
    c->types = key.remember ? nl_py_ufunc_find_types(c->ufunc, &key) : NULL;
    if (c->types)
        memcpy(c->loop, c->types->loop, (size_t)(c->nin + c->nout));
    else if (choose_loop(c, &key) < 0 || check_types(c) < 0)
        return -1;
    for (int i = 0; i < c->nin; i++) {
        if (c->operands[i].place != NL_PY_PLACE_VALUE)
            continue;
        memset(c->slots[i], 0, NL_LOOP_SLOT);
        if (nl_py_operand_write_scalar(&c->operands[i], (nl_dtype)c->loop[i], c->keywords.is_unsafe,
                                       c->slots[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- shapes ---- */

static int raise_output_shape(const call *c, const nl_py_operand *op) {
    nl_py_shape given = {op->ndim, op->shape}, wanted = {c->ndim, c->shape};
    PyObject *ours = nl_py_operand_shape_text(&given, 1),
             *theirs = nl_py_operand_shape_text(&wanted, 1);
    if (ours && theirs)
        PyErr_Format(PyExc_ValueError,
                     "%U(): non-broadcastable output operand with shape %U "
                     "doesn't match the broadcast shape %U",
                     c->op.name, ours, theirs);
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    return -1;
}

static int find_shape(call *c) {
    nl_py_shape shapes[NL_PY_MAX_OPERANDS];
    int n = 0;
    for (int i = 0; i < c->count; i++)
        if (c->operands[i].place != NL_PY_PLACE_NONE)
            shapes[n++] = (nl_py_shape){c->operands[i].ndim, c->operands[i].shape};
    c->ndim = nl_py_operand_broadcast_shapes(&c->op, shapes, n, c->shape);
    if (c->ndim < 0)
        return -1;
    for (int i = 0; i < c->nout; i++) {
        const nl_py_operand *op = first_output(c) + i;
        size_t size = (size_t)op->ndim * sizeof(int64_t);
        if (op->place != NL_PY_PLACE_NONE &&
            (op->ndim != c->ndim || memcmp(op->shape, c->shape, size) != 0))
            return raise_output_shape(c, op);
    }
    return 0;
}

/* Fills the operands for core/loop; missing outputs are skipped. Returns the number of operands. */
static int loop_operands(const call *c, nl_loop_operand *operands) {
    int n = 0;
    for (int i = 0; i < c->count; i++) {
        const nl_py_operand *op = &c->operands[i];
        if (op->place == NL_PY_PLACE_NONE)
            continue;
        operands[n++] = (nl_loop_operand){.ndim = op->ndim,
                                          .by_value = op->place == NL_PY_PLACE_VALUE,
                                          .shape = op->shape,
                                          .strides = op->strides,
                                          .address = op->address,
                                          .itemsize = op->itemsize,
                                          .align = (int64_t)nl_dtype_align((nl_dtype)op->dtype)};
    }
    return n;
}

static int is_fortran(const nl_py_operand *op) {
    int64_t expected = op->itemsize;
    for (int d = 0; d < op->ndim; d++) {
        if (op->shape[d] > 1 && op->strides[d] != expected)
            return 0;
        expected *= op->shape[d];
    }
    return 1;
}

/* Returns whether order='A' means Fortran order: all inputs have Fortran order, and at least one
 * has two dimensions or more. */
static int prefers_fortran(const call *c) {
    int some = 0;
    for (int i = 0; i < c->nin; i++) {
        if (!is_fortran(&c->operands[i]))
            return 0;
        some |= c->operands[i].ndim > 1;
    }
    return some;
}

static void compute_axis_order(const call *c, int *order) {
    nl_loop_operand operands[NL_PY_MAX_OPERANDS];
    char letter = c->keywords.order;
    if (letter == 'A')
        letter = prefers_fortran(c) ? 'F' : 'C';
    for (int d = 0; d < c->ndim; d++)
        order[d] = letter == 'F' ? c->ndim - 1 - d : d;
    if (letter == 'K' && c->ndim > 1)
        nl_loop_sort_dimensions(operands, loop_operands(c, operands), c->ndim, order);
}

static int make_outputs(call *c) {
    int order[NL_MAX_DIMS], has_order = 0;
    int64_t strides[NL_MAX_DIMS];
    for (int i = 0; i < c->nout; i++) {
        nl_py_operand *op = first_output(c) + i;
        nl_dtype dtype = (nl_dtype)c->loop[c->nin + i];
        if (op->place != NL_PY_PLACE_NONE)
            continue;
        if (!has_order)
            compute_axis_order(c, order);
        has_order = 1;
        nl_loop_dense_strides(c->ndim, c->shape, order, (int64_t)nl_dtype_size(dtype), strides);
        if (nl_py_operand_make_array(&c->op, op, c->on_device, dtype, c->ndim, c->shape, strides) <
            0)
            return -1;
    }
    return 0;
}

/* ---- launching ---- */

static int separate_inputs(call *c) {
    for (int i = 0; i < c->nin + c->nmask; i++) {
        nl_py_operand *in = &c->operands[i];
        int shares = 0;
        if (in->place != NL_PY_PLACE_DEVICE)
            continue;
        for (nl_py_operand *out = first_output(c); !shares && out < c->operands + c->count; out++)
            shares = out->place == NL_PY_PLACE_DEVICE && !out->made &&
                     nl_py_operands_overlap(in, out, 1);
        if (shares && nl_py_operand_copy_separate(&c->op, in) < 0)
            return -1;
    }
    return 0;
}

/* Returns whether the operand has a separate element for each element of the loop, that is, it is
 * not broadcast. */
static int is_not_broadcast(const call *c, const nl_py_operand *op) {
    int offset = c->ndim - op->ndim;
    for (int d = 0; d < c->ndim; d++)
        if (c->shape[d] > 1 &&
            (d < offset || op->shape[d - offset] == 1 || op->strides[d - offset] == 0))
            return 0;
    return 1;
}

static int enter_operands(call *c) {
    nl_py_reads reads = NL_PY_READS_ONCE;
    int any = 0;
    for (int i = 0; i < c->count; i++) {
        nl_py_operand *op = &c->operands[i];
        if (op->place != NL_PY_PLACE_HOST)
            continue;
        any = 1;
        if (!is_not_broadcast(c, op))
            reads = NL_PY_READS_SOME;
        if (i < c->nin + c->nmask)
            op->copied = NL_PY_TRANSFER_IN;
        else
            op->copied = NL_PY_TRANSFER_OUT | (c->nmask && !op->made ? NL_PY_TRANSFER_IN : 0);
    }
    return any ? nl_py_operands_copy_to_device(&c->op, c->operands, c->count, reads) : 0;
}

static void write_variant(const call *c, const nl_loop *loop, nl_py_ufunc_variant *variant) {
    uint8_t *at = variant->bytes;
    variant->size = (size_t)(2 + c->nin + c->nout + c->count);
    nl_py_key_clear_padding(variant->bytes, variant->size);
    *at++ = (uint8_t)loop->kind;
    *at++ = (uint8_t)loop->dims;
    memcpy(at, c->loop, (size_t)(c->nin + c->nout));
    at += c->nin + c->nout;
    for (int i = 0; i < c->count; i++)
        *at++ = c->operands[i].place == NL_PY_PLACE_VALUE ? NL_PY_BY_VALUE | c->loop[i]
                                                          : c->operands[i].dtype;
}

static nl_py_ufunc_kernel *find_kernel(call *c, const nl_loop *loop) {
    nl_py_ufunc_variant variant;
    write_variant(c, loop, &variant);
    return nl_py_ufuncloops_find_kernel(c->ufunc, c->op.device, &variant, loop,
                                        c->types ? &c->types->latest : NULL);
}

static int launch_loop_kernel(call *c, const nl_loop *loop, const nl_py_ufunc_kernel *k,
                              unsigned char *block) {
    int64_t per_block = (int64_t)k->block;
    int64_t blocks = (nl_loop_threads(loop, k->per_thread) + per_block - 1) / per_block;
    nl_launch shape = {
        .grid = {(unsigned)blocks, 1, 1}, .block = {k->block, 1, 1}, .stream = c->op.stream};
    void *values[1] = {block};
    if (blocks > c->op.device->max_grid[0]) {
        PyErr_Format(PyExc_ValueError, "%U(): %lld elements are too many for one launch",
                     c->op.name, (long long)loop->count);
        return -1;
    }
    nl_loop_write(loop, k->per_thread, block);
    for (int i = 0; i < c->nin; i++)
        if (loop->by_value >> i & 1)
            memcpy(block + (size_t)i * NL_LOOP_SLOT, c->slots[i], NL_LOOP_SLOT);
    return nl_py_kernel_launch(nl_py_overload_kernel(&k->base), &shape, values, c->op.epoch);
}

static int launch_loops(call *c) {
    _Alignas(16) unsigned char small[INLINE_BLOCK];
    nl_loop_operand operands[NL_PY_MAX_OPERANDS];
    nl_loop loop;
    nl_error err;
    int count = loop_operands(c, operands);
    nl_loop_make(&loop, operands, count, c->ndim, c->shape);
    nl_py_ufunc_kernel *k = find_kernel(c, &loop);
    if (!k)
        return -1;
    if (nl_device_bind(c->op.device, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    size_t size = nl_loop_size(&loop);
    if (size <= sizeof small)
        return launch_loop_kernel(c, &loop, k, small);
    unsigned char *large = nl_mem_alloc(size, &err);
    if (!large) {
        nl_py_raise(&err);
        return -1;
    }
    int result = launch_loop_kernel(c, &loop, k, large);
    nl_mem_free(large);
    return result;
}

static int compute_results(call *c) {
    int64_t count = 1;
    for (int d = 0; d < c->ndim; d++)
        count *= c->shape[d];
    if (count == 0 || c->nowhere)
        return 0;
    if (separate_inputs(c) < 0 || enter_operands(c) < 0 || launch_loops(c) < 0)
        return -1;
    return nl_py_operands_copy_to_host(&c->op, c->operands, c->count);
}

static PyObject *collect_results(call *c) {
    if (c->nout == 1)
        return nl_py_operand_result(first_output(c), !c->keywords.arrays);
    PyObject *tuple = PyTuple_New(c->nout);
    for (int i = 0; tuple && i < c->nout; i++) {
        PyObject *result = nl_py_operand_result(first_output(c) + i, !c->keywords.arrays);
        if (!result)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, result);
    }
    return tuple;
}

/* ---- call ---- */

/* If the loop is for integers, calls the ufunc's check, which raises an exception for invalid
 * values (e.g. negative exponents). 0, or -1 with the exception. */
static int check_integer_values(const call *c, PyObject *const *args) {
    PyObject *check = c->ufunc->check, *where = c->keywords.given[NL_PY_KEY_WHERE];
    if (!check || !nl_dtype_is_integer((nl_dtype)c->loop[0]))
        return 0;
    PyObject *given[] = {args[c->nin - 1], where ? where : Py_True};
    Py_INCREF(check);
    PyObject *result = PyObject_Vectorcall(check, given, 2, NULL);
    Py_DECREF(check);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static PyObject *run_call(call *c, PyObject *const *args) {
    if (read_operands(c, args) < 0 || find_loop(c) < 0 || check_integer_values(c, args) < 0 ||
        find_shape(c) < 0 || make_outputs(c) < 0 || compute_results(c) < 0)
        return NULL;
    return collect_results(c);
}

static PyObject *run_and_clear_operands(call *c, PyObject *const *args) {
    int most = c->nin + c->nout + 1;
    for (int i = 0; i < most; i++)
        nl_py_operand_set_missing(&c->operands[i]);
    PyObject *result = run_call(c, args);
    for (int i = 0; i < most; i++)
        nl_py_operand_clear(&c->operands[i]);
    nl_py_operands_release_memory(&c->op);
    return result;
}

static int read_call_arguments(call *c, nl_py_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *keywords) {
    nl_error err;
    c->ufunc = u;
    nl_py_operation_initialize(&c->op, u->state, u->name);
    c->nin = u->nin;
    c->nmask = 0;
    c->nout = u->nout;
    c->on_device = c->nowhere = 0;
    nl_py_keywords_init(u->state, &c->keywords);
    if (keywords && nl_py_keywords_read(u->state, u->name, keywords, args + nargs,
                                        NL_PY_KEYS_GENERALIZED, &c->keywords) < 0)
        return -1;
    if (nl_py_keywords_read_outs(u->name, c->nin, c->nout, args, nargs, &c->keywords, c->outs) < 0)
        return -1;
    PyObject *stream = c->keywords.given[NL_PY_KEY_STREAM];
    if ((stream || nl_capture_is_any_active() || nl_py_stream_here) &&
        nl_py_stream_from_argument(u->state, stream, &c->op.stream, &c->op.blocking) < 0)
        return -1;
    c->op.device = nl_device_current(&err);
    c->op.epoch = nl_atomic_load(&nl_device_epoch);
    if (!c->op.device) {
        nl_py_raise(&err);
        return -1;
    }
    return 0;
}

/* Returns whether the argument can be read without running user code. */
static int is_read_without_python(const nl_py_state *state, PyObject *object) {
    if (!PyTuple_CheckExact(object))
        return nl_py_arrayufunc_is_array_or_number(state, object) || PyUnicode_CheckExact(object) ||
               Py_IS_TYPE(object, state->stream_class);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (!nl_py_arrayufunc_is_array_or_number(state, PyTuple_GET_ITEM(object, i)))
            return 0;
    return 1;
}

/* Returns whether the call failed because another thread moved an array (get_ipc_handle) while the
 * arguments were read. Such a call has launched nothing. The failed call can be repeated if reading
 * the arguments runs no user code. */
static int can_retry_after_move(const call *c, PyObject *const *args, Py_ssize_t count) {
    if (c->op.epoch == nl_atomic_load(&nl_device_epoch) ||
        !PyErr_ExceptionMatches(PyExc_RuntimeError))
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!is_read_without_python(c->ufunc->state, args[i]))
            return 0;
    PyErr_Clear();
    return 1;
}

static PyObject *call_with_retry(nl_py_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords, nl_py_operand *operands) {
    PyObject *result;
    call c; /* not zero-initialized, because the struct is large */
    do {
        if (read_call_arguments(&c, u, args, nargs, keywords) < 0)
            return NULL;
        c.operands = operands;
        result = run_and_clear_operands(&c, args);
    } while (!result && can_retry_after_move(&c, args, nargs + nl_py_count_keywords(keywords)));
    return result;
}

PyObject *nl_py_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf,
                           PyObject *keywords) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    nl_py_operand few[INLINE_OPERANDS], *operands;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *result;
    nl_error err;
    if (nl_py_owners_run_if_needed(u->state, nl_py_ufunc_call, self, args, nargsf, keywords,
                                   &result))
        return result;
    if (nl_py_is_tracing())
        return nl_py_trace_call(self, args, nargsf, keywords);
    if (nl_py_override_try_handlers(u->state, self, u->nin, args, nargs, keywords, &result))
        return result;
    size_t most = (size_t)(u->nin + u->nout + 1);
    if (most <= INLINE_OPERANDS)
        return call_with_retry(u, args, nargs, keywords, few);
    operands = nl_mem_alloc(most * sizeof *operands, &err);
    if (!operands)
        return nl_py_raise(&err);
    result = call_with_retry(u, args, nargs, keywords, operands);
    nl_mem_free(operands);
    return result;
}
