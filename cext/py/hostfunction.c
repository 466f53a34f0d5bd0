/* py/hostfunction: the type HostFunction: a compiled host function on scalars and arrays. */
#include "py/state.h"

int nl_py_hostfunction_exec(PyObject *module) {
    (void)module;
    return 0;
}
