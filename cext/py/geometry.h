/* py/geometry: shapes and strides from Python, checked. */
#ifndef NL_PY_GEOMETRY_H
#define NL_PY_GEOMETRY_H

#include "py/compat.h"
#include "core/layout.h"

/* A new tuple of the items of a sequence from outside; ValueError if there are more than `limit`,
 * before they are stored: range(2**62) is a sequence, too. A tuple is returned as it is. */
PyObject *nl_py_tuple_at_most(PyObject *sequence, Py_ssize_t limit);
/* int or sequence of ints -> shape and ndim. */
int nl_py_shape_from(PyObject *obj, nl_layout *layout);
/* Sequence of layout->ndim ints; `what` names it in messages. */
int nl_py_strides_from(PyObject *obj, nl_layout *layout, const char *what);
/* Bytes that the elements touch relative to the first, or ValueError where they cannot be
 * addressed. */
int nl_py_layout_extent(const nl_layout *layout, int64_t *low, int64_t *high);
/* Strides for the shape in C ('C') or Fortran ('F') order, after checking that the size is
 * possible. */
int nl_py_layout_order(nl_layout *layout, char order);
PyObject *nl_py_tuple_from(const int64_t *values, int count);

#endif
