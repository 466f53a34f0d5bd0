/* py/joins: NumPy's functions that copy boxes of arrays to boxes of a new array: concatenate,
 * stack, roll, tile, repeat, pad and the method copy. The copies are planned from the geometry at
 * each call. Each function returns NotImplemented for arguments that only Python code supports. */
#ifndef NL_PY_JOINS_H
#define NL_PY_JOINS_H

#include "py/devarray.h"

/* Reads the axis argument of a function that works on the flattened array if axis is NULL or None;
 * then changes `layout` to one axis. Returns 0 if the axis is not an int of the array, or if only a
 * copy can be flattened. */
int nl_py_joins_read_axis(PyObject *argument, const nl_py_array *a, nl_layout *layout, int *axis);

#endif
