/* py/interrupt: Handles Ctrl-C, a notebook's interrupt, and other signals that have a handler in
 * Python, while the interpreter's main thread waits in C.
 *
 * The wait polls at intervals (base/interrupt), and each poll runs the signal handlers. If a
 * handler raises an exception, the wait ends. The exception is stored until the waiting call fails,
 * and then replaces the error of that call. If the waiting call ignores the error, the exception is
 * raised directly after the call. A description of the stopped work is added to the exception: as
 * its message if it is a KeyboardInterrupt without a message, otherwise as a note. */
#include "py/interrupt.h"

#include <stdio.h>
#include <string.h>
#include "base/interrupt.h"
#include "py/state.h"

static unsigned long main_thread;
/* Only the main thread uses these variables. */
static PyObject *kept;
static char report[1024];

static int can_be_interrupted(void) {
    return PyThread_get_thread_ident() == main_thread && Py_IsInitialized();
}

static int is_exception_pending(void) {
    return kept != NULL && PyThread_get_thread_ident() == main_thread;
}

/* A pending call of the interpreter, which raises the stored exception if the waiting call ignored
 * its error. */
static int raise_stored_exception(void *Py_UNUSED(data)) {
    return nl_py_interrupt_raise() ? -1 : 0;
}

static int is_interrupt_requested(void) {
    PyObject *type, *value, *traceback;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &traceback);
    int interrupted = PyErr_CheckSignals() < 0;
    if (interrupted) {
        PyObject *how, *what, *where;
        PyErr_Fetch(&how, &what, &where);
        PyErr_NormalizeException(&how, &what, &where);
        if (where != NULL)
            PyException_SetTraceback(what, where);
        Py_XSETREF(kept, what);
        *report = '\0';
        Py_XDECREF(how);
        Py_XDECREF(where);
        (void)Py_AddPendingCall(raise_stored_exception, NULL);
    }
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
    return interrupted;
}

static void report_stopped_kernel(const char *text) {
    if (!*report)
        snprintf(report, sizeof report, "%s", text);
}

static int has_no_arguments(PyObject *exception) {
    PyObject *args = Py_TYPE(exception) == (PyTypeObject *)PyExc_KeyboardInterrupt
                         ? PyObject_GetAttrString(exception, "args")
                         : NULL;
    int bare = args != NULL && PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 0;
    Py_XDECREF(args);
    return bare;
}

static void attach_text_to_exception(PyObject *exception, PyObject *text) {
    if (has_no_arguments(exception)) {
        PyObject *args = PyTuple_Pack(1, text);
        if (args != NULL)
            (void)PyObject_SetAttrString(exception, "args", args);
        Py_XDECREF(args);
    } else {
        PyObject *none = PyObject_CallMethod(exception, "add_note", "O", text); /* from 3.11 on */
        Py_XDECREF(none);
    }
}

int nl_py_interrupt_raise(void) {
    if (PyThread_get_thread_ident() != main_thread || kept == NULL)
        return 0;
    PyObject *exception = kept;
    kept = NULL;
    PyObject *text =
        *report ? PyUnicode_DecodeUTF8(report, (Py_ssize_t)strlen(report), "replace") : NULL;
    if (text != NULL)
        attach_text_to_exception(exception, text);
    Py_XDECREF(text);
    PyErr_Clear();
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return 1;
}

static const nl_interrupt how = {.is_possible = can_be_interrupted,
                                 .is_requested = is_interrupt_requested,
                                 .is_pending = is_exception_pending,
                                 .report = report_stopped_kernel};

int nl_py_interrupt_exec(PyObject *Py_UNUSED(module)) {
    PyObject *threading = PyImport_ImportModule("threading"), *thread = NULL, *ident = NULL;
    if (threading != NULL)
        thread = PyObject_CallMethod(threading, "main_thread", NULL);
    if (thread != NULL)
        ident = PyObject_GetAttrString(thread, "ident");
    if (ident != NULL)
        main_thread = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    if (PyErr_Occurred())
        return -1;
    nl_interrupt_open(&how);
    return 0;
}
