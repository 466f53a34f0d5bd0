/* py/typecode: computes the type code of a value. A dispatcher without a signature compares the
 * type codes of the arguments with those of its last call. If the type codes differ, the dispatcher
 * looks for another kernel in its cache or in Python. For an object that does not fit in the code
 * (a record dtype, a tuple's types), the code contains the object's index in a list that only
 * grows. */
#include "py/typecode.h"

#include <string.h>

static const char no_order[] = "its byte order is not this machine's; "
                               "convert it with x.astype(x.dtype.newbyteorder('='))";
static const char no_type[] = "its dtype has no counterpart in C++";
static const char no_bfloat16[] = "pass its bits, x.view('uint16'), "
                                  "or declare the parameter as __nv_bfloat16* in your own source";
static const char no_depth[] = "it is nested too deeply";
static const char no_value[] = "pass a number, a NumPy array, a device array "
                               "or an object with __cuda_array_interface__ or __dlpack__";
static const char no_host_value[] = "pass a number or a NumPy array, numpy.asarray(x)";
static const char no_device[] = "it is in device memory; copy it over first, x.copy_to_host()";
static const char no_mask[] = "the mask would be lost; replace masked elements, x.filled(0)";
static const char no_size[] = "it does not fit in 64 bits";

#define MAX_DEPTH 16

/* Returns the index of an object in the list, counted from 1. Objects that compare equal have the
 * same index; a new object is appended. Returns 0, or -1 with an exception. */
static int index_of_object(nl_py_state *state, PyObject *object, uint32_t *index) {
    int result = -1;
    PyObject *number = NULL;
    Py_BEGIN_CRITICAL_SECTION(state->code_indices);
    /* NumPy's comparison of dtypes may return "not equal" with an exception set */
    if (PyDict_GetItemRef(state->code_indices, object, &number) >= 0 && !PyErr_Occurred()) {
        Py_ssize_t count = PyList_GET_SIZE(state->code_objects);
        if (number) {
            result = 0;
        } else if (count >= NL_PY_CODE_INDEX_MAX) {
            PyErr_Format(PyExc_RuntimeError,
                         "more than %d types of records, tuples and times were passed to kernels",
                         NL_PY_CODE_INDEX_MAX);
        } else {
            number = PyLong_FromSsize_t(count + 1);
            if (number && PyList_Append(state->code_objects, object) == 0) {
                result = PyDict_SetItem(state->code_indices, object, number);
                if (result < 0)
                    (void)PyList_SetSlice(state->code_objects, count, count + 1, NULL);
                else if (PyErr_Occurred())
                    result = -1; /* the index is not undone: the next call finds the object in the
                                  * list */
            }
        }
    }
    Py_END_CRITICAL_SECTION();
    if (result == 0)
        *index = (uint32_t)PyLong_AsUnsignedLong(number);
    Py_XDECREF(number);
    return result;
}

static int element_code(nl_py_state *state, const nl_element *e, PyObject *descr, int ndim,
                        int is_c, int is_f, uint32_t *code, const char **reason) {
    uint32_t index = 0;
    switch (e->class) {
    case NL_ELEMENT_PLAIN:
        break;
    case NL_ELEMENT_TIME:
    case NL_ELEMENT_RECORD:
        *reason = e->itemsize == 2 ? no_bfloat16 : no_type;
        if (e->class == NL_ELEMENT_RECORD && !nl_py_hostarray_has_fields(descr))
            return 0;
        if (index_of_object(state, descr, &index) < 0)
            return -1;
        break;
    case NL_ELEMENT_SWAPPED:
        *reason = no_order;
        return 0;
    case NL_ELEMENT_OTHER:
    case NL_ELEMENT_OBJECT:
        *reason = no_type;
        return 0;
    }
    nl_dtype dtype = e->class == NL_ELEMENT_TIME ? NL_INT64 : e->dtype;
    *code = nl_py_code_of_array(dtype, ndim, is_c, is_f, index);
    return 1;
}

/* Converts the type code of a 0-D array to the type code of its element. */
static uint32_t scalar_code_of_array(uint32_t code) {
    return code & (0xffu | ~0u << NL_PY_CODE_INDEX_SHIFT);
}

static int device_array_code(nl_py_state *state, nl_py_array *a, uint32_t *code,
                             const char **reason) {
    *code = nl_atomic_load32_relaxed(&a->code);
    if (*code)
        return 1;
    nl_element element = {(nl_dtype)a->dtype, (nl_element_class)a->class, a->itemsize};
    int result = element_code(state, &element, a->descr, a->ndim, a->flags & NL_PY_ARRAY_C,
                              a->flags & NL_PY_ARRAY_F, code, reason);
    if (result > 0)
        nl_atomic_store32_relaxed(&a->code, *code);
    return result;
}

/* Computes the type code of an array. A host array that is contiguous in neither order is copied to
 * the device in C order, so its code contains C order. */
static int array_code(nl_py_state *state, const nl_py_value *v, uint32_t *code,
                      const char **reason) {
    int is_f = v->order & NL_PY_ARRAY_F, is_c = v->order & NL_PY_ARRAY_C;
    if (v->kind == NL_PY_VALUE_HOST && !is_f)
        is_c = 1;
    return element_code(state, &v->element, v->descr, v->ndim, is_c, is_f, code, reason);
}

static int numpy_scalar_code(nl_py_state *state, PyObject *value, uint32_t *code,
                             const char **reason) {
    unsigned char bytes[16];
    nl_scalar ignored;
    PyObject *descr;
    const void *record;
    nl_dtype dtype = nl_py_hostarray_read_scalar(value, bytes);
    if (dtype == NL_OPAQUE && nl_py_hostarray_read_long_double(value, &ignored))
        dtype = ignored.kind == NL_SCALAR_COMPLEX ? NL_COMPLEX128 : NL_FLOAT64;
    if (dtype != NL_OPAQUE) {
        *code = (uint32_t)dtype;
        return 1;
    }
    if (nl_py_hostarray_read_void(value, &descr, &record) < 0)
        return -1;
    nl_element element = nl_py_hostarray_element_of_descr(descr);
    if (element.class == NL_ELEMENT_RECORD && !record)
        element.class = NL_ELEMENT_OTHER;
    int result = element_code(state, &element, descr, 0, 1, 1, code, reason);
    Py_DECREF(descr);
    if (result > 0 && element.class == NL_ELEMENT_TIME)
        *code = scalar_code_of_array(*code);
    return result;
}

static int number_code(nl_py_values *values, PyObject *value, uint32_t *code, const char **reason) {
    nl_scalar s;
    int found = nl_py_values_read_number(values, value, &s);
    *reason = no_value;
    if (found <= 0)
        return found;
    switch (s.kind) {
    case NL_SCALAR_BOOL:
        *code = NL_BOOL;
        return 1;
    case NL_SCALAR_INT:
        *code = NL_INT64;
        return 1;
    case NL_SCALAR_UINT:
        *code = NL_UINT64;
        return 1;
    case NL_SCALAR_FLOAT:
        *code = NL_FLOAT64;
        return 1;
    case NL_SCALAR_COMPLEX:
        *code = NL_COMPLEX128;
        return 1;
    case NL_SCALAR_BIG:
        *reason = no_size;
        return 0;
    }
    return 0;
}

/* ---- other objects ---- */

static int object_code(nl_py_state *state, PyObject *object, uint32_t *code) {
    uint32_t index;
    if (!object || index_of_object(state, object, &index) < 0)
        return -1;
    *code = NL_PY_CODE_OBJECT | index << NL_PY_CODE_INDEX_SHIFT;
    return 1;
}

/* Computes the type code of an argument that is a dtype, such as numpy.dtype("f4") or
 * numpy.float32. */
static int dtype_code(nl_py_state *state, PyObject *value, uint32_t *code, const char **reason) {
    PyObject *descr = nl_py_hostarray_convert_descr(value);
    if (!descr)
        return -1;
    *reason = no_type;
    int found = nl_py_hostarray_element_of_descr(descr).class == NL_ELEMENT_PLAIN;
    if (found)
        found = object_code(state, descr, code);
    Py_DECREF(descr);
    return found;
}

nl_dtype nl_py_typecode_dtype(nl_py_state *state, uint32_t code) {
    Py_ssize_t index = (Py_ssize_t)(code >> NL_PY_CODE_INDEX_SHIFT);
    PyObject *object =
        code & NL_PY_CODE_OBJECT ? PyList_GetItemRef(state->code_objects, index - 1) : NULL;
    nl_dtype dtype = object && nl_py_hostarray_is_descr(object)
                         ? nl_py_hostarray_element_of_descr(object).dtype
                         : NL_OPAQUE;
    Py_XDECREF(object);
    return dtype;
}

/* Type of the function that computes the code of a tuple's item: nl_py_type_code or
 * nl_py_typecode_of_host_value. */
typedef int (*code_fn)(nl_py_values *values, PyObject *value, uint32_t *code, const char **reason);

/* Computes the type code of a tuple: its object is a pair of the tuple's class and the type codes
 * of its items, which `item_code` computes. */
static int tuple_code(nl_py_values *values, PyObject *value, uint32_t *code, const char **reason,
                      code_fn item_code, int depth) {
    Py_ssize_t n = PyTuple_GET_SIZE(value), size = n * (Py_ssize_t)sizeof(uint32_t);
    *reason = no_depth;
    if (depth >= MAX_DEPTH)
        return 0;
    PyObject *codes = PyBytes_FromStringAndSize(NULL, size);
    int found = codes ? 1 : -1;
    for (Py_ssize_t i = 0; found > 0 && i < n; i++) {
        uint32_t item;
        PyObject *part = PyTuple_GET_ITEM(value, i);
        found = PyTuple_Check(part) ? tuple_code(values, part, &item, reason, item_code, depth + 1)
                                    : item_code(values, part, &item, reason);
        if (found > 0)
            memcpy(PyBytes_AS_STRING(codes) + i * (Py_ssize_t)sizeof item, &item, sizeof item);
    }
    if (found > 0) {
        PyObject *key = PyTuple_Pack(2, (PyObject *)Py_TYPE(value), codes);
        found = object_code(values->state, key, code);
        Py_XDECREF(key);
    }
    Py_XDECREF(codes);
    return found;
}

static int is_dtype(PyObject *value) {
    return nl_py_hostarray_is_descr(value) || nl_py_hostarray_is_scalar_type(value);
}

/* Returns whether the value is a numbalite type with a dtype, such as float32. A program that has a
 * numbalite type has imported numbalite.types, so this function does not import the module. */
static int is_type_object(PyObject *value) {
    PyObject *name = PyUnicode_FromString("numbalite.types");
    PyObject *types = name ? PyImport_GetModule(name) : NULL;
    PyObject *class = types ? PyObject_GetAttrString(types, "Type") : NULL;
    PyObject *dtype = NULL;
    int found = class ? PyObject_IsInstance(value, class) : 0;
    if (found > 0) {
        dtype = PyObject_GetAttrString(value, "dtype");
        found = dtype && nl_py_hostarray_is_descr(dtype);
    }
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    Py_XDECREF(dtype);
    Py_XDECREF(class);
    Py_XDECREF(types);
    Py_XDECREF(name);
    return PyErr_Occurred() ? -1 : found;
}

static int cache_code(nl_py_value *v, int found, uint32_t *code, const char **reason) {
    v->found = found;
    v->code = *code;
    v->reason = *reason;
    return found;
}

static int find_cached_code(const nl_py_value *v, uint32_t *code, const char **reason) {
    *code = v->code;
    *reason = v->reason;
    return v->found;
}

static int none_or_dtype_code(nl_py_values *values, PyObject *value, uint32_t *code,
                              const char **reason) {
    if (value == Py_None)
        return object_code(values->state, value, code);
    if (is_dtype(value))
        return dtype_code(values->state, value, code, reason);
    return 0;
}

/* Computes the type code of an enum member, which is the type code of its value, a number or a
 * tuple. */
static int enum_member_code(nl_py_values *values, PyObject *member, uint32_t *code,
                            const char **reason) {
    PyObject *value = PyObject_GetAttrString(member, "value");
    int found = !value                 ? -1
                : PyTuple_Check(value) ? tuple_code(values, value, code, reason, nl_py_type_code, 0)
                                       : number_code(values, value, code, reason);
    Py_XDECREF(value);
    return found;
}

int nl_py_type_code(nl_py_values *values, PyObject *obj, uint32_t *code, const char **reason) {
    nl_py_state *state = values->state;
    *reason = no_value;
    *code = 0;
    if (nl_py_devarray_check(state, obj))
        return device_array_code(state, (nl_py_array *)obj, code, reason);
    if (PyLong_CheckExact(obj) || PyFloat_CheckExact(obj) || PyBool_Check(obj))
        return number_code(values, obj, code, reason);
    if (!nl_py_hostarray_is_exact_array(obj)) {
        if (nl_py_hostarray_is_scalar(obj))
            return numpy_scalar_code(state, obj, code, reason);
        if (PyTuple_Check(obj))
            return tuple_code(values, obj, code, reason, nl_py_type_code, 0);
        int found = none_or_dtype_code(values, obj, code, reason);
        if (found)
            return found;
        if (PyObject_TypeCheck(obj, state->enum_type))
            return enum_member_code(values, obj, code, reason);
    }
    /* tries DLPack before numbers, because a tensor with one element may be convertible to a
     * number */
    nl_py_value *v = nl_py_values_read_dlpack(values, obj);
    if (!v)
        return -1;
    if (v->found != -2)
        return find_cached_code(v, code, reason);
    if (v->kind == NL_PY_VALUE_HOST)
        return cache_code(v, array_code(state, v, code, reason), code, reason);
    if (v->kind == NL_PY_VALUE_DEVICE)
        return cache_code(v,
                          v->array ? device_array_code(state, (nl_py_array *)v->array, code, reason)
                                   : array_code(state, v, code, reason),
                          code, reason);
    if (v->object != obj)
        return nl_py_type_code(values, v->object, code, reason);
    int found = number_code(values, obj, code, reason);
    if (found || *reason != no_value)
        return found;
    found = is_type_object(obj);
    return found > 0 ? dtype_code(state, obj, code, reason) : found;
}

static int host_array_code(nl_py_state *state, const nl_py_value *v, uint32_t *code,
                           const char **reason) {
    *reason = no_mask;
    if (v->is_masked)
        return 0;
    int found = element_code(state, &v->element, v->descr, v->ndim, v->order & NL_PY_ARRAY_C,
                             v->order & NL_PY_ARRAY_F, code, reason);
    if (found > 0)
        *code = v->ndim == 0     ? scalar_code_of_array(*code)
                : v->is_readonly ? *code | NL_PY_CODE_READONLY
                                 : *code;
    return found;
}

int nl_py_typecode_of_host_value(nl_py_values *values, PyObject *obj, uint32_t *code,
                                 const char **reason) {
    nl_py_state *state = values->state;
    *code = 0;
    if (PyLong_CheckExact(obj) || PyFloat_CheckExact(obj) || PyBool_Check(obj))
        return number_code(values, obj, code, reason);
    if (!nl_py_hostarray_is_exact_array(obj) && nl_py_hostarray_is_scalar(obj)) {
        int found = numpy_scalar_code(state, obj, code, reason);
        *code = found > 0 ? scalar_code_of_array(*code) : 0;
        return found;
    }
    if (PyTuple_Check(obj))
        return tuple_code(values, obj, code, reason, nl_py_typecode_of_host_value, 0);
    nl_py_value *v = nl_py_values_read(values, obj);
    if (!v)
        return -1;
    if (v->found != -2)
        return find_cached_code(v, code, reason);
    *reason = no_device;
    if (v->kind == NL_PY_VALUE_DEVICE)
        return 0;
    if (v->kind == NL_PY_VALUE_HOST && !v->is_record)
        return cache_code(v, host_array_code(state, v, code, reason), code, reason);
    if (v->object != obj)
        return nl_py_typecode_of_host_value(values, v->object, code, reason);
    int found = number_code(values, obj, code, reason);
    if (found == 0 && *reason == no_value)
        *reason = no_host_value;
    return found;
}

void nl_py_type_code_raise_unsupported(nl_py_state *state, PyObject *value, const char *where,
                                       const char *what, const char *reason) {
    char text[360];
    PyErr_Format(reason == no_size ? PyExc_OverflowError : PyExc_TypeError,
                 "%s: %s cannot be passed to a %s: %s", where,
                 nl_py_value_describe(state, value, text, sizeof text), what, reason);
}

/* ---- functions ---- */

/* typecodes(args) -> bytes */
static PyObject *typecodes(PyObject *module, PyObject *args) {
    nl_py_state *state = nl_py_state_of(module);
    PyObject *items = PySequence_Tuple(args), *bytes = NULL;
    nl_py_values values;
    char text[40];
    const char *reason;
    if (!items)
        return NULL;
    nl_py_values_init(&values, state, NULL, NULL, 0);
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    bytes = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(uint32_t));
    for (Py_ssize_t i = 0; bytes && i < n; i++) {
        uint32_t code;
        PyObject *item = PyTuple_GET_ITEM(items, i);
        int found = nl_py_type_code(&values, item, &code, &reason);
        if (found > 0) {
            memcpy(PyBytes_AS_STRING(bytes) + i * (Py_ssize_t)sizeof code, &code, sizeof code);
            continue;
        }
        if (found == 0) {
            PyOS_snprintf(text, sizeof text, "argument %zd", i + 1);
            nl_py_type_code_raise_unsupported(state, item, text, "kernel", reason);
        }
        Py_CLEAR(bytes);
    }
    nl_py_values_clear(&values);
    Py_DECREF(items);
    return bytes;
}

static PyObject *code_object(PyObject *module, PyObject *arg) {
    nl_py_state *state = nl_py_state_of(module);
    Py_ssize_t index = PyNumber_AsSsize_t(arg, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    if (index < 1 || index > PyList_GET_SIZE(state->code_objects))
        return PyErr_Format(PyExc_IndexError, "no object has index %zd", index);
    return PyList_GetItemRef(state->code_objects, index - 1);
}

static PyMethodDef functions[] = {
    {"typecodes", typecodes, METH_O,
     "typecodes(args) -> bytes: returns a code of 32 bits, little-endian, for each value. "
     "Bits 0-7: element type; 8-13: ndim; 14-15: order (0 any, 1 C, 2 F); "
     "16-19: kind (0 value, 1 array, 4 another object); 20-31: index of an object."},
    {"code_object", code_object, METH_O,
     "code_object(index): returns the object with this index in type codes: "
     "a dtype, None, or (class, type codes of the items) for a tuple."},
    {NULL, NULL, 0, NULL}};

int nl_py_typecode_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    PyObject *enumerations = PyImport_ImportModule("enum");
    if (enumerations)
        state->enum_type = (PyTypeObject *)PyObject_GetAttrString(enumerations, "Enum");
    Py_XDECREF(enumerations);
    state->code_objects = PyList_New(0);
    state->code_indices = PyDict_New();
    if (!state->enum_type || !state->code_objects || !state->code_indices)
        return -1;
    return nl_py_state_add_functions(module, functions);
}
