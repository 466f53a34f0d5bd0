/* py/guaxes: axes= and axis= of gufunc calls. */
#ifndef NL_PY_GUAXES_H
#define NL_PY_GUAXES_H

#include "py/compat.h"
#include "core/gloop.h"

/* Whether they go with the layout, before the operands are known. */
int nl_py_gufunc_check_axes(const nl_gcore *core, PyObject *axes, PyObject *axis);
/* Where each operand's core dimensions lie, from axes= (a list) or axis= (an int); NULL: not given.
 * Changes the axes of loop->operands. 0 or -1 with NumPy's exceptions. */
int nl_py_gufunc_axes(nl_gloop *loop, PyObject *axes, PyObject *axis);

#endif
