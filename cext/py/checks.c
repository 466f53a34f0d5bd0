/* py/checks: sets the checks that the driver performs during launches, and compiles kernels for
 * them.
 *
 * A compilation unit is first compiled for the checks that are enabled in the compiling thread. If
 * the launching thread has enabled other checks, the driver requests another image, which
 * numbalite.runtime.checks compiles. An exception during this compilation remains set in the
 * launching thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/driver.h"
#include "py/state.h"

#include <frameobject.h>

/* Parses (mask, seed or None, limit in milliseconds[, record, profile, budget in milliseconds,
 * schedule]). */
static int parse_checks(PyObject *args, nl_checks *checks) {
    unsigned mask;
    PyObject *seed;
    unsigned long long limit, record = 0, profile = 0, budget = 0;
    const char *schedule = "";
    *checks = (nl_checks){.mask = 0};
    if (!PyArg_ParseTuple(args, "IOK|KKKs", &mask, &seed, &limit, &record, &profile, &budget,
                          &schedule))
        return -1;
    checks->mask = mask;
    checks->limit_ms = limit;
    checks->exact = record != 0;
    checks->record = record;
    checks->profile = profile;
    checks->budget_ms = budget;
    snprintf(checks->schedule, sizeof checks->schedule, "%s", schedule);
    if (seed != Py_None) {
        checks->shuffled = 1;
        checks->seed = PyLong_AsUnsignedLongLongMask(seed);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

int nl_py_checks_profiling; /* whether any thread has requested NL_CHECK_PROFILE */

int nl_py_checks_is_profiled_now(void) {
    return nl_cu.Checks && nl_cu.Checks() & NL_CHECK_PROFILE;
}

int nl_py_checks_note_callers; /* whether any thread has requested NL_CHECK_STREAM */

/* Returns the package's folder with a slash at its end, or "" if it is not available. */
static const char *package_folder(void) {
    static char folder[512];
    if (folder[0])
        return folder;
    PyObject *name = PyUnicode_FromString("numbalite");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : NULL;
    const char *text = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
    const char *end = text ? strrchr(text, '/') : NULL;
    if (end)
        snprintf(folder, sizeof folder, "%.*s", (int)(end + 1 - text), text);
    Py_XDECREF(file);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return folder;
}

/* Returns the name of a source file in messages: for a notebook cell "Cell In[3]", else `file`. The
 * last result is cached, because all launches of a cell have the same file. */
static const char *source_label(PyObject *filename, const char *file) {
    static char asked[512], label[64];
    if (!strstr(file, "/ipykernel_") && !strstr(file, "<ipython-input"))
        return file;
    if (strcmp(asked, file) == 0)
        return label;
    PyObject *module = PyImport_ImportModule("numbalite.cxx.linemap");
    PyObject *made = module ? PyObject_CallMethod(module, "file_label", "O", filename) : NULL;
    const char *text = made && PyUnicode_Check(made) ? PyUnicode_AsUTF8(made) : NULL;
    if (text && strlen(file) < sizeof asked) {
        snprintf(label, sizeof label, "%s", text);
        snprintf(asked, sizeof asked, "%s", file);
    }
    Py_XDECREF(made);
    Py_XDECREF(module);
    return strcmp(asked, file) == 0 ? label : file;
}

/* Passes the source line of the innermost frame outside of the package to the driver. */
static void record_user_frame(void) {
    const char *own = package_folder();
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        const char *file = PyUnicode_AsUTF8(code->co_filename);
        int is_own = !file || (own[0] && strncmp(file, own, strlen(own)) == 0) ||
                     strstr(file, "/contextlib.py") != NULL; /* frames of `with` statements */
        if (!is_own)
            nl_cu.SetCaller(source_label(code->co_filename, file), PyFrame_GetLineNumber(frame));
        Py_DECREF(code);
        PyFrameObject *back = is_own ? PyFrame_GetBack(frame) : NULL;
        Py_DECREF(frame);
        frame = back;
    }
}

void nl_py_checks_record_caller_for_streams(void) {
    if (nl_cu.Checks && nl_cu.Checks() & NL_CHECK_STREAM)
        nl_py_checks_record_caller();
}

void nl_py_checks_record_caller(void) {
    PyObject *type, *value, *traceback;
    if (!nl_cu.SetCaller)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    record_user_frame();
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static PyObject *set_checks(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_checks checks;
    if (PyTuple_GET_SIZE(args) == 0) {
        if (nl_cu.SetChecks != NULL)
            nl_cu.SetChecks(NULL);
        Py_RETURN_NONE;
    }
    if (parse_checks(args, &checks) < 0)
        return NULL;
    nl_py_checks_note_callers |= (checks.mask & NL_CHECK_STREAM) != 0;
    nl_py_checks_profiling |= (checks.mask & NL_CHECK_PROFILE) != 0;
    if (nl_cu.SetChecks != NULL)
        nl_cu.SetChecks(&checks);
    Py_RETURN_NONE;
}

/* Returns the image of numbalite.runtime.checks.instrumented as a copy, allocated by malloc. */
static void *instrument_image(const void *image, size_t size, uint32_t mask) {
    void *copy = NULL;
    PyObject *bytes = NULL, *module = PyImport_ImportModule("numbalite.runtime.checks");
    if (module != NULL)
        bytes = PyObject_CallMethod(module, "instrumented", "y#I", (const char *)image,
                                    (Py_ssize_t)size, (unsigned)mask);
    Py_XDECREF(module);
    if (bytes != NULL && !PyBytes_Check(bytes))
        PyErr_SetString(PyExc_TypeError, "an image is bytes");
    else if (bytes != NULL && !(copy = malloc((size_t)PyBytes_GET_SIZE(bytes) + 1)))
        PyErr_NoMemory();
    if (copy != NULL)
        memcpy(copy, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_XDECREF(bytes);
    return copy;
}

static int compile_checked_image(const void *image, size_t size, uint32_t mask, void **twin,
                                 char *log, size_t log_size) {
    PyGILState_STATE state = PyGILState_Ensure();
    *twin = instrument_image(image, size, mask);
    PyGILState_Release(state);
    snprintf(log, log_size, "compiling it for that failed");
    return *twin != NULL ? 0 : -1;
}

static PyObject *set_process_checks(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_checks checks;
    if (parse_checks(args, &checks) < 0)
        return NULL;
    nl_py_checks_note_callers |= (checks.mask & NL_CHECK_STREAM) != 0;
    if (nl_cu.SetProcessChecks != NULL)
        nl_cu.SetProcessChecks(&checks, compile_checked_image);
    Py_RETURN_NONE;
}

static PyObject *pop_verdicts(PyObject *Py_UNUSED(module), PyObject *number) {
    static const char *const names[] = {
        [NL_VERDICT_NO_RACE] = "no schedule races",
        [NL_VERDICT_DEPENDS] = "depends on atomics",
        [NL_VERDICT_UNDECIDED] = "undecided",
        [NL_VERDICT_RACES] = "races",
    };
    uint64_t record = PyLong_AsUnsignedLongLong(number);
    nl_verdict v;
    PyObject *list = PyErr_Occurred() ? NULL : PyList_New(0);
    while (list && nl_cu.TakeVerdict != NULL && nl_cu.TakeVerdict(record, &v)) {
        PyObject *one =
            Py_BuildValue("(ssKK)", v.kernel, names[v.kind], (unsigned long long)v.launches,
                          (unsigned long long)v.schedules);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *compiled_checks(PyObject *Py_UNUSED(module), PyObject *is_debug) {
    int debug = PyObject_IsTrue(is_debug);
    if (debug < 0)
        return NULL;
    uint32_t mask = nl_cu.Checks ? nl_checks_of_launch(nl_cu.Checks(), debug) : 0;
    return PyLong_FromUnsignedLong(nl_checks_of_image(mask));
}

static PyMethodDef methods[] = {
    {"image_checks", compiled_checks, METH_O,
     "image_checks(is_debug): "
     "returns the mask of the checks for which kernels are compiled "
     "if the calling thread launches them; is_debug: compiled with debug=True."},
    {"set_checks", set_checks, METH_VARARGS,
     "set_checks(mask, seed, limit[, record, profile, budget, schedule]): "
     "sets the checks of the calling thread's launches. "
     "Without arguments, the thread uses the setting of the process. "
     "A nonzero record enables the exact search for races, which stores its verdicts in record. "
     "profile: a token of profile_open. budget: time in milliseconds for more schedules. "
     "schedule: the only schedule to run."},
    {"take_verdicts", pop_verdicts, METH_O,
     "pop_verdicts(record): "
     "removes and returns the verdicts of a record: "
     "(kernel, verdict, launches, schedules) of each kernel."},
    {"set_process_checks", set_process_checks, METH_VARARGS,
     "set_process_checks(mask, seed, limit): "
     "sets the checks of launches in threads that have not called set_checks."},
    {NULL, NULL, 0, NULL},
};

int nl_py_checks_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods);
}
