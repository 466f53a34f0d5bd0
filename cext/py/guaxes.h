/* py/guaxes: axes= and axis= of gufunc calls. */
#ifndef NL_PY_GUAXES_H
#define NL_PY_GUAXES_H

#include "py/compat.h"
#include "core/gloop.h"

/* Checks that axes= and axis= are allowed for this signature. Call this function before the
 * dimensions of the operands are read. 0, or -1 with an exception. */
int nl_py_guaxes_check(const nl_gcore *core, PyObject *axes, PyObject *axis);
/* Sets the axes of each operand's core dimensions (loop->operands) from axes= (a list) or axis= (an
 * int). An argument that was not passed is NULL. 0, or -1 with NumPy's exceptions. */
int nl_py_guaxes_read(nl_gloop *loop, PyObject *axes, PyObject *axis);

#endif
