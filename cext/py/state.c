/* py/state: the definition of the module, through which functions find the module's state, and the
 * module's finalization. */
#include "py/state.h"

#include "base/lock.h"
#include "core/buffer.h"
#include "core/hostblock.h"
#include "core/pinned.h"

int nl_py_state_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base,
                         PyTypeObject **slot) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    if (type == NULL)
        return -1;
    Py_XSETREF(*slot, type);
    return PyModule_AddType(module, type);
}

/* ---- the end of the interpreter ---- */

static int ended;

void nl_py_state_release_caches(void) {
    nl_buffer_empty_caches_at_exit();
    if (nl_device_are_usable()) { /* frees the page-locked memory that no copy is using */
        nl_hostblock_trim(0);
        nl_pinned_unlock();
    }
}

/* Runs at exit, after the interpreter has freed all arrays that it can free. */
static void release_at_exit(void) {
    ended = 1;
    nl_py_state_release_caches();
}

int nl_py_state_is_alive(void) {
    if (Py_IsInitialized() && !Py_IsFinalizing())
        return 1;
    return !ended && nl_thread_is_main();
}

int nl_py_state_at_exit(void) {
    static int registered;
    if (!registered && Py_AtExit(release_at_exit) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "too many functions are registered to run at exit");
        return -1;
    }
    registered = 1;
    return 0;
}

/* ---- the definition ---- */

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

PyModuleDef nl_py_state_module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "numbalite._core",
    .m_doc = "The runtime of numbalite in C: devices, memory, kernels and launches.",
    .m_size = sizeof(nl_py_state),
    .m_slots = NULL, /* in py/module */
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyObject *nl_py_state_intern(const char *const *texts, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *text = PyUnicode_InternFromString(texts[i]);
        if (text)
            PyTuple_SET_ITEM(tuple, i, text);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}
