/* py/reduction: the calls of ufunc.reduce, ufunc.accumulate and cuda.reduce.
 *
 * Calls with the same dtypes form a class: they have the same Reducer and the same initial value.
 * In the first call of a class, Python code determines the Reducer and the initial value. Python
 * code also handles calls with host arrays or invalid arguments, which this file does not support.
 * For all later calls of a class, this file plans the launches from the geometry of the arrays. */
#include "py/reduction.h"

#include <string.h>
#include "core/device.h"
#include "py/devcopy.h"
#include "py/devarray.h"
#include "py/keywords.h"
#include "py/launches.h"
#include "py/owner.h"
#include "py/reducer.h"
#include "py/stream.h"
#include "py/ufunc.h"
#include "py/value.h"

enum { NO_DTYPE = 255 /* none was given */ };

/* ---- classes ---- */

/* The arguments of a call, borrowed. NULL or None: not given. */
typedef struct request {
    char method; /* 'r': reduce, 'a': accumulate, 'c': cuda.reduce */
    PyObject *array, *axis, *dtype, *out, *keepdims, *initial, *where, *stream;
} request;

static int is_not_none(PyObject *value) {
    return value && value != Py_None;
}

static PyObject *write_class_key(char method, nl_dtype array, int dtype, int out) {
    return PyLong_FromLong((long)method | (long)array << 8 | (long)dtype << 16 | (long)out << 24);
}

/* Returns the nl_dtype of a dtype argument, NO_DTYPE for None, or -1 if only Python code can handle
 * the argument. */
static int dtype_argument_number(PyObject *dtype) {
    PyObject *descr = NULL;
    if (!is_not_none(dtype))
        return NO_DTYPE;
    if (nl_py_hostarray_is_descr(dtype))
        descr = Py_NewRef(dtype);
    else if (nl_py_hostarray_is_scalar_type(dtype))
        descr = nl_py_hostarray_convert_descr(dtype);
    if (!descr) {
        PyErr_Clear();
        return -1;
    }
    nl_element element = nl_py_hostarray_element_of_descr(descr);
    Py_DECREF(descr);
    return element.class == NL_ELEMENT_PLAIN ? (int)element.dtype : -1;
}

static int is_plain_device_array(const nl_py_state *state, PyObject *value) {
    const nl_py_array *a = (const nl_py_array *)value;
    return nl_py_devarray_check_exact(state, value) && a->class == NL_ELEMENT_PLAIN &&
           a->buffer->device->ordinal == nl_device_selected();
}

/* Returns a new tuple (Reducer, bytes of the initial value or None, dtype of the initial value).
 * Returns NULL without an exception if Python must make the call. */
static PyObject *find_stored_reducer(PyObject *classes, const nl_py_state *state,
                                     const request *r) {
    PyObject *found = NULL;
    int dtype = dtype_argument_number(r->dtype), out = NO_DTYPE;
    if (dtype < 0 || !is_plain_device_array(state, r->array) ||
        (r->keepdims && !PyBool_Check(r->keepdims)))
        return NULL;
    if (is_not_none(r->out)) {
        const nl_py_array *o = (const nl_py_array *)r->out;
        if (!is_plain_device_array(state, r->out) || o->flags & NL_PY_ARRAY_NO_TARGET)
            return NULL;
        out = o->dtype;
    }
    PyObject *key = write_class_key(r->method, ((nl_py_array *)r->array)->dtype, dtype, out);
    if (key && PyDict_GetItemRef(classes, key, &found) < 0)
        found = NULL;
    Py_XDECREF(key);
    return found;
}

/* Implements _note(..., array's dtype, dtype= or None, dtype of out= or None, Reducer, initial,
 * dtype of initial=). */
static PyObject *store_reducer(PyObject *classes, const nl_py_state *state, char method,
                               PyObject *const *args) {
    int array = dtype_argument_number(args[0]), dtype = dtype_argument_number(args[1]),
        out = dtype_argument_number(args[2]);
    if (array < 0 || array == NO_DTYPE || dtype < 0 || out < 0) /* calls for Python */
        return Py_NewRef(Py_None);
    if (!Py_IS_TYPE(args[3], state->reducer_type) ||
        !(args[4] == Py_None || PyBytes_Check(args[4])) ||
        (args[4] != Py_None &&
         PyBytes_GET_SIZE(args[4]) > ((nl_py_reducer *)args[3])->accumulator) ||
        !nl_py_hostarray_is_descr(args[5])) {
        PyErr_SetString(PyExc_TypeError,
                        "_note() needs a Reducer, bytes of an accumulator, and a dtype");
        return NULL;
    }
    PyObject *key = write_class_key(method, (nl_dtype)array, dtype, out);
    PyObject *value = PyTuple_Pack(3, args[3], args[4], args[5]);
    int result = key && value ? PyDict_SetItem(classes, key, value) : -1;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- planned calls ---- */

static int arrays_overlap(const nl_py_array *a, const nl_py_array *b) {
    return nl_ranges_overlap(nl_py_devarray_address_range(a), nl_py_devarray_address_range(b));
}

static int is_same_array(const nl_py_array *a, const nl_py_array *b) {
    return a->address == b->address && a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, 2 * (size_t)a->ndim * sizeof(int64_t)) == 0;
}

/* Returns whether the results of a reduction along `axes` can be written to out=. If the results
 * can be written to out=, sets `output` to the strides of the other axes. */
static int read_output(const request *r, const nl_py_reducer *reducer, uint64_t axes, int keepdims,
                       int64_t *output) {
    const nl_py_array *a = (const nl_py_array *)r->array, *o = (const nl_py_array *)r->out;
    int at = 0, kept = 0;
    int64_t count = 1;
    if (!nl_py_reducer_can_write(reducer, o))
        return 0;
    /* if `axes` contains all axes, the result is the first element of any output array */
    if (r->method == 'c' && !is_not_none(r->axis))
        return !nl_py_reducer_has_no_elements(o);
    for (int i = 0; i < a->ndim; i++) {
        int is_reduced = axes >> i & 1;
        if (is_reduced && !keepdims)
            continue;
        if (at == o->ndim || o->shape[at] != (is_reduced ? 1 : a->shape[i]))
            return 0;
        if (!is_reduced) {
            output[kept++] = nl_py_devarray_strides(o)[at];
            count *= a->shape[i];
        }
        at++;
    }
    if (r->where && arrays_overlap((const nl_py_array *)r->where, o))
        return 0;
    return at == o->ndim && ((r->method == 'c' && count == 1) || !arrays_overlap(a, o));
}

/* The initial number of a reduction. */
typedef struct start {
    const void *bytes; /* NULL: the first element */
    size_t size;
    PyObject *converted; /* object that keeps the bytes of initial= alive, or NULL */
} start;

/* Converts initial= to a number of a dtype. Returns 0 if Python code must convert initial=. */
static int read_initial(const nl_py_reducer *reducer, PyObject *number, PyObject *descr, start *s) {
    nl_layout scalar = {.ndim = 0, .itemsize = nl_py_hostarray_element_of_descr(descr).itemsize};
    nl_host_array made;
    int is_number = PyFloat_CheckExact(number) || PyLong_CheckExact(number) ||
                    PyBool_Check(number) || nl_py_hostarray_is_exact_scalar(number);
    if (!is_number || scalar.itemsize > reducer->accumulator)
        return 0;
    PyObject *given = nl_py_hostarray_from_object(number);
    s->converted = given ? nl_py_hostarray_new(descr, &scalar, NULL, NULL) : NULL;
    int is_read = s->converted && nl_py_hostarray_copy_into(s->converted, given) == 0 &&
                  nl_py_hostarray_read(s->converted, &made) == 0;
    Py_XDECREF(given);
    if (!is_read) {
        PyErr_Clear();
        return 0;
    }
    s->bytes = made.data;
    s->size = (size_t)scalar.itemsize;
    return 1;
}

/* Stores the initial number of a call in *s. `class` is the tuple that find_stored_reducer returns.
 * Returns 0 if Python code must make the call. */
static int read_initial_number(const request *r, PyObject *class, start *s) {
    PyObject *identity = PyTuple_GET_ITEM(class, 1);
    *s = (start){NULL, 0, NULL};
    if (r->initial && r->initial != Py_None)
        return read_initial((nl_py_reducer *)PyTuple_GET_ITEM(class, 0), r->initial,
                            PyTuple_GET_ITEM(class, 2), s);
    if (!r->initial && identity != Py_None) {
        s->bytes = PyBytes_AS_STRING(identity);
        s->size = (size_t)PyBytes_GET_SIZE(identity);
    }
    return s->bytes || !r->where; /* a mask may exclude all elements */
}

/* Returns a new view of the mask with the array's shape, or NULL without an exception if Python
 * code must read the mask. */
static PyObject *read_mask(const nl_py_state *state, PyObject *where, const nl_py_array *a) {
    const nl_py_array *mask = (const nl_py_array *)where;
    nl_layout layout = {.ndim = a->ndim, .itemsize = 1};
    if (!is_plain_device_array(state, where) || mask->dtype != NL_BOOL ||
        !nl_layout_broadcast(mask->ndim, mask->shape, nl_py_devarray_strides(mask), a->ndim,
                             a->shape, layout.strides))
        return NULL;
    memcpy(layout.shape, a->shape, (size_t)a->ndim * sizeof(int64_t));
    return nl_py_devarray_view(mask, mask->address, &layout);
}

/* `mask` is a view of where= in the array's shape, or NULL. */
static PyObject *reduce_with_reducer(nl_py_reducer *reducer, const start *s, PyObject *mask,
                                     const request *r) {
    const nl_py_array *a = (const nl_py_array *)r->array;
    int64_t output[NL_MAX_DIMS];
    int keepdims = r->keepdims == Py_True;
    nl_py_reduced call = {.array = r->array,
                          .where = mask,
                          .initial = s->bytes,
                          .initial_size = s->size,
                          .stream = nl_py_stream_null_if_none(r->stream),
                          .segmented = -1,
                          .output = output,
                          .divisor = 1.0};
    if (!nl_py_reducer_read_axes(r->axis, a->ndim, &call.axes) ||
        (r->method == 'r' && !reducer->reorderable && (call.axes & (call.axes - 1))))
        return NULL;
    PyObject *out;
    if (!is_not_none(r->out))
        out = nl_py_reducer_new_result(reducer, a, call.axes, keepdims, r->method == 'c', output);
    else if (read_output(r, reducer, call.axes, keepdims, output))
        out = Py_NewRef(r->out);
    else
        return NULL;
    if (out && nl_py_reducer_reduce(reducer, &call, out) < 0)
        Py_CLEAR(out);
    return out;
}

static PyObject *reduce_planned(const nl_py_state *state, PyObject *class, const request *r) {
    PyObject *mask = NULL, *result = NULL;
    start s;
    if (read_initial_number(r, class, &s)) {
        if (r->where)
            mask = read_mask(state, r->where, (const nl_py_array *)r->array);
        if (mask || !r->where)
            result = reduce_with_reducer((nl_py_reducer *)PyTuple_GET_ITEM(class, 0), &s, mask, r);
    }
    Py_XDECREF(mask);
    Py_XDECREF(s.converted);
    return result;
}

static PyObject *scan_planned(nl_py_reducer *reducer, const request *r) {
    const nl_py_array *a = (const nl_py_array *)r->array, *o = (const nl_py_array *)r->out;
    int64_t output[NL_MAX_DIMS];
    uint64_t axes;
    int axis = 0;
    if (!is_not_none(r->axis) || !nl_py_reducer_read_axes(r->axis, a->ndim, &axes) || !axes ||
        (axes & (axes - 1)))
        return NULL;
    while (!(axes >> axis & 1))
        axis++;
    PyObject *out;
    if (!is_not_none(r->out))
        out = nl_py_reducer_new_result(reducer, a, 0, 0, 0, output);
    else if (nl_py_reducer_can_write(reducer, o) && a->ndim == o->ndim &&
             memcmp(a->shape, o->shape, (size_t)a->ndim * sizeof(int64_t)) == 0 &&
             (is_same_array(a, o) || !arrays_overlap(a, o)))
        out = Py_NewRef(r->out);
    else
        return NULL;
    if (out && nl_py_reducer_scan(reducer, r->array, out, axis, NULL, 0,
                                  nl_py_stream_null_if_none(r->stream)) < 0)
        Py_CLEAR(out);
    return out;
}

/* Returns the result, or NULL without an exception if Python code must make the call. */
static PyObject *call_cached_reducer(PyObject *classes, const nl_py_state *state,
                                     const request *r) {
    const nl_py_array *a = (const nl_py_array *)r->array;
    PyObject *found = find_stored_reducer(classes, state, r), *result = NULL;
    if (!found)
        return NULL;
    nl_py_reducer *reducer = (nl_py_reducer *)PyTuple_GET_ITEM(found, 0);
    if (!nl_py_reducer_has_no_elements(a) && nl_py_reducer_can_read(reducer, a))
        result = r->method == 'a' ? scan_planned(reducer, r) : reduce_planned(state, found, r);
    Py_DECREF(found);
    return result;
}

/* ---- calls ---- */

static PyObject *call_python_method(PyObject *self, const char *method, PyObject *const *args,
                                    Py_ssize_t nargs, PyObject *keywords) {
    PyObject *bound = PyObject_GetAttrString(self, method);
    PyObject *result = bound ? PyObject_Vectorcall(bound, args, (size_t)nargs, keywords) : NULL;
    Py_XDECREF(bound);
    return result;
}

/* Reads an array of another library through the CUDA Array Interface, once per call. Returns a new
 * reference to a DeviceArray over its memory, or to the object itself. */
static PyObject *as_device_array(nl_py_state *state, PyObject *obj, PyObject *stream) {
    nl_py_value v;
    CUstream handle;
    int blocking;
    PyObject *array = NULL;
    if (nl_py_devarray_check(state, obj) || nl_py_hostarray_is_exact_array(obj))
        return Py_NewRef(obj);
    if (nl_py_stream_from_argument(state, nl_py_stream_null_if_none(stream), &handle, &blocking) <
            0 ||
        nl_py_value_read(state, obj, &v) < 0)
        return NULL;
    if (v.kind != NL_PY_VALUE_DEVICE)
        array = obj;
    else if (nl_py_value_order_stream(&v, handle, blocking) == 0)
        array = nl_py_value_get_array(state, &v);
    Py_XINCREF(array);
    nl_py_value_clear(&v);
    return array;
}

/* Copies the arguments to `changed`, with the argument `old` replaced by `new`. */
static void replace_argument(PyObject *const *args, Py_ssize_t count, const PyObject *old,
                             PyObject *new, PyObject **changed) {
    for (Py_ssize_t i = 0; i < count; i++)
        changed[i] = args[i] == old ? new : args[i];
}

/* ---- the methods of ufuncs ---- */

enum { ARRAY, AXIS, DTYPE, OUT, KEEPDIMS, INITIAL, WHERE, STREAM, PARAMETERS };
static const char *const parameters[PARAMETERS] = {"array",    "axis",    "dtype", "out",
                                                   "keepdims", "initial", "where", "stream"};

/* `takes_more` is set if the method has the parameters keepdims, initial and where. */
static int read_call_arguments(const nl_py_state *state, int takes_more, PyObject *const *args,
                               Py_ssize_t nargs, PyObject *keywords, PyObject **values) {
    if (!nl_py_keywords_match(parameters, PARAMETERS, STREAM, args, nargs, keywords, values))
        return 0;
    if (values[OUT] && PyTuple_CheckExact(values[OUT])) {
        if (PyTuple_GET_SIZE(values[OUT]) != 1 || PyTuple_GET_ITEM(values[OUT], 0) == Py_None)
            return 0;
        values[OUT] = PyTuple_GET_ITEM(values[OUT], 0);
    }
    if (!takes_more)
        return !values[KEEPDIMS] && !values[INITIAL] && !values[WHERE];
    if (values[INITIAL] == state->no_value)
        values[INITIAL] = NULL;
    if (values[WHERE] == Py_True)
        values[WHERE] = NULL;
    return 1;
}

static request make_request(char method, PyObject *const *values) {
    return (request){.method = method,
                     .array = values[ARRAY],
                     .axis = values[AXIS],
                     .dtype = values[DTYPE],
                     .out = values[OUT],
                     .keepdims = values[KEEPDIMS],
                     .initial = values[INITIAL],
                     .where = values[WHERE],
                     .stream = values[STREAM]};
}

static PyObject *reduce_on_stream(PyObject *self, PyObject *const *args, size_t nargsf,
                                  PyObject *keywords) {
    return nl_py_reduction_reduce(self, args, PyVectorcall_NARGS(nargsf), keywords);
}

static PyObject *accumulate_on_stream(PyObject *self, PyObject *const *args, size_t nargsf,
                                      PyObject *keywords) {
    return nl_py_reduction_accumulate(self, args, PyVectorcall_NARGS(nargsf), keywords);
}

static PyObject *call_reduction(PyObject *self, char method, const char *otherwise,
                                PyObject *const *args, Py_ssize_t nargs, PyObject *keywords) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    PyObject *values[PARAMETERS] = {NULL}, *changed[PARAMETERS], *array, *zero, *result;
    Py_ssize_t count = nargs + nl_py_count_keywords(keywords);
    if (nl_py_owners_run_if_needed(u->state,
                                   method == 'r' ? reduce_on_stream : accumulate_on_stream, self,
                                   args, (size_t)nargs, keywords, &result))
        return result;
    if (!read_call_arguments(u->state, method == 'r', args, nargs, keywords, values))
        return call_python_method(self, otherwise, args, nargs, keywords);
    array = as_device_array(u->state, values[ARRAY], values[STREAM]);
    if (!array)
        return NULL;
    replace_argument(args, count, values[ARRAY], array, changed);
    values[ARRAY] = array;
    zero = PyLong_FromLong(0);
    if (!values[AXIS])
        values[AXIS] = zero;
    const request r = make_request(method, values);
    result = zero ? call_cached_reducer(u->reductions, u->state, &r) : NULL;
    Py_XDECREF(zero);
    if (!result && !PyErr_Occurred())
        result = call_python_method(self, otherwise, changed, nargs, keywords);
    Py_DECREF(array);
    return result;
}

PyObject *nl_py_reduction_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords) {
    return call_reduction(self, 'r', "_reduce", args, nargs, keywords);
}

PyObject *nl_py_reduction_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *keywords) {
    return call_reduction(self, 'a', "_accumulate", args, nargs, keywords);
}

PyObject *nl_py_reduction_store_reducer(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_ufunc *u = (nl_py_ufunc *)self;
    if (nargs != 7 || !PyUnicode_Check(args[0]))
        return PyErr_Format(PyExc_TypeError,
                            "_note() accepts a method's name, the dtypes of the call, "
                            "a Reducer, bytes and a dtype");
    int is_reduce = PyUnicode_CompareWithASCIIString(args[0], "reduce") == 0;
    return store_reducer(u->reductions, u->state, is_reduce ? 'r' : 'a', args + 1);
}

/* ---- cuda.reduce ---- */

typedef struct reduction {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    /* dict from the number of a class of calls to (Reducer, initial value, dtype of the initial
     * value) */
    PyObject *classes;
} reduction;

enum { ARR, SIZE, RES, INIT, ON_STREAM, ALONG, REDUCTION_PARAMETERS };
static const char *const reduction_parameters[REDUCTION_PARAMETERS] = {"arr",  "size",   "res",
                                                                       "init", "stream", "axis"};

static request make_reduction_request(PyObject *const *values) {
    return (request){.method = 'c',
                     .array = values[ARR],
                     .axis = values[ALONG],
                     .out = values[RES],
                     .stream = values[ON_STREAM]};
}

/* Converts the result of cuda.reduce: returns None if the result was written to res=, an array if
 * axis= is given, else a number. */
static PyObject *convert_result(nl_py_state *state, const request *r, PyObject *made) {
    CUstream handle = NULL;
    PyObject *result = NULL;
    if (is_not_none(r->out))
        result = Py_NewRef(Py_None);
    else if (is_not_none(r->axis))
        result = Py_NewRef(made);
    else if (!nl_py_stream_null_if_none(r->stream) ||
             nl_py_stream_from_argument(state, r->stream, &handle, NULL) == 0)
        result = nl_py_devcopy_read_element_on((nl_py_array *)made, handle);
    Py_DECREF(made);
    return result;
}

static PyObject *reduction_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                      PyObject *keywords) {
    reduction *f = (reduction *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    Py_ssize_t count = nargs + nl_py_count_keywords(keywords);
    PyObject *values[REDUCTION_PARAMETERS] = {NULL}, *changed[REDUCTION_PARAMETERS], *made = NULL;
    PyObject *result;
    if (nl_py_owners_run_if_needed(f->state, reduction_vectorcall, self, args, nargsf, keywords,
                                   &result))
        return result;
    if (!nl_py_keywords_match(reduction_parameters, REDUCTION_PARAMETERS, REDUCTION_PARAMETERS,
                              args, nargs, keywords, values))
        return call_python_method(self, "_reduce_in_python", args, nargs, keywords);
    PyObject *array = as_device_array(f->state, values[ARR], values[ON_STREAM]);
    if (!array)
        return NULL;
    replace_argument(args, count, values[ARR], array, changed);
    values[ARR] = array;
    request r = make_reduction_request(values);
    if (!is_not_none(values[SIZE]) && !is_not_none(values[INIT]))
        made = call_cached_reducer(f->classes, f->state, &r);
    if (made)
        result = convert_result(f->state, &r, made);
    else
        result = PyErr_Occurred()
                     ? NULL
                     : call_python_method(self, "_reduce_in_python", changed, nargs, keywords);
    Py_DECREF(array);
    return result;
}

static PyObject *reduction_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                               PyObject *Py_UNUSED(keywords)) {
    nl_py_state *state = nl_py_state_of_type(type);
    reduction *f = state ? (reduction *)type->tp_alloc(type, 0) : NULL;
    if (!f)
        return NULL;
    nl_py_enable_vectorcall(type);
    f->vectorcall = reduction_vectorcall;
    f->state = state;
    f->classes = PyDict_New();
    if (!f->classes)
        Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *reduction_store_reducer(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    reduction *f = (reduction *)self;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError,
                            "_note() accepts the dtypes of arr and res, and a Reducer");
    PyObject *all[] = {args[0], Py_None, args[1], args[2], Py_None, args[0]};
    return store_reducer(f->classes, f->state, 'c', all);
}

static int reduction_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((reduction *)self)->classes);
    return 0;
}

static int reduction_clear(PyObject *self) {
    PyDict_Clear(((reduction *)self)->classes); /* concurrent calls read the dict */
    return 0;
}

static void reduction_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((reduction *)self)->classes);
    nl_py_free_object(self);
}

static PyMethodDef reduction_methods[] = {
    {"_note", (PyCFunction)(void (*)(void))reduction_store_reducer, METH_FASTCALL,
     "_note(array, res, reducer): "
     "sets the Reducer for arrays of dtype `array` and results of dtype `res` or None."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef reduction_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(reduction, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot reduction_slots[] = {
    {Py_tp_doc,
     "The base class of cuda.reduce, which plans calls with device arrays in C. "
     "_reduce_in_python handles the first call for each dtype, and calls with other arrays."},
    {Py_tp_new, reduction_new},
    {Py_tp_dealloc, reduction_dealloc},
    {Py_tp_traverse, reduction_traverse},
    {Py_tp_clear, reduction_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, reduction_methods},
    {Py_tp_members, reduction_members},
    {0, NULL}};

static PyType_Spec reduction_spec = {
    .name = "numbalite._core.Reduction",
    .basicsize = sizeof(reduction),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = reduction_slots,
};

int nl_py_reduction_exec(PyObject *module) {
    return nl_py_state_add_type(module, &reduction_spec, NULL,
                                &nl_py_state_of(module)->reduction_type);
}
