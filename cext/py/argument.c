/* py/argument: one Python value into the parameter block.
 *
 * Common cases come first and are recognised by exact type: a device array that fits, an int, a
 * float. Whatever is left goes the long way: it is described (element type, shape, order, or a
 * number), compared with the parameter, and either written or refused with a message that names
 * both sides. Nothing is converted that could surprise: no float becomes an int, no array changes
 * its dtype. */
#include "py/argument.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "py/aggregate.h"
#include "py/devarray.h"
#include "py/dlpack.h"
#include "py/exchange.h"

/* ---- messages ---- */

static int points_to_pointers(const nl_param *p) {
    return strchr(p->ctype, '*') != strrchr(p->ctype, '*');
}

static const char *expectation(const nl_param *p, char *text, size_t size) {
    int64_t low;
    uint64_t high;
    const char *dtype = nl_dtype_name(p->dtype), *lane = nl_dtype_name((nl_dtype)p->lane);
    if (p->kind == NL_PARAM_POINTER && p->lanes)
        snprintf(text, size, "%s (a C-contiguous %s array of shape (n, %d))", p->ctype, lane,
                 p->lanes);
    else if (p->kind == NL_PARAM_POINTER && p->lane != NL_OPAQUE)
        snprintf(text, size, "%s (a C-contiguous bfloat16 or %s array)", p->ctype, lane);
    else if (p->kind == NL_PARAM_POINTER && p->dtype == NL_UINT64 && points_to_pointers(p))
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
    else if (nl_py_param_is_dim3(p))
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

static void describe_array(char *text, size_t size, PyObject *descr, nl_dtype dtype,
                           const char *what, int ndim, const int64_t *shape) {
    char name[120];
    int n =
        snprintf(text, size, "%s %s of shape (",
                 descr ? nl_host_dtype_name(descr, name, sizeof name) : nl_dtype_name(dtype), what);
    for (int i = 0; i < ndim && n < (int)size; i++)
        n += snprintf(text + n, size - (size_t)n, "%s%lld", i ? ", " : "", (long long)shape[i]);
    if (n < (int)size)
        snprintf(text + n, size - (size_t)n, ndim == 1 ? ",)" : ")");
}

const char *nl_py_argument_describe(nl_py_state *state, PyObject *value, char *text, size_t size) {
    nl_host_array host;
    nl_py_foreign foreign;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (PyObject_TypeCheck(value, state->transfer_type))
        value = ((nl_py_transfer *)value)->array;
    snprintf(text, size, "%.80s", Py_TYPE(value)->tp_name);
    if (nl_py_array_check(state, value)) {
        const nl_py_array *a = (nl_py_array *)value;
        describe_array(text, size, a->descr, a->dtype, "device array", a->ndim, a->shape);
    } else if (nl_host_is_array(value)) {
        if (nl_host_array_read(value, &host) == 0)
            describe_array(text, size, host.descr, host.element.dtype, "array", host.layout.ndim,
                           host.layout.shape);
    } else if (nl_py_foreign_read(state, value, &foreign) > 0) {
        describe_array(text, size, foreign.descr, foreign.element.dtype, "array",
                       foreign.layout.ndim, foreign.layout.shape);
        size_t used = strlen(text);
        snprintf(text + used, size - used, " (%.80s)", Py_TYPE(value)->tp_name);
        nl_py_foreign_clear(&foreign);
    } else if (PyTuple_Check(value)) {
        size_t used = strlen(text);
        Py_ssize_t n = PyTuple_GET_SIZE(value);
        snprintf(text + used, size - used, " of %zd item%s", n, n == 1 ? "" : "s");
    } else if (value != Py_None) {
        PyErr_Clear();
        PyObject *repr = PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value) ||
                                 PyUnicode_Check(value) || nl_host_is_scalar(value) ||
                                 PyObject_TypeCheck(value, state->enum_type)
                             ? PyObject_Repr(value)
                             : NULL;
        const char *utf8 = repr ? PyUnicode_AsUTF8(repr) : NULL;
        if (utf8 && strlen(utf8) <= 60)
            snprintf(text, size, "%.80s %s", Py_TYPE(value)->tp_name, utf8);
        Py_XDECREF(repr);
    }
    PyErr_Clear();
    PyErr_Restore(type, error, traceback);
    return text;
}

int nl_py_argument_refuse(const nl_py_call *call, int index, PyObject *value, PyObject *exception,
                          const char *format, ...) {
    char expected[360], got[360], reason[360];
    const nl_param *p = &call->params->items[index];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    PyErr_Format(exception, "%s(): parameter %d '%s': expected %s, got %s%s", call->name,
                 p->number + 1, p->name, expectation(p, expected, sizeof expected),
                 nl_py_argument_describe(call->state, value, got, sizeof got), reason);
    return -1;
}

/* ---- array types ---- */

/* An array as a parameter sees it, wherever it lives. */
typedef struct seen {
    nl_element element;
    int ndim, is_c, is_f, readonly;
    int64_t last;        /* length of the last axis */
    CUdeviceptr address; /* 0: it will be aligned */
    uint8_t misaligned;
    const nl_device *device; /* NULL: not known, or on the host */
} seen;

static int64_t last_axis(const nl_layout *layout) {
    return layout->ndim ? layout->shape[layout->ndim - 1] : 0;
}

static int element_fits(const nl_param *p, const nl_element *e) {
    if (p->dtype != NL_OPAQUE)
        return (e->class == NL_ELEMENT_PLAIN && e->dtype == p->dtype) ||
               (e->class == NL_ELEMENT_TIME && p->dtype == NL_INT64);
    if (p->itemsize == 0)
        return 1;
    if (p->lane != NL_OPAQUE && e->class == NL_ELEMENT_PLAIN && e->dtype == p->lane)
        return 1; /* as many as there are lanes: check_array */
    int complex_pair = p->takes_complex && e->dtype >= NL_COMPLEX64;
    return e->itemsize == p->itemsize && (e->class == NL_ELEMENT_RECORD || complex_pair);
}

/* As many fields as the struct has room for. */
static void advise_view(const nl_param *p, const nl_element *e, char *text, size_t size) {
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

/* Into `text` where it names the type. */
static const char *element_advice(const nl_param *p, const nl_element *e, char *text, size_t size) {
    switch (e->class) {
    case NL_ELEMENT_SWAPPED:
        return ": its byte order is not this machine's; convert it with "
               "x.astype(x.dtype.newbyteorder('='))";
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
    if (p->kind == NL_PARAM_POINTER && points_to_pointers(p))
        return ": make one of each array's x.__cuda_array_interface__['data'][0]";
    if (p->lane != NL_OPAQUE)
        snprintf(text, size, ": convert it, x = x.astype('%s')", nl_dtype_name((nl_dtype)p->lane));
    else if (p->dtype == NL_OPAQUE)
        advise_view(p, e, text, size);
    else
        snprintf(text, size, ": convert it, x = x.astype('%s')", nl_dtype_name(p->dtype));
    return text;
}

/* Pointers and array<>: 0, or -1 after saying what does not fit. */
static int check_array(nl_py_call *call, int index, PyObject *value, const seen *s) {
    const nl_param *p = &call->params->items[index];
    char advice[120];
    if (s->element.class == NL_ELEMENT_SWAPPED || s->element.class == NL_ELEMENT_OBJECT ||
        !element_fits(p, &s->element))
        return nl_py_argument_refuse(call, index, value, PyExc_TypeError, "%s",
                                     element_advice(p, &s->element, advice, sizeof advice));
    if (p->lanes && s->element.dtype == p->lane && (s->ndim == 0 || s->last != p->lanes))
        return nl_py_argument_refuse(
            call, index, value, PyExc_TypeError,
            ": its last axis must have %d items, such as x.reshape(-1, %d)", p->lanes, p->lanes);
    if (p->kind == NL_PARAM_POINTER) {
        if (!s->is_c)
            return nl_py_argument_refuse(
                call, index, value, PyExc_TypeError,
                " that is not C-contiguous: a plain pointer says nothing of strides");
    } else {
        if (s->ndim != p->ndim)
            return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                         p->ndim ? ": it must have %d dimension%s"
                                                 : ": pass one element of it",
                                         p->ndim, p->ndim == 1 ? "" : "s");
        if (p->order == NL_ORDER_C && !s->is_c)
            return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                         " that is not C-contiguous");
        if (p->order == NL_ORDER_F && !s->is_f)
            return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                         " that is not Fortran-contiguous");
    }
    if (s->readonly && !p->is_const)
        return nl_py_argument_refuse(
            call, index, value, PyExc_ValueError,
            " that is read-only: pass a copy, %sor declare the parameter const",
            call->device ? "or cuda.In(x), " : "");
    if ((p->lanes ? s->address : s->misaligned) & (p->element_align - 1))
        return nl_py_argument_refuse(call, index, value, PyExc_ValueError,
                                     " whose elements are not aligned to %d bytes: pass a copy",
                                     (int)p->element_align);
    if (!s->device || s->device == call->device)
        return 0;
    if (!call->may_visit || !nl_device_may_visit(call->device, s->device))
        return nl_py_argument_refuse(
            call, index, value, PyExc_ValueError,
            " on device %d, but the kernel runs on device %d: copy it over", s->device->ordinal,
            call->device->ordinal);
    call->visited |= UINT64_C(1) << s->device->ordinal;
    return 0;
}

static void write_array(const nl_param *p, unsigned char *at, CUdeviceptr address,
                        const int64_t *shape, const int64_t *strides) {
    memcpy(at, &address, sizeof address);
    if (p->kind == NL_PARAM_ARRAY) {
        size_t size = (size_t)p->ndim * sizeof(int64_t);
        memcpy(at + sizeof address, shape, size);
        memcpy(at + sizeof address + size, strides, size);
    }
}

/* ---- kinds of arrays ---- */

/* A device array that fits: it has shape and strides as the parameter wants them. The usual ranks
 * are worth no call of memcpy, which takes longer than the rest. */
static inline void write_at_once(const nl_param *p, unsigned char *at, const nl_py_array *a) {
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

static int write_device_array(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    const nl_py_array *a = (nl_py_array *)value;
    nl_error err;
    seen s = {.element = {(nl_dtype)a->dtype, (nl_element_class)a->class, a->itemsize},
              .ndim = a->ndim,
              .is_c = a->flags & NL_PY_ARRAY_C,
              .is_f = a->flags & NL_PY_ARRAY_F,
              .readonly = a->flags & NL_PY_ARRAY_READONLY,
              .misaligned = a->misaligned,
              .device = a->buffer->size ? a->buffer->device : NULL,
              .last = a->ndim ? a->shape[a->ndim - 1] : 0,
              .address = a->address};
    if (check_array(call, index, value, &s) < 0)
        return -1;
    int visiting = s.device && s.device != call->device; /* the launcher waits, before and after */
    if (visiting ? nl_device_alive(s.device, a->buffer->generation, &err) < 0
                 : nl_py_array_use(a, call->stream, call->blocking, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    write_array(&call->params->items[index], at, a->address, a->shape, nl_py_array_strides(a));
    return 0;
}

static int write_foreign(nl_py_call *call, int index, PyObject *value, const nl_py_foreign *f,
                         unsigned char *at) {
    seen s = {.element = f->element,
              .ndim = f->layout.ndim,
              .is_c = nl_layout_is_c(&f->layout),
              .is_f = nl_layout_is_f(&f->layout),
              .readonly = f->readonly,
              .last = last_axis(&f->layout),
              .address = f->address};
    uint64_t bits = f->address;
    for (int i = 0; i < f->layout.ndim; i++)
        bits |= f->layout.shape[i] > 1 ? (uint64_t)f->layout.strides[i] : 0;
    s.misaligned = f->address ? (uint8_t)bits : 0;
    if (call->device && nl_layout_count(&f->layout) > 0)
        s.device = nl_device_of_address((nl_device *)call->device, f->address);
    if (check_array(call, index, value, &s) < 0 ||
        nl_py_foreign_wait(f, call->stream, call->blocking) < 0)
        return -1;
    write_array(&call->params->items[index], at, f->address, f->layout.shape, f->layout.strides);
    return 0;
}

static int is_masked(PyObject *array) {
    return !nl_host_is_exact_array(array) && PyObject_HasAttrString(array, "_mask");
}

/* mode 0: decided by the parameter. */
static int write_host(nl_py_call *call, int index, PyObject *value, PyObject *array, int mode,
                      unsigned char *at) {
    const nl_param *p = &call->params->items[index];
    nl_host_array host;
    nl_py_staged *staged;
    if (is_masked(array))
        return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                     ": a kernel would not see the mask");
    if (nl_host_array_read(array, &host) < 0)
        return -1;
    seen s = {.element = host.element, .ndim = host.layout.ndim, .last = last_axis(&host.layout)};
    s.is_c = nl_layout_is_c(&host.layout);
    s.is_f = nl_layout_is_f(&host.layout);
    /* array<> gets a packed copy of what is in neither order */
    if (p->kind == NL_PARAM_ARRAY && !s.is_f)
        s.is_c = 1;
    if (mode == 0)
        call->staging.implicit |= !nl_host_is_void(value);
    else if (p->is_const && mode == NL_PY_TRANSFER_OUT)
        return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                     ": cuda.Out makes no sense for a parameter that is const");
    if (mode == 0 || p->is_const)
        mode = p->is_const ? NL_PY_TRANSFER_IN : NL_PY_TRANSFER_IN | NL_PY_TRANSFER_OUT;
    s.readonly = !host.writable && (mode & NL_PY_TRANSFER_OUT);
    if (check_array(call, index, value, &s) < 0)
        return -1;
    if ((mode & NL_PY_TRANSFER_OUT) && nl_py_layout_overlaps(&host.layout))
        return nl_py_argument_refuse(call, index, value, PyExc_ValueError,
                                     " whose elements overlap in memory: it cannot be copied back");
    if (nl_py_staging_add(&call->staging, &host, index, mode, &staged) < 0)
        return -1;
    write_array(p, at, 0, staged->device.shape, staged->device.strides);
    return 0;
}

/* None and 0 are NULL; any other address must be in memory that the driver knows. Whether it is
 * right, and lives long enough, is the caller's business. */
static int write_address(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    const nl_param *p = &call->params->items[index];
    CUdeviceptr address = 0;
    nl_error err;
    nl_address known;
    if (value != Py_None) {
        address = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return nl_py_argument_refuse(call, index, value, PyExc_ValueError,
                                         ", which is no address");
        }
    }
    if (address && !call->device)
        return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                     ": pass an array, not an address");
    if (address && (nl_device_bind(call->device, &err) < 0 ||
                    nl_device_ask(address, &known, &err) < 0 || known.type == 0))
        return nl_py_argument_refuse(
            call, index, value, PyExc_ValueError,
            ", which is no address in device memory: pass an array, or its address "
            "(x.__cuda_array_interface__['data'][0])");
    if (address & (p->element_align - 1))
        return nl_py_argument_refuse(call, index, value, PyExc_ValueError,
                                     ", which is not aligned to %d bytes", (int)p->element_align);
    memcpy(at, &address, sizeof address);
    return 0;
}

static int is_address(const nl_param *p, PyObject *value) {
    return p->kind == NL_PARAM_POINTER &&
           (value == Py_None || (PyLong_Check(value) && !PyBool_Check(value)));
}

/* The array itself, for a function that runs on the host. */
static int write_in_place(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    PyObject *array = value;
    nl_host_array host;
    nl_py_foreign foreign;
    if (is_address(&call->params->items[index], value))
        return write_address(call, index, value, at);
    if (!nl_host_is_exact_array(value) && PyObject_TypeCheck(value, call->state->transfer_type))
        array = ((nl_py_transfer *)value)->array;
    if (!nl_host_is_array(array)) {
        int found = nl_py_array_check(call->state, array);
        if (!found && (found = nl_py_foreign_read(call->state, array, &foreign)) > 0)
            nl_py_foreign_clear(&foreign);
        if (found < 0)
            return -1;
        return nl_py_argument_refuse(
            call, index, value, PyExc_TypeError,
            found ? ": it is in device memory; copy it over first, x.copy_to_host()"
                  : ": pass a NumPy array, numpy.asarray(x)");
    }
    if (is_masked(array))
        return nl_py_argument_refuse(call, index, value, PyExc_TypeError,
                                     ": the function would not see the mask");
    if (nl_host_array_read(array, &host) < 0)
        return -1;
    seen s = {.element = host.element,
              .ndim = host.layout.ndim,
              .readonly = !host.writable,
              .last = last_axis(&host.layout),
              .address = (uintptr_t)host.data};
    s.is_c = nl_layout_is_c(&host.layout);
    s.is_f = nl_layout_is_f(&host.layout);
    uint64_t bits = (uintptr_t)host.data;
    for (int i = 0; i < host.layout.ndim; i++)
        bits |= host.layout.shape[i] > 1 ? (uint64_t)host.layout.strides[i] : 0;
    s.misaligned = nl_layout_count(&host.layout) > 0 ? (uint8_t)bits : 0;
    if (check_array(call, index, value, &s) < 0)
        return -1;
    write_array(call->params->items + index, at, (CUdeviceptr)(uintptr_t)host.data,
                host.layout.shape, host.layout.strides);
    return 0;
}

/* Until the kernel is launched. */
static int keep(nl_py_call *call, PyObject *array) {
    return call->kept || (call->kept = PyList_New(0)) ? PyList_Append(call->kept, array) : -1;
}

/* Objects that speak DLPack: what comes of them is kept until the kernel is launched. 1 if it was
 * one, 0 or -1. */
static int write_dlpack(nl_py_call *call, int index, PyObject *value, PyObject *source, int mode,
                        unsigned char *at) {
    PyObject *array = NULL;
    int found = nl_py_dlpack_array(call->state, source, call->stream, &array);
    if (found <= 0)
        return found;
    int result = keep(call, array);
    if (result == 0)
        result = nl_py_array_check(call->state, array)
                     ? write_device_array(call, index, array, at)
                     : write_host(call, index, value, array, mode, at);
    Py_DECREF(array);
    return result < 0 ? -1 : 1;
}

/* A record is an array without dimensions over its memory, which may be that of an array. */
static int write_void(nl_py_call *call, int index, PyObject *value, PyObject *record, int mode,
                      unsigned char *at) {
    PyObject *array = nl_host_void_array(record);
    if (!array)
        return -1;
    int result = keep(call, array) < 0 ? -1 : write_host(call, index, value, array, mode, at);
    Py_DECREF(array);
    return result;
}

static int write_other_array(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    nl_py_foreign foreign;
    PyObject *array = value;
    int mode = 0;
    if (PyObject_TypeCheck(value, call->state->transfer_type)) {
        array = ((nl_py_transfer *)value)->array;
        mode = ((nl_py_transfer *)value)->mode;
    }
    if (nl_py_array_check(call->state, array))
        return write_device_array(call, index, array, at);
    if (nl_host_is_exact_array(array))
        return write_host(call, index, value, array, mode, at);
    if (nl_host_is_void(array))
        return write_void(call, index, value, array, mode, at);
    if (is_address(&call->params->items[index], value))
        return write_address(call, index, value, at);
    call->strayed = 1;
    int found = nl_py_foreign_read(call->state, array, &foreign);
    if (found < 0)
        return -1;
    if (found) {
        int result = write_foreign(call, index, array, &foreign, at);
        nl_py_foreign_clear(&foreign);
        return result;
    }
    if (nl_host_is_array(array))
        return write_host(call, index, value, array, mode, at);
    found = write_dlpack(call, index, value, array, mode, at);
    if (found)
        return found < 0 ? -1 : 0;
    const nl_param *p = &call->params->items[index];
    const char *advice =
        p->kind == NL_PARAM_ARRAY && p->ndim == 0
            ? p->dtype == NL_OPAQUE ? ": make one with numpy.array((...), dtype=[...])[()]"
                                    : ": pass an array, numpy.array(x), which the kernel refers to"
        : PyList_Check(array) || PyTuple_Check(array) ? ": pass a NumPy array, numpy.array(x)"
        : nl_host_is_scalar(array) || PyLong_Check(array) || PyFloat_Check(array) ||
                PyComplex_Check(array)
            ? ": pass an array, also for a single value"
            : ": pass a NumPy array, a device array or an object with __cuda_array_interface__ or "
              "__dlpack__";
    return nl_py_argument_refuse(call, index, value, PyExc_TypeError, "%s", advice);
}

/* ---- scalars ---- */

static int read_int(PyObject *value, nl_scalar *s) {
    int overflow;
    s->kind = NL_SCALAR_INT;
    s->integer = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow)
        return s->integer == -1 && PyErr_Occurred() ? -1 : 1;
    if (overflow > 0) {
        unsigned long long large = PyLong_AsUnsignedLongLong(value);
        if (!PyErr_Occurred()) {
            s->kind = NL_SCALAR_UINT;
            s->integer = (int64_t)large;
            return 1;
        }
        PyErr_Clear();
    }
    s->kind = NL_SCALAR_BIG;
    s->real = PyLong_AsDouble(value);
    if (s->real == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        s->real = __builtin_inf();
    }
    return 1;
}

/* Where a value that lies on the device is read: after what the launch's stream has to do before
 * it. */
static PyObject *read_on_device(const nl_py_call *call, const nl_py_array *a) {
    int here = call && a->buffer->device == call->device;
    return nl_py_array_read_on(a, here ? call->stream : NULL);
}

PyObject *nl_py_argument_fetch(const nl_py_call *call, PyObject *array) {
    return read_on_device(call, (nl_py_array *)array);
}

/* A device array without dimensions is read: the number in it is what the parameter gets. */
static int read_element(nl_py_state *state, const nl_py_call *call, PyObject *array, nl_scalar *s) {
    const nl_py_array *a = (nl_py_array *)array;
    PyObject *number = read_on_device(call, a);
    int result = number ? nl_py_scalar_read(state, number, s) : -1;
    Py_XDECREF(number);
    return result;
}

static int read_foreign(nl_py_state *state, const nl_py_call *call, PyObject *value, nl_scalar *s) {
    nl_py_foreign foreign;
    int found = nl_py_foreign_read(state, value, &foreign);
    if (found > 0) {
        PyObject *array = NULL;
        found = foreign.layout.ndim ? 0 : -1;
        if (found < 0 && nl_py_foreign_wait(&foreign, call ? call->stream : NULL,
                                            call ? call->blocking : 0) == 0)
            array = nl_py_foreign_array(state, value, &foreign);
        if (array)
            found = read_element(state, call, array, s);
        Py_XDECREF(array);
        nl_py_foreign_clear(&foreign);
    }
    return found;
}

static int load(nl_dtype dtype, const void *bytes, nl_scalar *s) {
    if (dtype == NL_OPAQUE)
        return 0;
    nl_scalar_load(s, dtype, bytes);
    return 1;
}

static int scalar_read(nl_py_state *state, const nl_py_call *call, PyObject *value, nl_scalar *s) {
    unsigned char bytes[16];
    memset(s, 0, sizeof *s);
    if (PyBool_Check(value)) {
        s->kind = NL_SCALAR_BOOL;
        s->integer = value == Py_True;
        return 1;
    }
    if (PyLong_Check(value))
        return read_int(value, s);
    if (PyFloat_Check(value)) {
        s->kind = NL_SCALAR_FLOAT;
        s->real = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    if (PyComplex_Check(value)) {
        Py_complex c = PyComplex_AsCComplex(value);
        s->kind = NL_SCALAR_COMPLEX;
        s->real = c.real;
        s->imaginary = c.imag;
        return 1;
    }
    if (nl_host_is_scalar(value))
        return load(nl_host_scalar_read(value, bytes), bytes, s)
                   ? 1
                   : nl_host_long_double_read(value, s);
    if (nl_py_array_check(state, value))
        return ((nl_py_array *)value)->ndim ? 0 : read_element(state, call, value, s);
    if (nl_host_is_array(value)) {
        nl_host_array host;
        if (nl_host_array_read(value, &host) < 0)
            return -1;
        return host.layout.ndim || is_masked(value) ? 0 : load(host.element.dtype, host.data, s);
    }
    if (state && PyObject_TypeCheck(value, state->enum_type)) {
        PyObject *number = PyObject_GetAttrString(value, "value");
        int read = number ? nl_py_scalar_read(state, number, s) : -1;
        Py_XDECREF(number);
        return read;
    }
    if (PyUnicode_Check(value) || PyBytes_Check(value) || PySequence_Check(value))
        return read_foreign(state, call, value, s);
    int found = read_foreign(state, call, value, s);
    if (found)
        return found;
    PyObject *number = PyIndex_Check(value) ? PyNumber_Index(value)
                       : Py_TYPE(value)->tp_as_number && Py_TYPE(value)->tp_as_number->nb_float
                           ? PyNumber_Float(value)
                           : NULL;
    if (number)
        found = nl_py_scalar_read(state, number, s);
    else if (PyErr_Occurred())
        found = -1;
    Py_XDECREF(number);
    return found;
}

int nl_py_scalar_read(nl_py_state *state, PyObject *value, nl_scalar *s) {
    return scalar_read(state, NULL, value, s);
}

int nl_py_argument_number(const nl_py_call *call, PyObject *value, nl_scalar *s) {
    return scalar_read(call->state, call, value, s);
}

/* A date or time: 1, 0 if it is none, or -1. */
static int write_time(const nl_py_call *call, PyObject *value, unsigned char *at) {
    if (nl_py_array_check(call->state, value)) {
        const nl_py_array *a = (nl_py_array *)value;
        if (a->ndim || a->class != NL_ELEMENT_TIME)
            return 0;
        PyObject *time = read_on_device(call, a);
        int result = time ? nl_host_time_read(time, at) : -1;
        Py_XDECREF(time);
        return result;
    }
    return nl_host_time_read(value, at);
}

static int write_scalar(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    const nl_param *p = &call->params->items[index];
    nl_scalar s;
    if (p->dtype == NL_INT64) {
        int time = write_time(call, value, at);
        if (time)
            return time < 0 ? -1 : 0;
    }
    call->strayed |= !(PyLong_Check(value) || PyFloat_Check(value) || nl_host_is_scalar(value));
    int found = scalar_read(call->state, call, value, &s);
    if (found < 0)
        return -1;
    if (!found)
        return nl_py_argument_refuse(call, index, value, PyExc_TypeError, "");
    switch (nl_scalar_store(&s, p->dtype, at)) {
    case NL_STORED:
        return 0;
    case NL_STORE_RANGE:
        return nl_py_argument_refuse(call, index, value, PyExc_OverflowError,
                                     ", which does not fit");
    case NL_STORE_TYPE:
        break;
    }
    return nl_py_argument_refuse(
        call, index, value, PyExc_TypeError,
        s.kind == NL_SCALAR_FLOAT ? ": convert it with int(), if that is what you mean" : "");
}

/* ---- entry ---- */

/* All that check_array would ask, for the plain case: nothing to convert, no stream to order. */
static inline int fits_at_once(const nl_py_call *call, const nl_param *p, const nl_py_array *a) {
    unsigned wanted = p->kind == NL_PARAM_POINTER ? NL_ORDER_C : p->order;
    return a->dtype == p->dtype && p->dtype != NL_OPAQUE &&
           (p->kind == NL_PARAM_POINTER || a->ndim == p->ndim) && (a->flags & wanted) == wanted &&
           (p->is_const || !(a->flags & NL_PY_ARRAY_READONLY)) &&
           !(a->misaligned & (p->element_align - 1)) && a->buffer->device == call->device &&
           a->buffer->generation == call->kernel->module->generation && call->blocking;
}

_Static_assert((int)NL_ORDER_C == NL_PY_ARRAY_C && (int)NL_ORDER_F == NL_PY_ARRAY_F,
               "orders are flags");

int nl_py_argument_write(nl_py_call *call, int index, PyObject *value, unsigned char *block) {
    const nl_param *p = &call->params->items[index];
    unsigned char *at = block + p->offset;
    switch (p->kind) {
    case NL_PARAM_POINTER:
    case NL_PARAM_ARRAY:
        if (!call->device)
            return write_in_place(call, index, value, at);
        if (nl_py_array_check_exact(call->state, value)) {
            const nl_py_array *a = (nl_py_array *)value;
            if (fits_at_once(call, p, a)) {
                if (call->stream)
                    (void)nl_buffer_use(a->buffer, call->stream, 1, NULL);
                write_at_once(p, at, a);
                return 0;
            }
        }
        return write_other_array(call, index, value, at);
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
            if (isfinite(v)) { /* infinite ones may come from finite ones */
                memcpy(at, &v, sizeof v);
                return 0;
            }
        }
        return write_scalar(call, index, value, at);
    case NL_PARAM_STRUCT:
        return nl_py_struct_write(call, index, value, block);
    case NL_PARAM_TUPLE:
        return nl_py_tuple_write(call, index, value, block);
    case NL_PARAM_EMPTY:
        return nl_py_empty_write(call, index, value, block);
    }
    return -1;
}
