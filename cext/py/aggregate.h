/* py/aggregate: structs, vectors and tuples as arguments. */
#ifndef NL_PY_AGGREGATE_H
#define NL_PY_AGGREGATE_H

#include "py/argument.h"

int nl_py_aggregate_is_dim3(const nl_param *p);
/* Each function writes argument `index`, of the kind in its name, like nl_py_argument_write. */
int nl_py_aggregate_write_struct(nl_py_call *call, int index, PyObject *value,
                                 unsigned char *block);
int nl_py_aggregate_write_tuple(nl_py_call *call, int index, PyObject *value, unsigned char *block);
/* Returns the items of a value for a tuple parameter as a new tuple. A list is accepted only if all
 * items of the parameter are scalars. Raises TypeError and returns NULL for values of other
 * classes. */
PyObject *nl_py_aggregate_items(nl_py_call *call, int index, PyObject *value);
int nl_py_aggregate_write_empty(nl_py_call *call, int index, PyObject *value, unsigned char *block);

#endif
