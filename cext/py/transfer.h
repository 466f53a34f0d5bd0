/* py/transfer: _core.Transfer, which cuda.In, cuda.Out and cuda.InOut return: a host array as an
 * argument, and the directions in which it is copied. */
#ifndef NL_PY_TRANSFER_H
#define NL_PY_TRANSFER_H

#include "py/state.h"

enum { NL_PY_TRANSFER_IN = 1, NL_PY_TRANSFER_OUT = 2 };

typedef struct nl_py_transfer {
    PyObject_HEAD PyObject *array;
    int mode;
} nl_py_transfer;

static inline int nl_py_is_transfer(const nl_py_state *state, PyObject *obj) {
    return PyObject_TypeCheck(obj, state->transfer_type);
}

#endif
