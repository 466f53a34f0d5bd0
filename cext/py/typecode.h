/* py/typecode: what a value is, as one number: the codes by which overloads are told apart. */
#ifndef NL_PY_TYPECODE_H
#define NL_PY_TYPECODE_H

#include "py/code.h"
#include "py/value.h"

/* The type code of a value, from what it is alone: 1, or 0 with *reason for a value that no kernel
 * takes, or -1 with an exception. */
int nl_py_type_code(nl_py_values *values, PyObject *value, uint32_t *code, const char **reason);
/* The dtype that a code of a dtype stands for, or NL_OPAQUE. */
nl_dtype nl_py_code_dtype(nl_py_state *state, uint32_t code);
/* The same for a function on the host, which takes arrays as they lie. */
int nl_py_host_type_code(nl_py_values *values, PyObject *value, uint32_t *code,
                         const char **reason);
/* The exception for a value without a code: "`where`: `value` cannot be passed to a `what`: ...".
 */
void nl_py_type_code_refuse(nl_py_state *state, PyObject *value, const char *where,
                            const char *what, const char *reason);

#endif
