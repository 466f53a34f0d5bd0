/* py/arrayreduction: functions of NumPy's that reduce or scan device arrays, as NumPy hands them
 * on.
 *
 * The arguments are read by the names of NumPy's parameters; a call that is known (py/reduction.h)
 * is made without Python, every other one by the function in Python, which notes how it was made.
 */
#include "py/arrayreduction.h"

#include "py/devarray.h"
#include "py/reduction.h"
#include "py/ufunc.h"

/* numpy.sum, numpy.argmax, ... as they are called; the roles of their parameters. */
enum { IS_ARRAY, IS_AXIS, IS_DTYPE, IS_OUT, IS_KEEPDIMS, IS_NUMBER, ROLES, IS_OTHER = ROLES };
static const char *const role_names[ROLES] = {"a", "axis", "dtype", "out", "keepdims", "ddof"};
enum { MOST_PARAMETERS = 12 };

typedef struct array_reduction {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *known, *function, *missing; /* what stands for an argument that is not given */
    PyObject *names[MOST_PARAMETERS];     /* interned */
    uint8_t roles[MOST_PARAMETERS];
    int count, positional;
    char method;
} array_reduction;

/* Are two names the same? Keywords of calls are interned, nearly always. */
static int find_name(const array_reduction *f, PyObject *name) {
    for (int i = 0; i < f->count; i++)
        if (f->names[i] == name)
            return i;
    return -1;
}

/* Takes one argument; 0 where Python has to read the call. */
static int take(const array_reduction *f, int which, PyObject *value, PyObject **values) {
    int role = f->roles[which];
    if (value == f->missing)
        return 1;
    if (role == IS_OTHER)
        return value == Py_True || value == Py_None;
    if (values[role])
        return 0;
    values[role] = value;
    return 1;
}

static int read_function_call(const array_reduction *f, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *keywords, PyObject **values) {
    Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    if (nargs > f->positional)
        return 0;
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (!take(f, (int)i, args[i], values))
            return 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        int which = find_name(f, PyTuple_GET_ITEM(keywords, i));
        if (which < nargs || !take(f, which, args[nargs + i], values))
            return 0;
    }
    return values[IS_ARRAY] != NULL;
}

static int number_of(PyObject *value, int32_t *number) {
    int overflow;
    long found;
    if (!nl_py_reduction_gives(value))
        return 1;
    if (!PyLong_CheckExact(value))
        return 0;
    found = PyLong_AsLongAndOverflow(value, &overflow);
    *number = (int32_t)found;
    return !overflow && *number == found;
}

/* Of scans, "no axis" is the only one that there is. */
static int make_call(const array_reduction *f, PyObject *const *values, PyObject *zero,
                     nl_py_call *r) {
    *r = (nl_py_call){.method = f->method,
                      .array = values[IS_ARRAY],
                      .axis = values[IS_AXIS],
                      .dtype = values[IS_DTYPE],
                      .out = values[IS_OUT],
                      .keepdims = values[IS_KEEPDIMS]};
    if (!nl_py_array_check_exact(f->state, r->array) || !number_of(values[IS_NUMBER], &r->number))
        return 0;
    if (f->method == 'a' && !nl_py_reduction_gives(r->axis)) {
        r->axis = zero;
        return ((nl_py_array *)r->array)->ndim == 1;
    }
    return 1;
}

static PyObject *array_reduction_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                            PyObject *keywords) {
    array_reduction *f = (array_reduction *)self;
    PyObject *values[ROLES] = {NULL}, *result = NULL, *zero = PyLong_FromLong(0);
    nl_py_call r;
    if (!zero)
        return NULL;
    if (read_function_call(f, args, PyVectorcall_NARGS(nargsf), keywords, values) &&
        make_call(f, values, zero, &r))
        result = nl_py_reduction_repeat(f->known, f->state, &r);
    if (!result && !PyErr_Occurred())
        result = PyObject_Vectorcall(f->function, args, nargsf, keywords);
    Py_DECREF(zero);
    return result;
}

static int read_names(array_reduction *f, PyObject *names) {
    f->count = (int)PyTuple_GET_SIZE(names);
    if (f->count > MOST_PARAMETERS || f->positional > f->count) {
        PyErr_Format(PyExc_ValueError, "a reduction has at most %d parameters", MOST_PARAMETERS);
        f->count = 0;
        return -1;
    }
    for (int i = 0; i < f->count; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int role = 0;
        if (!PyUnicode_Check(name)) {
            PyErr_SetString(PyExc_TypeError, "a parameter's name is text");
            f->count = i;
            return -1;
        }
        while (role < ROLES && PyUnicode_CompareWithASCIIString(name, role_names[role]))
            role++;
        f->roles[i] = (uint8_t)role;
        f->names[i] = Py_NewRef(name);
        PyUnicode_InternInPlace(&f->names[i]);
    }
    return 0;
}

static PyObject *array_reduction_new(PyTypeObject *type, PyObject *args,
                                     PyObject *Py_UNUSED(keywords)) {
    PyObject *function, *names, *missing, *ufunc = Py_None;
    int positional, method = 'f';
    nl_py_state *state = nl_py_state_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "OO!iO|OC:ArrayReduction", &function, &PyTuple_Type,
                                    &names, &positional, &missing, &ufunc, &method))
        return NULL;
    if (ufunc != Py_None && !PyObject_TypeCheck(ufunc, state->ufunc_type))
        return PyErr_Format(PyExc_TypeError, "the calls of a Ufunc are known, not of %.80s",
                            Py_TYPE(ufunc)->tp_name);
    array_reduction *f = (array_reduction *)type->tp_alloc(type, 0);
    if (!f)
        return NULL;
    f->vectorcall = array_reduction_vectorcall;
    f->state = state;
    f->method = (char)method;
    f->positional = positional;
    f->function = Py_NewRef(function);
    f->missing = Py_NewRef(missing);
    f->known = ufunc == Py_None ? PyDict_New() : Py_NewRef(((nl_py_ufunc *)ufunc)->reductions);
    if (!f->known || read_names(f, names) < 0)
        Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *array_reduction_note(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    array_reduction *f = (array_reduction *)self;
    nl_py_call r = {.method = f->method};
    if (nargs != 7)
        return PyErr_Format(PyExc_TypeError, "_note() takes a plan, the array that was written, "
                                             "and a, axis, dtype, keepdims, ddof of the call");
    r.array = args[2];
    r.axis = args[3];
    r.dtype = args[4];
    r.keepdims = args[5] == f->missing ? NULL : args[5];
    if (number_of(args[6], &r.number) &&
        nl_py_reduction_note(f->known, f->state, &r, args[0], args[1]) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

static int array_reduction_traverse(PyObject *self, visitproc visit, void *arg) {
    array_reduction *f = (array_reduction *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->known);
    Py_VISIT(f->function);
    return 0;
}

static int array_reduction_clear(PyObject *self) {
    PyDict_Clear(((array_reduction *)self)->known); /* it stays: calls read it */
    return 0;
}

static void array_reduction_dealloc(PyObject *self) {
    array_reduction *f = (array_reduction *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < f->count; i++)
        Py_XDECREF(f->names[i]);
    Py_XDECREF(f->known);
    Py_XDECREF(f->function);
    Py_XDECREF(f->missing);
    nl_py_free(self);
}

static PyMethodDef array_reduction_methods[] = {
    {"_note", (PyCFunction)(void (*)(void))array_reduction_note, METH_FASTCALL,
     "_note(plan, made, a, axis, dtype, keepdims, ddof): how a call was made, and the array that "
     "it "
     "wrote."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef array_reduction_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(array_reduction, vectorcall), Py_READONLY,
     NULL},
    {"__wrapped__", Py_T_OBJECT_EX, offsetof(array_reduction, function), Py_READONLY,
     "The function that makes the calls that are not known."},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot array_reduction_slots[] = {
    {Py_tp_doc,
     "ArrayReduction(function, parameters, positional, missing, ufunc=None, method=\"f\"): a "
     "function "
     "of device arrays by NumPy's parameters, of which the first ones may be positional. Calls of "
     "a "
     "known geometry are made here, the others by the function. With a ufunc, known are those that "
     "its reduce (\"r\") or accumulate (\"a\") knows."},
    {Py_tp_new, array_reduction_new},
    {Py_tp_dealloc, array_reduction_dealloc},
    {Py_tp_traverse, array_reduction_traverse},
    {Py_tp_clear, array_reduction_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, array_reduction_methods},
    {Py_tp_members, array_reduction_members},
    {0, NULL}};

static PyType_Spec array_reduction_spec = {
    .name = "numbalite._core.ArrayReduction",
    .basicsize = sizeof(array_reduction),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = array_reduction_slots,
};

int nl_py_arrayreduction_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    return nl_py_add_type(module, &array_reduction_spec, NULL, &state->array_reduction_type);
}
