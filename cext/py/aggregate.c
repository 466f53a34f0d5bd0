/* py/aggregate: writes arguments that consist of several values (records by value, vectors such as
 * float4, and tuples), and arguments such as None whose type is their only information. Each item
 * of a tuple is written as a separate parameter, so a tuple may contain any value that a kernel
 * accepts. */
#include "py/aggregate.h"

#include <math.h>
#include <string.h>
#include "base/half.h"
#include "py/typecode.h"

int nl_py_aggregate_is_dim3(const nl_param *p) {
    return p->kind == NL_PARAM_STRUCT && p->parts == 3 && strcmp(p->ctype, "dim3") == 0;
}

static int write_complex_pair(const nl_param *p, const nl_scalar *s, unsigned char *at) {
    if (!p->takes_complex || (p->size != 8 && p->size != 16))
        return 0;
    return nl_scalar_store(s, p->size == 8 ? NL_COMPLEX64 : NL_COMPLEX128, at) == NL_STORED;
}

static int copy_record(const nl_param *p, const nl_element *e, const void *bytes,
                       unsigned char *at) {
    if (!bytes || e->class != NL_ELEMENT_RECORD || e->itemsize != p->size)
        return 0;
    memcpy(at, bytes, p->size);
    return 1;
}

static int write_numpy_record(const nl_param *p, PyObject *scalar, unsigned char *at) {
    PyObject *descr;
    const void *bytes;
    if (nl_py_hostarray_read_void(scalar, &descr, &bytes) < 0)
        return -1;
    nl_element element = nl_py_hostarray_element_of_descr(descr);
    Py_DECREF(descr);
    return copy_record(p, &element, bytes, at);
}

/* Writes the bytes of a record of the parameter's size. Returns 1 on success, 0 if `value` is not a
 * record of that size, -1 with an exception. */
static int write_record(nl_py_call *call, const nl_param *p, PyObject *value, unsigned char *at) {
    if (nl_py_hostarray_is_scalar(value))
        return write_numpy_record(p, value, at);
    if (!nl_py_devarray_check(call->state, value) && !nl_py_hostarray_is_array(value))
        return 0;
    const nl_py_value *v = nl_py_values_read(call->values, value);
    if (!v)
        return -1;
    if (v->ndim != 0)
        return 0;
    if (v->kind == NL_PY_VALUE_HOST)
        return copy_record(p, &v->element, v->memory.host.data, at);
    if (!v->array)
        return 0;
    PyObject *record = nl_py_values_read_element(call->values, v->array);
    int found = record ? write_record(call, p, record, at) : -1;
    Py_XDECREF(record);
    return found;
}

/* Writes a __nv_bfloat16. Returns 1 on success, 0 if the value does not fit, -1 with an
 * exception. */
static int write_bfloat16(nl_py_call *call, int index, PyObject *value, unsigned char *at) {
    nl_scalar s;
    double number;
    PyObject *as_float = NULL;
    int found = nl_py_values_read_number(call->values, value, &s);
    if (found == 0 && nl_py_hostarray_is_scalar(value)) { /* a scalar type of another library */
        as_float = PyNumber_Float(value);
        found = as_float ? nl_py_value_read_number(as_float, &s) : 0;
        PyErr_Clear();
        Py_XDECREF(as_float);
    }
    if (found <= 0 || nl_scalar_store(&s, NL_FLOAT64, &number) != NL_STORED)
        return found < 0 ? -1 : 0;
    uint16_t bits = nl_half_bfloat16_from_double(number);
    if (isfinite(number) && (bits & 0x7fff) == 0x7f80)
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_OverflowError,
                                             ", which does not fit");
    memcpy(at, &bits, sizeof bits);
    return 1;
}

/* Writes the items of a tuple, or of any sequence for a vector, each as a separate parameter. */
static int write_items(nl_py_call *call, int index, PyObject *value, PyObject *items,
                       unsigned char *block) {
    const nl_param *p = &call->params->items[index];
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (n != p->parts && !(nl_py_aggregate_is_dim3(p) && n >= 1 && n < p->parts))
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_TypeError, "");
    for (int i = 0; i < p->parts; i++) {
        const uint32_t one = 1;
        if (i >= n)
            memcpy(block + call->params->items[p->first + i].offset, &one, sizeof one);
        else if (nl_py_argument_write(call, p->first + i, PyTuple_GET_ITEM(items, i), block) < 0)
            return -1;
    }
    return 0;
}

/* Are all parts scalars? Arrays must be in a tuple, which keeps them alive; a list may change
 * during the call. */
static int has_numbers_only(const nl_params *params, const nl_param *p) {
    for (int i = 0; i < p->parts; i++)
        if (params->items[p->first + i].kind != NL_PARAM_SCALAR)
            return 0;
    return 1;
}

PyObject *nl_py_aggregate_items(nl_py_call *call, int index, PyObject *value) {
    const nl_param *p = &call->params->items[index];
    PyObject *items = NULL;
    if (PyTuple_Check(value))
        items = Py_NewRef(value);
    else if (PyList_Check(value) && has_numbers_only(call->params, p))
        items = PyList_AsTuple(value);
    if (items && PyTuple_GET_SIZE(items) != p->parts)
        Py_CLEAR(items);
    if (!items && !PyErr_Occurred())
        nl_py_argument_raise_mismatch(call, index, value, PyExc_TypeError, "");
    return items;
}

int nl_py_aggregate_write_tuple(nl_py_call *call, int index, PyObject *value,
                                unsigned char *block) {
    int is_member = PyObject_TypeCheck(value, call->state->enum_type);
    PyObject *whole = is_member ? PyObject_GetAttrString(value, "value") : Py_NewRef(value);
    PyObject *items = whole ? nl_py_aggregate_items(call, index, whole) : NULL;
    int result = items ? write_items(call, index, value, items, block) : -1;
    Py_XDECREF(items);
    Py_XDECREF(whole);
    return result;
}

/* Writes a vector from a tuple, a list or a 1-D array; dim3 may also be an int. */
static int write_vector(nl_py_call *call, int index, PyObject *value, unsigned char *block) {
    int is_one = PyIndex_Check(value) && !PyTuple_Check(value) && !nl_py_hostarray_is_array(value);
    PyObject *items =
        is_one ? PyTuple_Pack(1, value) : nl_py_geometry_bounded_tuple(value, NL_MAX_DIMS);
    int result = items ? write_items(call, index, value, items, block) : -1;
    Py_XDECREF(items);
    return result;
}

static int is_vector(nl_py_call *call, const nl_param *p, PyObject *value) {
    if (!p->parts)
        return 0;
    if (PyTuple_Check(value) || PyList_Check(value))
        return 1;
    if (PyIndex_Check(value) && !nl_py_hostarray_is_array(value))
        return nl_py_aggregate_is_dim3(p);
    const nl_py_value *v =
        nl_py_hostarray_is_array(value) ? nl_py_values_read(call->values, value) : NULL;
    if (!v)
        PyErr_Clear();
    return v && v->kind == NL_PY_VALUE_HOST && v->ndim == 1 && v->element.class == NL_ELEMENT_PLAIN;
}

/* Writes an argument without contents: None, or a dtype. */
int nl_py_aggregate_write_empty(nl_py_call *call, int index, PyObject *value,
                                unsigned char *block) {
    const nl_param *p = &call->params->items[index];
    uint32_t code;
    const char *reason;
    int found = value == Py_None ? p->dtype == NL_OPAQUE
                                 : nl_py_type_code(call->values, value, &code, &reason);
    if (found < 0)
        return -1;
    if (value != Py_None)
        found =
            found && p->dtype != NL_OPAQUE && nl_py_typecode_dtype(call->state, code) == p->dtype;
    if (!found)
        return nl_py_argument_raise_mismatch(call, index, value, PyExc_TypeError, "");
    memset(block + p->offset, 0, p->size);
    return 0;
}

int nl_py_aggregate_write_struct(nl_py_call *call, int index, PyObject *value,
                                 unsigned char *block) {
    const nl_param *p = &call->params->items[index];
    unsigned char *at = block + p->offset;
    nl_scalar s;
    call->values->runs++; /* Reading an item of an unknown class may run Python code. */
    if (is_vector(call, p, value))
        return write_vector(call, index, value, block);
    int found = write_record(call, p, value, at);
    if (found == 0 && p->takes_complex) {
        found = nl_py_values_read_number(call->values, value, &s);
        if (found > 0)
            found = write_complex_pair(p, &s, at);
    }
    if (found == 0 && p->takes_bfloat16)
        found = write_bfloat16(call, index, value, at);
    if (found != 0)
        return found < 0 ? -1 : 0;
    return nl_py_argument_raise_mismatch(
        call, index, value, PyExc_TypeError,
        p->parts || p->takes_bfloat16
            ? ""
            : ": create the record with numpy.array((...), dtype=[...])[()]");
}
