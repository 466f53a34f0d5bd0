/* py/override: the protocol __array_ufunc__ (NEP 13), by which operands handle ufunc calls
 * themselves. */
#ifndef NL_PY_OVERRIDE_H
#define NL_PY_OVERRIDE_H

#include "py/state.h"
#include "py/devarray.h"
#include "py/dlpack.h"

/* Calls the __array_ufunc__ of the operands. Returns 0 if no operand has a handler, so that the
 * caller continues. Returns 1 if a handler was called; *result is the handler's result, or NULL
 * with an exception. `args` are `nargs` positional arguments, of which the first `nin` are inputs,
 * then the values of the names in `keywords`. */
int nl_py_override_call_handlers(const nl_py_state *state, PyObject *ufunc, int nin,
                                 PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                                 PyObject **result);

/* Returns 1 if the operand's type certainly has no __array_ufunc__ handler. The test of the
 * operand's type is fast but not exact: a result of 0 means that the type may have a handler. */
static inline int nl_py_override_is_plain(const nl_py_state *state, PyObject *obj) {
    return nl_py_devarray_check_exact(state, obj) || nl_py_hostarray_is_exact_array(obj) ||
           PyFloat_CheckExact(obj) || PyLong_CheckExact(obj) || obj == Py_None ||
           Py_TYPE(obj) == nl_atomic_load_entry(&state->exchange_type);
}

static inline int nl_py_override_try_handlers(const nl_py_state *state, PyObject *ufunc, int nin,
                                              PyObject *const *args, Py_ssize_t nargs,
                                              PyObject *keywords, PyObject **result) {
    Py_ssize_t count = nargs + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!nl_py_override_is_plain(state, args[i]))
            return nl_py_override_call_handlers(state, ufunc, nin, args, nargs, keywords, result);
    return 0;
}

int nl_py_override_exec(PyObject *module);

#endif
