/* py/arrayufunc: DeviceArray.__array_ufunc__, which NumPy calls when one of its ufuncs has a device
 * array as an argument.
 *
 * The dict `counterparts` maps NumPy's ufuncs to numbalite's ufuncs. A call with only arrays and
 * numbers directly calls the method of the same name on numbalite's ufunc.
 * numbalite/ufuncs/protocols.py handles any other call, and fills the dict. */
#include "py/arrayufunc.h"

#include "py/override.h"
#include "py/owner.h"

int nl_py_arrayufunc_is_number(PyObject *obj) {
    return PyLong_CheckExact(obj) || PyFloat_CheckExact(obj) || PyComplex_CheckExact(obj) ||
           PyBool_Check(obj) || nl_py_hostarray_is_scalar(obj);
}

int nl_py_arrayufunc_is_array_or_number(const nl_py_state *state, PyObject *obj) {
    return nl_py_override_is_plain(state, obj) || nl_py_arrayufunc_is_number(obj);
}

/* Returns whether all inputs, and all outputs in the tuple out=, are plain arrays or numbers. */
static int are_operands_plain(const nl_py_state *state, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *keywords) {
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (!nl_py_arrayufunc_is_array_or_number(state, args[i]))
            return 0;
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *out = args[nargs + i];
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, i), "out") != 0)
            continue;
        for (Py_ssize_t j = 0; PyTuple_Check(out) && j < PyTuple_GET_SIZE(out); j++)
            if (!nl_py_arrayufunc_is_array_or_number(state, PyTuple_GET_ITEM(out, j)))
                return 0;
    }
    return 1;
}

static PyObject *call_python_protocol(const char *name, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *keywords) {
    PyObject *module = PyImport_ImportModule("numbalite.ufuncs.protocols");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyObject *result =
        function ? PyObject_Vectorcall(function, args, (size_t)nargs, keywords) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

static PyObject *call_method(PyObject *counterpart, PyObject *method, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *keywords) {
    if (PyUnicode_CompareWithASCIIString(method, "__call__") == 0)
        return PyObject_Vectorcall(counterpart, args, (size_t)nargs, keywords);
    PyObject *bound = PyObject_GetAttr(counterpart, method);
    PyObject *result = bound ? PyObject_Vectorcall(bound, args, (size_t)nargs, keywords) : NULL;
    Py_XDECREF(bound);
    return result;
}

/* After an OverflowError: returns the result of a comparison with a number outside the range of
 * the array's dtype. For any other call, keeps the exception and returns NULL. */
static PyObject *compare_with_out_of_range_number(PyObject *const *args, Py_ssize_t nargs,
                                                  PyObject *keywords) {
    nl_py_exception taken;
    PyErr_Fetch(&taken.type, &taken.error, &taken.traceback);
    return nl_py_error_replace(taken,
                               call_python_protocol("compare_out_of_range", args, nargs, keywords));
}

static PyObject *array_ufunc_vectorcall(PyObject *self, PyObject *const *args, size_t nargs,
                                        PyObject *keywords) {
    return nl_py_array_ufunc(self, args, (Py_ssize_t)nargs, keywords);
}

PyObject *nl_py_array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *keywords) {
    nl_py_state *state = ((nl_py_array *)self)->state;
    PyObject *counterpart = NULL, *result;
    if (nl_py_owners_run_if_needed(state, array_ufunc_vectorcall, self, args, (size_t)nargs,
                                   keywords, &result))
        return result;
    if (nargs < 3 || !PyUnicode_Check(args[1]))
        return PyErr_Format(
            PyExc_TypeError,
            "__array_ufunc__ takes a ufunc, a method's name and the ufunc's arguments");
    if (are_operands_plain(state, args + 2, nargs - 2, keywords) &&
        PyDict_GetItemRef(state->counterparts, args[0], &counterpart) < 0)
        return NULL;
    result = counterpart ? call_method(counterpart, args[1], args + 2, nargs - 2, keywords)
                         : call_python_protocol("array_ufunc", args, nargs, keywords);
    Py_XDECREF(counterpart);
    if (!result && PyErr_ExceptionMatches(PyExc_OverflowError))
        return compare_with_out_of_range_number(args, nargs, keywords);
    return result;
}

int nl_py_arrayufunc_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->counterparts = PyDict_New();
    return state->counterparts == NULL
               ? -1
               : PyModule_AddObjectRef(module, "ufunc_counterparts", state->counterparts);
}
