/* py/hostmodule: the type HostModule: loaded code of the cpu and parallel targets. */
#include "py/state.h"

int nl_py_hostmodule_exec(PyObject *module) {
    (void)module;
    return 0;
}
