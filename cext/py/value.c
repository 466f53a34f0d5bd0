/* py/value: reads one Python value, or the values of a call.
 *
 * All callers test an object in the same order:
 *   - DeviceArray and NumPy's own classes, which require no Python code;
 *   - numbers;
 *   - DLPack's exchange API (C functions) and the CUDA Array Interface;
 *   - subclasses of numpy.ndarray, after the interface because some are device arrays;
 *   - if an array is required, DLPack.
 *
 * Python attributes are read once per call: an object builds a dictionary or capsule for each read,
 * and may return different values. */
#include "py/value.h"

#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "py/devcopy.h"
#include "py/dlpack.h"
#include "py/transfer.h"

/* ---- arrays ---- */

static void set_layout(nl_py_value *v, CUdeviceptr address, const nl_layout *layout) {
    v->ndim = layout->ndim;
    v->address = address;
    v->shape = layout->shape;
    v->strides = layout->strides;
    v->order = (uint8_t)nl_layout_contiguous_orders(layout);
    v->misaligned = nl_layout_low_bits(layout, address);
}

static int is_foreign_array(const nl_py_value *v) {
    return v->kind == NL_PY_VALUE_DEVICE && v->shape == v->memory.foreign.layout.shape;
}

void nl_py_value_clear(nl_py_value *v) {
    if (is_foreign_array(v))
        nl_py_arrayinterface_clear(&v->memory.foreign);
    if (v->array != v->object)
        Py_XDECREF(v->array);
    v->array = NULL;
    v->kind = NL_PY_VALUE_OTHER;
}

/* Sets the fields of *v from v->array, which is a numpy.ndarray. */
static int read_host_value(nl_py_value *v) {
    nl_host_array *host = &v->memory.host;
    if (nl_py_hostarray_read(v->array, host) < 0)
        return -1;
    v->kind = NL_PY_VALUE_HOST;
    v->element = host->element;
    v->descr = host->descr;
    v->is_readonly = !host->writable;
    set_layout(v, (CUdeviceptr)(uintptr_t)host->data, &host->layout);
    return 0;
}

/* `array` is the object itself, or an array created from the object; its reference is stolen. */
static int set_host_value(nl_py_value *v, PyObject *array) {
    v->array = array;
    v->is_masked = !nl_py_hostarray_is_exact_array(array) && PyObject_HasAttrString(array, "_mask");
    if (read_host_value(v) == 0)
        return 0;
    nl_py_value_clear(v);
    return -1;
}

static void set_device_value(nl_py_value *v, PyObject *array) {
    const nl_py_array *a = (nl_py_array *)array;
    v->kind = NL_PY_VALUE_DEVICE;
    v->array = array;
    v->element = (nl_element){(nl_dtype)a->dtype, (nl_element_class)a->class, a->itemsize};
    v->descr = a->descr;
    v->is_readonly = (a->flags & NL_PY_ARRAY_READONLY) != 0;
    v->order = a->flags & (NL_PY_ARRAY_C | NL_PY_ARRAY_F);
    v->misaligned = a->misaligned;
    v->ndim = a->ndim;
    v->address = a->address;
    v->shape = a->shape;
    v->strides = nl_py_devarray_strides(a);
}

void nl_py_value_of_array(nl_py_value *v, PyObject *array) {
    v->given = v->object = array;
    v->mode = v->exported = v->converted = v->is_record = v->is_masked = 0;
    set_device_value(v, array);
}

static void set_foreign_value(nl_py_value *v) {
    const nl_py_foreign *f = &v->memory.foreign;
    v->kind = NL_PY_VALUE_DEVICE;
    v->element = f->element;
    v->descr = f->descr;
    v->is_readonly = (uint8_t)f->readonly;
    set_layout(v, f->address, &f->layout);
}

/* A NumPy record is read as a 0-D array over the memory of the record, which may be memory of an
 * array. */
static int set_numpy_record(nl_py_value *v) {
    PyObject *array = nl_py_hostarray_array_of_void(v->object);
    v->is_record = 1;
    return array ? set_host_value(v, array) : -1;
}

int nl_py_value_read(nl_py_state *state, PyObject *obj, nl_py_value *v) {
    v->given = v->object = obj;
    v->array = NULL;
    v->kind = NL_PY_VALUE_OTHER;
    v->mode = v->exported = v->converted = v->is_record = v->is_masked = 0;
    v->found = -2;
    if (nl_py_hostarray_is_exact_array(obj))
        return set_host_value(v, obj);
    if (nl_py_is_transfer(state, obj)) {
        v->mode = (uint8_t)((nl_py_transfer *)obj)->mode;
        v->object = obj = ((nl_py_transfer *)obj)->array;
    }
    if (nl_py_devarray_check(state, obj)) {
        set_device_value(v, obj);
        return 0;
    }
    if (nl_py_hostarray_is_exact_array(obj))
        return set_host_value(v, obj);
    if (PyLong_Check(obj) || PyFloat_CheckExact(obj) || PyComplex_CheckExact(obj)) {
        v->kind = NL_PY_VALUE_NUMBER;
        return 0;
    }
    if (nl_py_hostarray_is_scalar(obj)) {
        v->kind = NL_PY_VALUE_NUMBER;
        return nl_py_hostarray_is_void(obj) ? set_numpy_record(v) : 0;
    }
    int found = nl_py_arrayinterface_read(state, obj, &v->memory.foreign);
    if (found < 0)
        return -1;
    if (found > 0)
        set_foreign_value(v);
    else if (nl_py_hostarray_is_array(obj))
        return set_host_value(v, obj);
    return 0;
}

int nl_py_value_read_dlpack(nl_py_state *state, nl_py_value *v, CUstream stream) {
    PyObject *array = NULL;
    if (v->kind != NL_PY_VALUE_OTHER || v->exported)
        return 0;
    v->exported = 1;
    int found = nl_py_dlpack_import_array(state, v->object, stream, &array);
    if (found <= 0)
        return found;
    v->found = -2;
    if (!nl_py_devarray_check(state, array))
        return set_host_value(v, array);
    set_device_value(v, array);
    return 0;
}

int nl_py_value_needs_stream_order(const nl_py_value *v, CUstream stream, int blocking,
                                   CUstream *other) {
    if (!is_foreign_array(v) ||
        !nl_py_arrayinterface_needs_stream_order(&v->memory.foreign, stream, blocking))
        return 0;
    *other = v->memory.foreign.stream;
    return 1;
}

int nl_py_value_order_stream(const nl_py_value *v, CUstream stream, int blocking) {
    return is_foreign_array(v)
               ? nl_py_arrayinterface_order_stream(&v->memory.foreign, stream, blocking)
               : 0;
}

PyObject *nl_py_value_get_array(nl_py_state *state, nl_py_value *v) {
    if (!v->array) {
        v->array = nl_py_arrayinterface_new_array(state, v->object, &v->memory.foreign);
        v->descr = v->memory.foreign.descr;
    }
    return v->array;
}

/* ---- numbers ---- */

static int read_python_int(PyObject *value, nl_scalar *s) {
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

static int load_element(nl_dtype dtype, const void *bytes, nl_scalar *s) {
    if (dtype == NL_OPAQUE)
        return 0;
    nl_scalar_load(s, dtype, bytes);
    return 1;
}

int nl_py_value_read_number(PyObject *obj, nl_scalar *s) {
    unsigned char bytes[16];
    memset(s, 0, sizeof *s);
    if (PyBool_Check(obj)) {
        s->kind = NL_SCALAR_BOOL;
        s->integer = obj == Py_True;
        return 1;
    }
    if (PyLong_Check(obj))
        return read_python_int(obj, s);
    if (PyFloat_Check(obj)) {
        s->kind = NL_SCALAR_FLOAT;
        s->real = PyFloat_AS_DOUBLE(obj);
        return 1;
    }
    if (PyComplex_Check(obj)) {
        Py_complex c = PyComplex_AsCComplex(obj);
        s->kind = NL_SCALAR_COMPLEX;
        s->real = c.real;
        s->imaginary = c.imag;
        return 1;
    }
    if (!nl_py_hostarray_is_scalar(obj))
        return 0;
    return load_element(nl_py_hostarray_read_scalar(obj, bytes), bytes, s)
               ? 1
               : nl_py_hostarray_read_long_double(obj, s);
}

/* Steals the reference. */
static int read_stolen_number(PyObject *number, nl_scalar *s) {
    int result = number ? nl_py_value_read_number(number, s) : -1;
    Py_XDECREF(number);
    return result;
}

PyObject *nl_py_values_read_element(nl_py_values *values, PyObject *array) {
    const nl_py_array *a = (nl_py_array *)array;
    int here = values->device && a->buffer->device == values->device;
    values->runs++;
    return nl_py_devcopy_read_element_on(a, here ? values->stream : NULL);
}

static int read_element(nl_py_values *values, nl_py_value *v, nl_scalar *s) {
    if (v->ndim)
        return 0;
    if (nl_py_value_order_stream(v, values->stream, values->blocking) < 0 ||
        !nl_py_value_get_array(values->state, v))
        return -1;
    return read_stolen_number(nl_py_values_read_element(values, v->array), s);
}

/* Converts an object by __index__ or __float__. */
static int convert_object(nl_py_values *values, PyObject *obj, nl_scalar *s) {
    const PyNumberMethods *methods = Py_TYPE(obj)->tp_as_number;
    if (PyUnicode_Check(obj) || PyBytes_Check(obj) || PySequence_Check(obj))
        return 0;
    values->runs++;
    if (PyIndex_Check(obj))
        return read_stolen_number(PyNumber_Index(obj), s);
    return methods && methods->nb_float ? read_stolen_number(PyNumber_Float(obj), s) : 0;
}

int nl_py_values_read_number(nl_py_values *values, PyObject *obj, nl_scalar *s) {
    int found = nl_py_value_read_number(obj, s);
    if (found || nl_py_hostarray_is_scalar(obj))
        return found;
    if (PyObject_TypeCheck(obj, values->state->enum_type)) {
        PyObject *number = PyObject_GetAttrString(obj, "value");
        found = number ? nl_py_values_read_number(values, number, s) : -1;
        Py_XDECREF(number);
        return found;
    }
    nl_py_value *v = nl_py_values_read(values, obj);
    if (!v)
        return -1;
    if (v->mode) /* arguments with cuda.In, cuda.Out or cuda.InOut are arrays, not numbers */
        return 0;
    switch ((nl_py_value_kind)v->kind) {
    case NL_PY_VALUE_DEVICE:
        return read_element(values, v, s);
    case NL_PY_VALUE_HOST:
        return v->ndim || v->is_masked ? 0 : load_element(v->element.dtype, v->memory.host.data, s);
    case NL_PY_VALUE_NUMBER:
    case NL_PY_VALUE_OTHER:
        break;
    }
    if (v->converted) {
        *s = v->number;
        return 1;
    }
    found = convert_object(values, v->object, s);
    if (found > 0)
        v->number = *s;
    v->converted = found > 0;
    return found;
}

/* ---- the values of a call ---- */

/* Returns uninitialized memory for one more value. Returns NULL with an exception. */
static nl_py_value *alloc_value(nl_py_values *values) {
    nl_error err;
    nl_py_value *v = values->count < NL_PY_STACK_VALUES ? &values->on_stack[values->count]
                                                        : nl_mem_alloc(sizeof *v, &err);
    if (!v)
        nl_py_raise(&err);
    return v;
}

static void free_value(nl_py_values *values, nl_py_value *v) {
    if (v < values->on_stack || v >= values->on_stack + NL_PY_STACK_VALUES)
        nl_mem_free(v);
}

/* Returns whether the value was read without running Python code. */
static int was_read_without_python(const nl_py_value *v) {
    return v->kind == NL_PY_VALUE_NUMBER ||
           (v->kind == NL_PY_VALUE_HOST && nl_py_hostarray_is_exact_array(v->array)) ||
           (v->kind == NL_PY_VALUE_DEVICE && v->array);
}

nl_py_value *nl_py_values_read(nl_py_values *values, PyObject *obj) {
    nl_py_value *v = values->first;
    while (v && v->given != obj)
        v = v->next;
    if (v) {
        if (v->kind == NL_PY_VALUE_HOST && v->runs != values->runs && read_host_value(v) < 0)
            return NULL;
        v->runs = values->runs;
        return v;
    }
    v = alloc_value(values);
    if (!v)
        return NULL;
    if (nl_py_value_read(values->state, obj, v) < 0) {
        values->runs++;
        free_value(values, v);
        return NULL;
    }
    values->runs += !was_read_without_python(v);
    v->runs = values->runs;
    Py_INCREF(obj);
    v->next = values->first;
    values->first = v;
    values->count++;
    return v;
}

nl_py_value *nl_py_values_read_dlpack(nl_py_values *values, PyObject *obj) {
    nl_py_value *v = nl_py_values_read(values, obj);
    if (!v || v->kind != NL_PY_VALUE_OTHER || v->exported)
        return v;
    if (nl_py_value_read_dlpack(values->state, v, values->stream) < 0)
        return NULL;
    v->runs = ++values->runs;
    return v;
}

PyObject *nl_py_values_list_created_arrays(const nl_py_values *values) {
    PyObject *made = NULL;
    for (const nl_py_value *v = values->first; v; v = v->next)
        if (v->array && v->array != v->object) {
            if (!made && !(made = PyList_New(0)))
                return NULL;
            if (PyList_Append(made, v->array) < 0) {
                Py_DECREF(made);
                return NULL;
            }
        }
    return made;
}

/* An exception that is set is saved and restored, because the deleters of other libraries must not
 * run with an exception set. */
void nl_py_values_release(nl_py_values *values) {
    PyObject *type, *exception, *traceback;
    int failing = PyErr_Occurred() != NULL;
    if (failing)
        PyErr_Fetch(&type, &exception, &traceback);
    for (nl_py_value *v = values->first, *next; v; v = next) {
        next = v->next;
        PyObject *given = v->given;
        nl_py_value_clear(v);
        free_value(values, v);
        Py_DECREF(given);
    }
    values->first = NULL;
    values->count = 0;
    if (failing)
        PyErr_Restore(type, exception, traceback);
}

/* ---- for messages ---- */

static void describe_array(char *text, size_t size, PyObject *descr, nl_dtype dtype,
                           const char *what, int ndim, const int64_t *shape) {
    char name[120];
    int n = snprintf(
        text, size, "%s %s of shape (",
        descr ? nl_py_hostarray_dtype_name(descr, name, sizeof name) : nl_dtype_name(dtype), what);
    for (int i = 0; i < ndim && n < (int)size; i++)
        n += snprintf(text + n, size - (size_t)n, "%s%lld", i ? ", " : "", (long long)shape[i]);
    if (n < (int)size)
        snprintf(text + n, size - (size_t)n, ndim == 1 ? ",)" : ")");
}

const char *nl_py_value_describe(nl_py_state *state, PyObject *value, char *text, size_t size) {
    nl_py_value v;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    int read = nl_py_value_read(state, value, &v) == 0;
    value = v.object;
    int is_array = read && !v.is_record && v.kind >= NL_PY_VALUE_HOST;
    snprintf(text, size, "%.80s", Py_TYPE(value)->tp_name);
    if (is_array) {
        int ours = v.kind == NL_PY_VALUE_DEVICE && v.array;
        describe_array(text, size, v.descr, v.element.dtype, ours ? "device array" : "array",
                       v.ndim, v.shape);
        if (v.kind == NL_PY_VALUE_DEVICE && !v.array) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, " (%.80s)", Py_TYPE(value)->tp_name);
        }
    } else if (PyTuple_Check(value)) {
        size_t used = strlen(text);
        Py_ssize_t n = PyTuple_GET_SIZE(value);
        snprintf(text + used, size - used, " of %zd item%s", n, n == 1 ? "" : "s");
    } else if (value != Py_None) {
        PyErr_Clear();
        PyObject *repr = PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value) ||
                                 PyUnicode_Check(value) || nl_py_hostarray_is_scalar(value) ||
                                 PyObject_TypeCheck(value, state->enum_type)
                             ? PyObject_Repr(value)
                             : NULL;
        const char *utf8 = repr ? PyUnicode_AsUTF8(repr) : NULL;
        if (utf8 && strlen(utf8) <= 60)
            snprintf(text, size, "%.80s %s", Py_TYPE(value)->tp_name, utf8);
        Py_XDECREF(repr);
    }
    if (read)
        nl_py_value_clear(&v);
    PyErr_Clear();
    PyErr_Restore(type, error, traceback);
    return text;
}
