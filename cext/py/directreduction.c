/* py/directreduction: the type DirectReduction, which plans calls of numpy.mean, numpy.any and
 * similar functions without Python code.
 *
 * The kernels of such a function depend only on the dtype of the array. In the first call with a
 * dtype, the Python function chooses the Reducer and adds it to the DirectReduction. Functions that
 * reduce by a ufunc, such as numpy.sum, use the ufunc's own Reducers instead. */
#include "py/devarray.h"
#include "py/keywords.h"
#include "py/reducer.h"
#include "py/reduction.h"

enum { MAX_PARAMETERS = 10, NO_PARAMETER = -1 };

typedef struct direct_reduction {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *parameters; /* tuple of str */
    const char *names[MAX_PARAMETERS];
    int count, positional;             /* number of parameters; number of positional parameters */
    unsigned none;                     /* bit set of the parameters whose default is None */
    int axis, keepdims, ddof, where;   /* indices of these parameters, or NO_PARAMETER */
    int divides, in_c_order, one_axis; /* see direct_reduction_slots */
    PyObject *reducers;                /* dict from the number of a dtype to its Reducer */
    PyObject *ufunc;                   /* ufunc whose reduce makes the call, or NULL */
} direct_reduction;

/* ---- arguments ---- */

/* Returns whether the argument has the parameter's default value: None for dtype= and out=, and
 * True for where=. */
static int is_default(const direct_reduction *f, int which, PyObject *value) {
    return !value || value == f->state->no_value || (value == Py_None && f->none >> which & 1) ||
           (value == Py_True && which == f->where);
}

/* Reads keepdims= to *keepdims and ddof= to *ddof. Returns 0 if Python code must make the call:
 * these arguments have other types, or there are other arguments than axis=. */
static int read_options(const direct_reduction *f, PyObject *const *values, int *keepdims,
                        long *ddof) {
    for (int i = 1; i < f->count; i++) {
        PyObject *value = values[i];
        if (i == f->axis || is_default(f, i, value))
            continue;
        if (i == f->keepdims && PyBool_Check(value))
            *keepdims = value == Py_True;
        else if (i == f->ddof && PyLong_CheckExact(value))
            *ddof = PyLong_AsLong(value);
        else
            return 0;
    }
    if (*ddof == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return !f->one_axis || !values[f->axis] || !PyTuple_Check(values[f->axis]);
}

/* ---- calls ---- */

static PyObject *reduce_by_ufunc(const direct_reduction *f, PyObject *array, PyObject *axis,
                                 int keepdims) {
    PyObject *args[] = {array, axis ? axis : Py_None, Py_None, Py_None,
                        keepdims ? Py_True : Py_False};
    return nl_py_reduction_reduce(f->ufunc, args, 5, NULL);
}

/* Returns a new reference to the Reducer for the array's dtype. Returns NULL without an exception
 * if the first call with this dtype is still to come, or if Python code must read the array. */
static PyObject *find_reducer(const direct_reduction *f, PyObject *object) {
    const nl_py_array *a = (const nl_py_array *)object;
    PyObject *found = NULL;
    if (!nl_py_devarray_check_exact(f->state, object) || a->class != NL_ELEMENT_PLAIN ||
        a->buffer->device->ordinal != nl_device_selected())
        return NULL;
    PyObject *key = PyLong_FromLong((long)a->dtype);
    if (key && PyDict_GetItemRef(f->reducers, key, &found) < 0)
        found = NULL;
    Py_XDECREF(key);
    return found;
}

/* Returns the number of elements that are reduced to one result, minus ddof, or 0 if that is
 * negative. An invalid axis= has no elements. */
static double degrees_of_freedom(const nl_py_array *a, PyObject *axis, long ddof) {
    uint64_t axes;
    int64_t count = 1;
    if (!nl_py_reducer_read_axes(axis, a->ndim, &axes))
        return 0.0;
    for (int i = 0; i < a->ndim; i++)
        count *= axes >> i & 1 ? a->shape[i] : 1;
    return count > ddof ? (double)(count - ddof) : 0.0;
}

/* Returns the result, or NULL without an exception if Python code must make the call. */
static PyObject *reduce_directly(const direct_reduction *f, PyObject *const *values) {
    int keepdims = 0;
    long ddof = 0;
    if (!read_options(f, values, &keepdims, &ddof))
        return NULL;
    PyObject *axis = f->axis == NO_PARAMETER ? NULL : values[f->axis];
    if (f->ufunc)
        return nl_py_devarray_check_exact(f->state, values[0])
                   ? reduce_by_ufunc(f, values[0], axis, keepdims)
                   : NULL;
    PyObject *reducer = find_reducer(f, values[0]), *result = NULL;
    if (reducer)
        result = nl_py_reducer_reduce_to_new(
            (nl_py_reducer *)reducer, values[0], axis, keepdims, f->in_c_order,
            f->divides ? degrees_of_freedom((nl_py_array *)values[0], axis, ddof) : 1.0);
    Py_XDECREF(reducer);
    return result;
}

static PyObject *direct_reduction_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                             PyObject *keywords) {
    direct_reduction *f = (direct_reduction *)self;
    PyObject *values[MAX_PARAMETERS] = {NULL}, *result = NULL;
    if (nl_py_keywords_match(f->names, f->count, f->positional, args, PyVectorcall_NARGS(nargsf),
                             keywords, values))
        result = reduce_directly(f, values);
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}

/* ---- type ---- */

static int read_names(direct_reduction *f) {
    f->axis = f->keepdims = f->ddof = f->where = NO_PARAMETER;
    f->count = (int)PyTuple_GET_SIZE(f->parameters);
    if (f->count > MAX_PARAMETERS) {
        PyErr_Format(PyExc_ValueError, "at most %d parameters, not %d", MAX_PARAMETERS, f->count);
        return -1;
    }
    for (int i = 0; i < f->count; i++) {
        PyObject *name = PyTuple_GET_ITEM(f->parameters, i);
        f->names[i] = PyUnicode_AsUTF8(name);
        if (!f->names[i])
            return -1;
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0)
            f->axis = i;
        else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0)
            f->keepdims = i;
        else if (PyUnicode_CompareWithASCIIString(name, "ddof") == 0)
            f->ddof = i;
        else if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0 ||
                 PyUnicode_CompareWithASCIIString(name, "out") == 0)
            f->none |= 1u << i;
        else if (PyUnicode_CompareWithASCIIString(name, "where") == 0)
            f->where = i;
    }
    return 0;
}

static PyObject *direct_reduction_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"parameters", "positional", "divides", "in_c_order", "one_axis", NULL};
    PyObject *parameters;
    int positional, divides = 0, in_c_order = 0, one_axis = 0;
    nl_py_state *state = nl_py_state_of_type(type);
    if (!state || !PyArg_ParseTupleAndKeywords(args, keywords, "O!i|ppp:DirectReduction", names,
                                               &PyTuple_Type, &parameters, &positional, &divides,
                                               &in_c_order, &one_axis))
        return NULL;
    direct_reduction *f = (direct_reduction *)type->tp_alloc(type, 0);
    if (!f)
        return NULL;
    f->vectorcall = direct_reduction_vectorcall;
    f->state = state;
    f->parameters = Py_NewRef(parameters);
    f->positional = positional;
    f->divides = divides;
    f->in_c_order = in_c_order;
    f->one_axis = one_axis;
    f->reducers = PyDict_New();
    if (!f->reducers || read_names(f) < 0)
        Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *add_reducer(PyObject *self, PyObject *reducer) {
    direct_reduction *f = (direct_reduction *)self;
    if (!Py_IS_TYPE(reducer, f->state->reducer_type))
        return PyErr_Format(PyExc_TypeError, "add() accepts a Reducer, not %.80s",
                            Py_TYPE(reducer)->tp_name);
    PyObject *key = PyLong_FromLong((long)((nl_py_reducer *)reducer)->stored);
    int result = key ? PyDict_SetItem(f->reducers, key, reducer) : -1;
    Py_XDECREF(key);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *set_ufunc(PyObject *self, PyObject *ufunc) {
    direct_reduction *f = (direct_reduction *)self;
    if (!PyObject_TypeCheck(ufunc, f->state->ufunc_type))
        return PyErr_Format(PyExc_TypeError, "set_ufunc() accepts a ufunc, not %.80s",
                            Py_TYPE(ufunc)->tp_name);
    if (!f->ufunc) /* concurrent calls read it */
        f->ufunc = Py_NewRef(ufunc);
    return Py_NewRef(Py_None);
}

static int direct_reduction_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((direct_reduction *)self)->reducers);
    Py_VISIT(((direct_reduction *)self)->ufunc);
    return 0;
}

static int direct_reduction_clear(PyObject *self) {
    PyDict_Clear(((direct_reduction *)self)->reducers); /* concurrent calls read the dict */
    return 0;
}

static void direct_reduction_dealloc(PyObject *self) {
    direct_reduction *f = (direct_reduction *)self;
    PyObject_GC_UnTrack(self);
    Py_DECREF(f->parameters);
    Py_XDECREF(f->reducers);
    Py_XDECREF(f->ufunc);
    nl_py_free_object(self);
}

static PyMethodDef direct_reduction_methods[] = {
    {"add", add_reducer, METH_O,
     "add(reducer): makes later calls with arrays of the reducer's dtype use the reducer."},
    {"set_ufunc", set_ufunc, METH_O, "set_ufunc(ufunc): makes later calls use ufunc.reduce."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef direct_reduction_members[] = {{"__vectorcalloffset__", Py_T_PYSSIZET,
                                                  offsetof(direct_reduction, vectorcall),
                                                  Py_READONLY, NULL},
                                                 {NULL, 0, 0, 0, NULL}};

static PyType_Slot direct_reduction_slots[] = {
    {Py_tp_doc,
     "DirectReduction(parameters, positional, divides=False, in_c_order=False, one_axis=False): "
     "calls a function of NumPy that reduces an array, without Python code. "
     "parameters: the names of the function's parameters. "
     "positional: how many of the first parameters may be passed by position. "
     "divides: the results are divided by the number of elements minus ddof. "
     "in_c_order: the results are in C order, instead of the array's order in memory. "
     "one_axis: axis= must not be a tuple. "
     "A call returns NotImplemented if there is no Reducer for the dtype, "
     "or if there are arguments other than axis, keepdims and ddof."},
    {Py_tp_new, direct_reduction_new},
    {Py_tp_dealloc, direct_reduction_dealloc},
    {Py_tp_traverse, direct_reduction_traverse},
    {Py_tp_clear, direct_reduction_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, direct_reduction_methods},
    {Py_tp_members, direct_reduction_members},
    {0, NULL}};

static PyType_Spec direct_reduction_spec = {
    .name = "numbalite._core.DirectReduction",
    .basicsize = sizeof(direct_reduction),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = direct_reduction_slots,
};

int nl_py_directreduction_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    return nl_py_state_add_type(module, &direct_reduction_spec, NULL, &state->directreduction_type);
}
