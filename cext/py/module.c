/* py/module: creates the module numbalite._core. The exec functions of the other files add its
 * contents. Importing numbalite._core loads neither the driver nor the compiler. */
#include "py/state.h"

static int module_exec(PyObject *module) {
    if (nl_py_state_at_exit() < 0)
        return -1;
#define NL_EXEC(name) \
    if (name(module) < 0) \
        return -1;
    NL_PY_EXECS(NL_EXEC)
#undef NL_EXEC
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    /* Subinterpreters are not supported, because the driver and NumPy have one state per
     * process. */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

PyMODINIT_FUNC PyInit__core(void) {
    nl_py_state_module_def.m_slots = slots;
    return PyModuleDef_Init(&nl_py_state_module_def);
}
