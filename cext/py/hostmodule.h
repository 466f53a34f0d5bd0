/* py/hostmodule: loaded code of the cpu and parallel targets, as C sees it. */
#ifndef NL_PY_HOSTMODULE_H
#define NL_PY_HOSTMODULE_H

#include "py/compat.h"

/* The address of a function or variable of a HostModule, by its name in the unit; NULL with a
 * KeyError, or a TypeError if `module` is none. It is good as long as the module is. */
void *nl_py_hostmodule_find(PyObject *module, const char *name);

#endif
