/* py/gufunc: the type GUfunc: functions of core arrays, one for each loop index, on the device. */
#include "py/state.h"

int nl_py_gufunc_exec(PyObject *module) {
    (void)module;
    return 0;
}
