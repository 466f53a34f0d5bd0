/* py/override: operands that want to handle ufunc calls themselves (__array_ufunc__, NEP 13). */
#ifndef NL_PY_OVERRIDE_H
#define NL_PY_OVERRIDE_H

#include "py/state.h"
#include "py/devarray.h"

/* 0: nobody does, go on. 1: *result is what one of them gave, or NULL with an exception. `args` are
 * nargs positional ones, of which nin are inputs, then the values of the names in `keywords`. */
int nl_py_override_slow(const nl_py_state *state, PyObject *ufunc, int nin, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *keywords, PyObject **result);

/* Whether this operand surely does not. */
static inline int nl_py_override_plain(const nl_py_state *state, PyObject *obj) {
    return nl_py_array_check_exact(state, obj) || nl_host_is_exact_array(obj) ||
           PyFloat_CheckExact(obj) || PyLong_CheckExact(obj) || obj == Py_None;
}

static inline int nl_py_override(const nl_py_state *state, PyObject *ufunc, int nin,
                                 PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                                 PyObject **result) {
    Py_ssize_t count = nargs + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!nl_py_override_plain(state, args[i]))
            return nl_py_override_slow(state, ufunc, nin, args, nargs, keywords, result);
    return 0;
}

int nl_py_override_exec(PyObject *module);

#endif
