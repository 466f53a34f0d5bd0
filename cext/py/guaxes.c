/* py/guaxes: reads the arguments axes= and axis= of gufunc calls, with NumPy's rules and messages.
 * Core axes are moved after the loop axes, which keep their order. */
#include "py/guaxes.h"

#include <stdarg.h>

/* Raises an AxisError, made from a message, or from an axis and a number of dimensions. */
static int axis_error(const char *format, ...) {
    PyObject *numpy = PyImport_ImportModule("numpy.exceptions"), *class = NULL, *args = NULL;
    va_list values;
    if (!numpy) {
        PyErr_Clear();
        numpy = PyImport_ImportModule("numpy");
    }
    if (numpy)
        class = PyObject_GetAttrString(numpy, "AxisError");
    va_start(values, format);
    if (class)
        args = format[0] == '(' ? Py_VaBuildValue(format, values)
                                : PyUnicode_FromFormatV(format, values);
    va_end(values);
    if (args)
        PyErr_SetObject(class, args);
    Py_XDECREF(args);
    Py_XDECREF(class);
    Py_XDECREF(numpy);
    return -1;
}

/* Reads an axis as NumPy does: bool and float are rejected. */
static int read_axis_number(PyObject *obj, int *out) {
    int overflow;
    if (PyBool_Check(obj)) {
        PyErr_SetString(PyExc_TypeError, "the axis must be an integer");
        return -1;
    }
    PyObject *index = PyNumber_Index(obj);
    if (!index)
        return -1;
    long value = PyLong_AsLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    *out = overflow || value > INT32_MAX || value < INT32_MIN ? INT32_MAX : (int)value;
    return 0;
}

static int read_normalized_axis(PyObject *obj, int ndim, int *out) {
    int axis;
    if (read_axis_number(obj, &axis) < 0)
        return -1;
    if (axis < -ndim || axis >= ndim)
        return axis_error("(ii)", axis, ndim);
    *out = axis < 0 ? axis + ndim : axis;
    return 0;
}

/* Sets the axes of an operand: core dimension k is axis core[k]. */
static int set_operand_axes(nl_goperand *o, const int *core, int item) {
    uint64_t taken = 0;
    int own = o->array.ndim - o->core, n = 0;
    for (int k = 0; k < o->core; k++) {
        if (taken >> core[k] & 1) {
            PyErr_Format(PyExc_ValueError, "axes item %d has value %d repeated", item, core[k]);
            return -1;
        }
        taken |= (uint64_t)1 << core[k];
    }
    for (int axis = 0; axis < o->array.ndim; axis++)
        if (!(taken >> axis & 1))
            o->axes[n++] = axis;
    for (int k = 0; k < o->core; k++)
        o->axes[own + k] = core[k];
    return 0;
}

static int read_axes_item(nl_gloop *loop, int operand, PyObject *item) {
    nl_goperand *o = &loop->operands[operand];
    const char *name = loop->core->name;
    int core[NL_MAX_DIMS], single;
    if (PyTuple_Check(item)) {
        if (PyTuple_GET_SIZE(item) != o->core)
            return axis_error("%s: operand %d has %d core dimensions, "
                              "but %zd dimensions are specified by axes tuple.",
                              name, operand, o->core, PyTuple_GET_SIZE(item));
        for (int k = 0; k < o->core; k++)
            if (read_normalized_axis(PyTuple_GET_ITEM(item, k), o->array.ndim, &core[k]) < 0)
                return -1;
    } else if (o->core == 1) {
        if (read_normalized_axis(item, o->array.ndim, &core[0]) < 0)
            return -1;
    } else {
        if (read_axis_number(item, &single) < 0) {
            if (PyErr_ExceptionMatches(PyExc_TypeError))
                PyErr_Format(PyExc_TypeError, "%s: axes item %d should be a tuple.", name, operand);
            return -1;
        }
        return axis_error("%s: operand %d has %d core dimensions, "
                          "but the axes item is a single integer.",
                          name, operand, o->core);
    }
    return set_operand_axes(o, core, operand);
}

static int read_axes(nl_gloop *loop, PyObject *axes) {
    int nin = loop->core->nin, count = nin + loop->core->nout, outputs = 0;
    if (!PyList_Check(axes)) {
        PyErr_SetString(PyExc_TypeError, "axes should be a list.");
        return -1;
    }
    for (int i = nin; i < count; i++)
        outputs += loop->core->ndim[i];
    /* copies the list, because reading its items may run Python code that changes the list */
    PyObject *items = PyList_AsTuple(axes);
    if (!items)
        return -1;
    Py_ssize_t given = PyTuple_GET_SIZE(items);
    int result = 0;
    if (given != count && (given != nin || outputs)) {
        PyErr_Format(PyExc_ValueError,
                     "axes should be a list with an entry for all %d inputs and outputs; "
                     "entries for outputs can only be omitted if none of them has core axes.",
                     count);
        result = -1;
    }
    for (int i = 0; result == 0 && i < given; i++)
        result = read_axes_item(loop, i, PyTuple_GET_ITEM(items, i));
    Py_DECREF(items);
    return result;
}

/* Raises TypeError unless axis= is allowed: the signature must have exactly one core dimension, and
 * each operand must have this dimension at most once. */
static int check_axis(const nl_gcore *c) {
    int shared = c->count == 1;
    for (int i = 0; i < c->nin + c->nout; i++)
        shared = shared && c->ndim[i] <= 1;
    if (shared)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s: axis can only be used with a single shared core dimension, "
                 "not with the %d distinct ones implied by signature %s.",
                 c->name, c->count, c->text);
    return -1;
}

int nl_py_guaxes_check(const nl_gcore *core, PyObject *axes, PyObject *axis) {
    if (axes && axis) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'axis' and 'axes'");
        return -1;
    }
    return axis ? check_axis(core) : 0;
}

static int read_axis(nl_gloop *loop, PyObject *axis) {
    const nl_gcore *c = loop->core;
    int core;
    for (int i = 0; i < c->nin + c->nout; i++) {
        nl_goperand *o = &loop->operands[i];
        if (o->core == 0)
            continue;
        if (read_normalized_axis(axis, o->array.ndim, &core) < 0 ||
            set_operand_axes(o, &core, i) < 0)
            return -1;
    }
    return 0;
}

int nl_py_guaxes_read(nl_gloop *loop, PyObject *axes, PyObject *axis) {
    return axes ? read_axes(loop, axes) : axis ? read_axis(loop, axis) : 0;
}
