/* py/arrayfunction: DeviceArray.__array_function__: NumPy's functions other than ufuncs.
 *
 * The dict `array_functions` maps NumPy's functions to numbalite's functions. If no argument has a
 * type of another library, the numbalite function is called directly. numbalite/ndarray/dispatch.py
 * handles any other call, and fills the dict. */
#include "py/arrayfunction.h"

#include "py/devarray.h"
#include "py/owner.h"

static PyObject *call_python_dispatch(PyObject *const *args) {
    PyObject *module = PyImport_ImportModule("numbalite.ndarray.dispatch");
    PyObject *function = module ? PyObject_GetAttrString(module, "array_function") : NULL;
    PyObject *result = function ? PyObject_Vectorcall(function, args, 4, NULL) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

static PyObject *run_function(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *Py_UNUSED(keywords)) {
    return nl_py_array_function(self, args, PyVectorcall_NARGS(nargsf));
}

/* Returns whether the function must run on another device: a function without array arguments whose
 * `like=` is self runs on the device of self. */
static int must_run_on_device_of_self(nl_py_state *state, PyObject *self, PyObject *const *args) {
    if (!nl_py_owner_is_on_other_device(state, self))
        return 0;
    PyObject *named = PyDict_Values(args[3]);
    PyObject *all[] = {args[2], named};
    int is_open = named && nl_py_owners_find_device(state, all, 2) == NL_PY_DEVICE_IS_OPEN;
    Py_XDECREF(named);
    return named ? is_open : -1;
}

PyObject *nl_py_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    nl_py_state *state = ((nl_py_array *)self)->state;
    PyObject *function = NULL, *result;
    if (nargs != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3]))
        return PyErr_Format(PyExc_TypeError, "__array_function__ takes a function, types, "
                                             "a tuple of arguments and a dict of keywords");
    int like = must_run_on_device_of_self(state, self, args);
    if (like)
        return like < 0
                   ? NULL
                   : nl_py_owners_call_on_device(((nl_py_array *)self)->buffer->device->ordinal,
                                                 run_function, self, args, (size_t)nargs, NULL);
    if (PyTuple_Check(args[1]) && PyTuple_GET_SIZE(args[1]) == 1 &&
        PyDict_GetItemRef(state->functions, args[0], &function) < 0)
        return NULL;
    result = function ? PyObject_Call(function, args[2], args[3]) : call_python_dispatch(args);
    Py_XDECREF(function);
    return result;
}

int nl_py_arrayfunction_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->functions = PyDict_New();
    return state->functions == NULL
               ? -1
               : PyModule_AddObjectRef(module, "array_functions", state->functions);
}
