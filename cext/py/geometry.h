/* py/geometry: reads and checks shapes and strides from Python. */
#ifndef NL_PY_GEOMETRY_H
#define NL_PY_GEOMETRY_H

#include "py/compat.h"
#include "core/layout.h"

/* Returns a new tuple of the items of a user's sequence. Raises ValueError if there are more than
 * `limit` items, before it stores them: for example, range(2**62) is also a sequence. A tuple is
 * returned unchanged. */
PyObject *nl_py_geometry_bounded_tuple(PyObject *sequence, Py_ssize_t limit);
/* Reads an int or a sequence of ints to shape and ndim. 0, or -1 with an exception. */
int nl_py_geometry_read_shape(PyObject *obj, nl_layout *layout);
/* Reads a sequence of layout->ndim ints to layout->strides; `what` is the sequence's name in
 * messages. 0, or -1 with an exception. */
int nl_py_geometry_read_strides(PyObject *obj, nl_layout *layout, const char *what);
/* Computes the range of bytes of the elements relative to the first element. Raises ValueError if
 * the range does not fit in the address space. Returns 0 or -1. */
int nl_py_geometry_byte_extent(const nl_layout *layout, int64_t *low, int64_t *high);
/* Computes the strides of the shape in C ('C') or Fortran ('F') order, after checking that the size
 * in bytes can be represented. 0, or -1 with an exception. */
int nl_py_geometry_strides(nl_layout *layout, char order);
PyObject *nl_py_geometry_new_tuple(const int64_t *values, int count);

#endif
