/* py/module: making the module numbalite._core. What it offers is added by the other files' exec
 * functions; importing it touches neither driver nor compiler. */
#include "base/lock.h"
#include "core/buffer.h"
#include "core/hostblock.h"
#include "py/state.h"

int nl_py_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **slot) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    if (type == NULL)
        return -1;
    Py_XSETREF(*slot, type);
    return PyModule_AddType(module, type);
}

/* ---- the end of the interpreter ---- */

static int ended;

/* When it has let go of all arrays that it can. */
static void at_exit(void) {
    ended = 1;
    nl_buffer_exit();
    if (nl_device_usable())
        nl_hostblock_trim(0); /* those that no copy is using any more */
}

int nl_py_lives(void) {
    if (Py_IsInitialized() && !Py_IsFinalizing())
        return 1;
    return !ended && nl_thread_is_main();
}

static int register_exit(void) {
    static int registered;
    if (!registered && Py_AtExit(at_exit) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no room for one more function at exit");
        return -1;
    }
    registered = 1;
    return 0;
}

/* ---- the module ---- */

static int module_exec(PyObject *module) {
    if (register_exit() < 0)
        return -1;
#define NL_EXEC(name) \
    if (name(module) < 0) \
        return -1;
    NL_PY_EXECS(NL_EXEC)
#undef NL_EXEC
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    nl_py_state *state = nl_py_state_of(module);
    if (state == NULL)
        return 0;
#define NL_VISIT(type, name) Py_VISIT(state->name);
    NL_STATE_OBJECTS(NL_VISIT)
#undef NL_VISIT
    return 0;
}

static int module_clear(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (state == NULL)
        return 0;
#define NL_CLEAR(type, name) Py_CLEAR(state->name);
    NL_STATE_OBJECTS(NL_CLEAR)
#undef NL_CLEAR
    return 0;
}

static void module_free(void *module) {
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    /* The driver and NumPy are one per process. */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

PyModuleDef nl_py_module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "numbalite._core",
    .m_doc = "The runtime of numbalite, in C: devices, memory, kernels, launching.",
    .m_size = sizeof(nl_py_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&nl_py_module_def);
}
