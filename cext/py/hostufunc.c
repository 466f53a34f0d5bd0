/* py/hostufunc: numpy.ufunc objects from compiled host loops. */
#include "py/state.h"

int nl_py_hostufunc_exec(PyObject *module) {
    (void)module;
    return 0;
}
