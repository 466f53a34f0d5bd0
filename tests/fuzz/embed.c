/* fuzz/embed: libFuzzer with Python inside: each input is passed to a target of
   tests/fuzz/targets.py.
 *
 * The extension is instrumented and loaded by Python as usual; libFuzzer finds its counters in this
 * program, which exports its symbols. An uncaught exception ends the process. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

static PyObject *target;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    Py_Initialize();
    if (PyRun_SimpleString("import os, sys\n"
                           "sys.path.insert(0, os.environ['FUZZ_HERE'])\n"
                           "import targets\n"
                           "targets.prepare_process()\n"
                           "function = targets.TARGETS[os.environ['FUZZ_TARGET']]\n") != 0)
        exit(1);
    PyObject *module = PyImport_AddModule("__main__");
    target = PyObject_GetAttrString(module, "function");
    if (!target)
        exit(1);
    return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    PyObject *result = PyObject_CallFunction(target, "y#", (const char *)data, (Py_ssize_t)size);
    if (!result) {
        PyErr_Print();
        abort();
    }
    Py_DECREF(result);
    return 0;
}
