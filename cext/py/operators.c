/* py/operators: implements the operators of device arrays by ufuncs: a + b calls np.add(a, b). For
 * arrays and numbers, the device version of the ufunc is called directly, without NumPy's dispatch.
 * For other operands (lists, other libraries' arrays, classes that refuse ufuncs), the rules of
 * numpy.lib.mixins.NDArrayOperatorsMixin apply. */
#include "py/operators.h"

#include "py/arrayufunc.h"
#include "py/devarray.h"

/* Indices of the ufuncs in state->operators. */
enum {
#define PLACE(slot, ufunc) AT_##slot,
    NL_IN_PLACE_OPERATORS(PLACE) NL_UNARY_OPERATORS(PLACE)
#undef PLACE
        AT_divmod,
    AT_power,
    AT_square,
    AT_reciprocal,
    AT_sqrt,
    AT_matmul,
    AT_comparisons, /* in the order of Py_LT, Py_LE, ... */
};
static const char *const names[] = {
#define NAME(slot, ufunc) #ufunc,
    NL_IN_PLACE_OPERATORS(NAME) NL_UNARY_OPERATORS(NAME)
#undef NAME
        "divmod",
    "power",
    "square",
    "reciprocal",
    "sqrt",
    "matmul",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
};
enum { COUNT = sizeof names / sizeof *names };

/* The names of Python's reflected methods. The name is NULL if NumPy's ufunc calls no reflected
 * operator, as for divmod. */
static const char *const exchanged[COUNT] = {
    [AT_add] = "__radd__",
    [AT_subtract] = "__rsub__",
    [AT_multiply] = "__rmul__",
    [AT_true_divide] = "__rtruediv__",
    [AT_floor_divide] = "__rfloordiv__",
    [AT_remainder] = "__rmod__",
    [AT_lshift] = "__rlshift__",
    [AT_rshift] = "__rrshift__",
    [AT_and] = "__rand__",
    [AT_or] = "__ror__",
    [AT_xor] = "__rxor__",
    [AT_power] = "__rpow__",
    [AT_comparisons + Py_LT] = "__gt__",
    [AT_comparisons + Py_LE] = "__ge__",
    [AT_comparisons + Py_GT] = "__lt__",
    [AT_comparisons + Py_GE] = "__le__",
};

static int is_array(PyObject *object) {
    const nl_py_state *state = nl_py_state_of_object(object);
    if (!state)
        PyErr_Clear();
    return state && nl_py_devarray_check(state, object);
}

/* Returns the operand that is a device array; at least one operand is a device array. */
static PyObject *device_array_operand(PyObject *left, PyObject *right) {
    if (Py_TYPE(left) == Py_TYPE(right) || nl_py_arrayufunc_is_number(right))
        return left;
    return !nl_py_arrayufunc_is_number(left) && is_array(left) ? left : right;
}

/* Returns whether the object refuses ufuncs (__array_ufunc__ = None), so that its own operators
 * must be tried; -1 with an exception. */
static int has_refused_ufuncs(const nl_py_state *state, PyObject *object) {
    PyObject *handler = NULL;
    int found =
        nl_py_lookup_attribute(object, PyTuple_GET_ITEM(state->override_names, 0), &handler);
    Py_XDECREF(handler);
    return found > 0 ? handler == Py_None : found;
}

/* Calls the ufunc with index `place` with one to three arguments; a third argument is the
 * output. */
static PyObject *apply_operator(PyObject *self, int place, PyObject *const *args,
                                Py_ssize_t count) {
    const nl_py_state *state = ((nl_py_array *)self)->state;
    PyObject *ufunc = PyTuple_GET_ITEM(state->operators, place);
    PyObject *given[5] = {ufunc, PyTuple_GET_ITEM(state->override_names, 2)};
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!nl_py_arrayufunc_is_array_or_number(state, args[i]))
            return PyObject_Vectorcall(ufunc, args, (size_t)count, NULL);
        given[2 + i] = args[i];
    }
    return nl_py_array_ufunc(self, given, 2 + count, NULL);
}

/* After a TypeError of the ufunc: returns the result of the reflected operator of `other`, which
 * NumPy would call for each element. If `other` does not define the reflected operator, the
 * exception remains set. */
static PyObject *call_reflected_operator(int place, PyObject *self, PyObject *other) {
    nl_py_exception taken;
    if (!exchanged[place] || !PyErr_ExceptionMatches(PyExc_TypeError))
        return NULL;
    PyErr_Fetch(&taken.type, &taken.error, &taken.traceback);
    PyObject *result = PyObject_CallMethod(self, "_call_method_of", "Os", other, exchanged[place]);
    if (result != Py_NotImplemented) {
        Py_XDECREF(taken.type);
        Py_XDECREF(taken.error);
        Py_XDECREF(taken.traceback);
        return result;
    }
    Py_DECREF(result);
    PyErr_Restore(taken.type, taken.error, taken.traceback);
    return NULL;
}

static PyObject *apply_binary_operator(int place, PyObject *left, PyObject *right) {
    PyObject *self = device_array_operand(left, right), *other = self == left ? right : left;
    PyObject *args[] = {left, right};
    const nl_py_state *state = ((nl_py_array *)self)->state;
    int is_ours = nl_py_arrayufunc_is_array_or_number(state, other),
        refused = is_ours ? 0 : has_refused_ufuncs(state, other);
    if (refused)
        return refused < 0 ? NULL : Py_NewRef(Py_NotImplemented);
    PyObject *result = apply_operator(self, place, args, 2);
    return result || is_ours || self != left ? result : call_reflected_operator(place, self, other);
}

static PyObject *apply_in_place(int place, PyObject *self, PyObject *other) {
    PyObject *args[] = {self, other, self};
    return apply_operator(self, place, args, 3);
}

#define BINARY(slot, ufunc) \
    PyObject *nl_py_operators_##slot(PyObject *left, PyObject *right) { \
        return apply_binary_operator(AT_##slot, left, right); \
    } \
    PyObject *nl_py_operators_inplace_##slot(PyObject *self, PyObject *other) { \
        return apply_in_place(AT_##slot, self, other); \
    }
#define UNARY(slot, ufunc) \
    PyObject *nl_py_operators_##slot(PyObject *self) { \
        return apply_operator(self, AT_##slot, &self, 1); \
    }
NL_IN_PLACE_OPERATORS(BINARY)
NL_UNARY_OPERATORS(UNARY)

PyObject *nl_py_operators_divmod(PyObject *left, PyObject *right) {
    return apply_binary_operator(AT_divmod, left, right);
}

/* Returns the ufunc for a power. As in NumPy, some Python numbers as exponents select a unary
 * ufunc of the base: square, reciprocal or sqrt. If the exponent is a Python number, the base must
 * be a device array. */
static int choose_power_ufunc(PyObject *base, PyObject *exponent) {
    int overflow;
    if (!PyLong_CheckExact(exponent) && !PyFloat_CheckExact(exponent))
        return AT_power;
    int is_inexact = ((nl_py_array *)base)->dtype >= NL_FLOAT16;
    if (PyFloat_CheckExact(exponent))
        return is_inexact && PyFloat_AS_DOUBLE(exponent) == 0.5 ? AT_sqrt : AT_power;
    long number = PyLong_AsLongAndOverflow(exponent, &overflow);
    return number == 2                               ? AT_square
           : number == -1 && !overflow && is_inexact ? AT_reciprocal
                                                     : AT_power;
}

PyObject *nl_py_operators_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    if (modulus != Py_None)
        return Py_NewRef(Py_NotImplemented);
    int place = choose_power_ufunc(base, exponent);
    return place == AT_power ? apply_binary_operator(place, base, exponent)
                             : apply_operator(base, place, &base, 1);
}

PyObject *nl_py_operators_inplace_power(PyObject *self, PyObject *exponent, PyObject *modulus) {
    if (modulus != Py_None)
        return Py_NewRef(Py_NotImplemented);
    int place = choose_power_ufunc(self, exponent);
    PyObject *args[] = {self, self};
    return place == AT_power ? apply_in_place(place, self, exponent)
                             : apply_operator(self, place, args, 2);
}

PyObject *nl_py_operators_inplace_matmul(PyObject *self, PyObject *other) {
    return apply_in_place(AT_matmul, self, other);
}

/* Returns the result of == and != for operands without a ufunc: as in NumPy, no element equals
 * None, a string or the like. If `other` has another type, the exception that is set is raised
 * again. */
static PyObject *compare_with_non_numeric(PyObject *self, PyObject *other, int which) {
    nl_py_exception taken;
    PyErr_Fetch(&taken.type, &taken.error, &taken.traceback);
    return nl_py_error_replace(taken,
                               PyObject_CallMethod(self, "_compared_with_no_number", "OO", other,
                                                   which == Py_NE ? Py_True : Py_False));
}

PyObject *nl_py_operators_compare(PyObject *self, PyObject *other, int which) {
    PyObject *result = apply_binary_operator(AT_comparisons + which, self, other);
    if (!result && (which == Py_EQ || which == Py_NE) && PyErr_ExceptionMatches(PyExc_TypeError))
        return compare_with_non_numeric(self, other, which);
    return result;
}

Py_hash_t nl_py_operators_hash(PyObject *self) {
    return PyBaseObject_Type.tp_hash(self);
}

int nl_py_operators_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    PyObject *numpy = PyImport_ImportModule("numpy");
    state->operators = numpy ? PyTuple_New(COUNT) : NULL;
    for (int i = 0; state->operators && i < COUNT; i++) {
        PyObject *ufunc = PyObject_GetAttrString(numpy, names[i]);
        if (!ufunc)
            Py_CLEAR(state->operators);
        else
            PyTuple_SET_ITEM(state->operators, i, ufunc);
    }
    Py_XDECREF(numpy);
    return state->operators ? 0 : -1;
}
