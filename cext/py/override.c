/* py/override: the protocol of NEP 13. A call on array-like objects without array memory (lazy
 * arrays, data frames, quantities) is passed to their library, which makes calls on the arrays that
 * they contain. Objects with device memory are excluded, because the __array_ufunc__ of their
 * library does not support numbalite's ufuncs. */
#include "py/override.h"

#include <string.h>

#define MOST 64 /* max. operands with a handler */

typedef struct asked {
    int count;
    /* borrowed references to one operand of each type, subclasses before their bases */
    PyObject *objects[MOST];
    PyObject *handlers[MOST]; /* strong */
} asked;

/* Finds the handler of the object's type. Returns 1 and a new reference to the handler, 0 if the
 * type defines no handler, -1 with an exception. */
static int find_ufunc_handler(const nl_py_state *state, PyObject *obj, PyObject **handler) {
    PyObject *name = PyTuple_GET_ITEM(state->override_names, 0), *usual, *memory;
    PyObject *type = (PyObject *)Py_TYPE(obj);
    *handler = NULL;
    if (nl_py_override_is_plain(state, obj) || nl_py_hostarray_is_scalar(obj) ||
        PyUnicode_Check(obj) || PyBool_Check(obj) || PyList_CheckExact(obj) ||
        PyTuple_CheckExact(obj) || nl_py_devarray_check(state, obj))
        return 0;
    int found = nl_py_lookup_attribute(type, name, handler);
    if (found <= 0)
        return found;
    found = nl_py_lookup_attribute(nl_py_hostarray_type(), name, &usual);
    int is_usual = found > 0 && usual == *handler;
    if (found > 0)
        Py_DECREF(usual);
    if (found >= 0 && !is_usual) {
        found = nl_py_lookup_attribute(type, PyTuple_GET_ITEM(state->override_names, 1), &memory);
        if (found == 0)
            return 1;
        if (found > 0)
            Py_DECREF(memory);
    }
    Py_CLEAR(*handler);
    return found < 0 ? -1 : 0;
}

static int add_handler(const nl_py_state *state, PyObject *obj, asked *a) {
    PyObject *handler;
    int place = a->count;
    int found = find_ufunc_handler(state, obj, &handler);
    if (found <= 0)
        return found;
    for (int i = 0; i < a->count; i++) {
        if (Py_TYPE(a->objects[i]) == Py_TYPE(obj))
            place = -1;
        else if (place > i && PyType_IsSubtype(Py_TYPE(obj), Py_TYPE(a->objects[i])))
            place = i;
    }
    if (place < 0 || a->count == MOST) {
        Py_DECREF(handler);
        return 0;
    }
    size_t behind = (size_t)(a->count++ - place);
    memmove(a->objects + place + 1, a->objects + place, behind * sizeof *a->objects);
    memmove(a->handlers + place + 1, a->handlers + place, behind * sizeof *a->handlers);
    a->objects[place] = obj;
    a->handlers[place] = handler;
    return 0;
}

/* Returns out= as a tuple. */
static PyObject *out_as_tuple(PyObject *out) {
    return PyTuple_Check(out) ? Py_NewRef(out) : PyTuple_Pack(1, out);
}

static int is_out_keyword(PyObject *name) {
    return PyUnicode_CompareWithASCIIString(name, "out") == 0;
}

/* Returns the keywords in the form that a handler expects: all outputs in a tuple named out. */
static PyObject *keywords_with_out_tuple(int nin, PyObject *const *args, Py_ssize_t nargs,
                                         PyObject *keywords) {
    PyObject *dict = PyDict_New();
    if (dict && nargs > nin) {
        PyObject *outs = PyTuple_New(nargs - nin);
        for (Py_ssize_t i = nin; outs && i < nargs; i++)
            PyTuple_SET_ITEM(outs, i - nin, Py_NewRef(args[i]));
        if (!outs || PyDict_SetItemString(dict, "out", outs) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(outs);
    }
    for (Py_ssize_t i = 0; dict && keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i), *value = args[nargs + i];
        if (is_out_keyword(name) && value == Py_None)
            continue;
        value = is_out_keyword(name) ? out_as_tuple(value) : Py_NewRef(value);
        if (!value || PyDict_SetItem(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* Returns the arguments of a handler: (object, ufunc, "__call__", *inputs). The caller fills in the
 * object. */
static PyObject *handler_arguments(const nl_py_state *state, PyObject *ufunc, PyObject *const *args,
                                   Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(3 + count);
    if (!tuple)
        return NULL;
    PyTuple_SET_ITEM(tuple, 0, Py_NewRef(Py_None)); /* set for each handler */
    PyTuple_SET_ITEM(tuple, 1, Py_NewRef(ufunc));
    PyTuple_SET_ITEM(tuple, 2, Py_NewRef(PyTuple_GET_ITEM(state->override_names, 2)));
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(tuple, 3 + i, Py_NewRef(args[i]));
    return tuple;
}

static PyObject *raise_unsupported_operands(PyObject *ufunc, const asked *a) {
    PyObject *names = PyUnicode_FromString("");
    for (int i = 0; names && i < a->count; i++)
        Py_SETREF(names, PyUnicode_FromFormat("%U%s'%.100s'", names, i ? ", " : "",
                                              Py_TYPE(a->objects[i])->tp_name));
    if (names)
        PyErr_Format(PyExc_TypeError,
                     "operand type(s) all returned NotImplemented from __array_ufunc__(%R, "
                     "'__call__', ...): %U",
                     ufunc, names);
    Py_XDECREF(names);
    return NULL;
}

static PyObject *call_override(const nl_py_state *state, PyObject *ufunc, int nin,
                               PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                               const asked *a) {
    PyObject *result = Py_NewRef(Py_NotImplemented);
    PyObject *kwargs = keywords_with_out_tuple(nin, args, nargs, keywords);
    for (int i = 0; kwargs && result == Py_NotImplemented && i < a->count; i++) {
        Py_CLEAR(result);
        if (a->handlers[i] == Py_None) {
            PyErr_Format(PyExc_TypeError,
                         "operand '%.200s' does not support ufuncs (__array_ufunc__=None)",
                         Py_TYPE(a->objects[i])->tp_name);
            break;
        }
        PyObject *all = handler_arguments(state, ufunc, args, nargs < nin ? nargs : nin);
        if (!all)
            break;
        PyObject *none = PyTuple_GET_ITEM(all, 0);
        PyTuple_SET_ITEM(all, 0, Py_NewRef(a->objects[i]));
        Py_DECREF(none);
        result = PyObject_Call(a->handlers[i], all, kwargs);
        Py_DECREF(all);
    }
    if (!kwargs)
        Py_CLEAR(result);
    Py_XDECREF(kwargs);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    return raise_unsupported_operands(ufunc, a);
}

static int find_override(const nl_py_state *state, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *keywords, asked *a) {
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (add_handler(state, args[i], a) < 0)
            return -1;
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *out = args[nargs + i];
        if (!is_out_keyword(PyTuple_GET_ITEM(keywords, i)))
            continue;
        if (!PyTuple_Check(out) && add_handler(state, out, a) < 0)
            return -1;
        for (Py_ssize_t j = 0; PyTuple_Check(out) && j < PyTuple_GET_SIZE(out); j++)
            if (add_handler(state, PyTuple_GET_ITEM(out, j), a) < 0)
                return -1;
    }
    return 0;
}

int nl_py_override_call_handlers(const nl_py_state *state, PyObject *ufunc, int nin,
                                 PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                                 PyObject **result) {
    asked a;
    a.count = 0;
    int status = find_override(state, args, nargs, keywords, &a) < 0 ? -1 : a.count > 0;
    *result = status > 0 ? call_override(state, ufunc, nin, args, nargs, keywords, &a) : NULL;
    while (a.count > 0)
        Py_DECREF(a.handlers[--a.count]);
    return status != 0;
}

int nl_py_override_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    state->override_names = Py_BuildValue("(NNN)", PyUnicode_InternFromString("__array_ufunc__"),
                                          PyUnicode_InternFromString("__cuda_array_interface__"),
                                          PyUnicode_InternFromString("__call__"));
    return state->override_names ? 0 : -1;
}
