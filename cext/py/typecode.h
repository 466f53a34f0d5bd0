/* py/typecode: the type code of a value, which is an integer. Kernel overloads are selected by
 * the type codes of their arguments. */
#ifndef NL_PY_TYPECODE_H
#define NL_PY_TYPECODE_H

#include "py/code.h"
#include "py/value.h"

/* Computes the type code of a value without its context, such as a signature. Returns 1 on success,
 * or 0 with *reason for a value that no kernel accepts, or -1 with an exception. */
int nl_py_type_code(nl_py_values *values, PyObject *value, uint32_t *code, const char **reason);
/* Returns the dtype for a type code whose object is a numpy.dtype, or NL_OPAQUE for any other
 * code. */
nl_dtype nl_py_typecode_dtype(nl_py_state *state, uint32_t code);
/* Computes the type code like nl_py_type_code, for a function that runs on the host and uses arrays
 * in their own layout. */
int nl_py_typecode_of_host_value(nl_py_values *values, PyObject *value, uint32_t *code,
                                 const char **reason);
/* Raises the exception for a value without a type code. The message is "`where`: `value` cannot be
 * passed to a `what`: ...". */
void nl_py_type_code_raise_unsupported(nl_py_state *state, PyObject *value, const char *where,
                                       const char *what, const char *reason);

#endif
