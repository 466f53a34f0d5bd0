/* py/hostmodule: loaded code of the cpu and parallel targets, for C code. */
#ifndef NL_PY_HOSTMODULE_H
#define NL_PY_HOSTMODULE_H

#include "py/compat.h"

/* Returns the address of a function or variable of a HostModule, by its name in the unit. Returns
 * NULL with a KeyError, or with a TypeError if `module` is not a HostModule. The address is valid
 * as long as the module lives. */
void *nl_py_hostmodule_find(PyObject *module, const char *name);

#endif
