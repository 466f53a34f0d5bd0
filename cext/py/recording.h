/* py/recording: what a function in Python has the device do for its arguments, as a list that can
 * be gone through again for others that lie alike.
 *
 * While a thread records, calls of launchers and ufuncs and copies between arrays go by way of this
 * file, which notes each with where its arrays come from: arguments, new arrays, results, and views
 * of those; and whether they are bound to the call's stream. What cannot be said again (a wait, a
 * value that was read, an array or a stream from elsewhere) spoils the recording. */
#ifndef NL_PY_RECORDING_H
#define NL_PY_RECORDING_H

#include "py/devarray.h"

typedef struct nl_py_recorder nl_py_recorder;

/* The one of this thread, NULL nearly always. */
extern NL_THREAD_LOCAL nl_py_recorder *nl_py_recorder_here;

static inline int nl_py_is_recording(void) {
    return __builtin_expect(nl_py_recorder_here != NULL, 0);
}

/* ---- where calls are noted; only while this thread records ---- */

/* The call, made and noted. */
PyObject *nl_py_record_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                            PyObject *keywords);
/* The same for a function of a module. */
PyObject *nl_py_record_named(const char *module, const char *name, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *keywords);
/* The same for a method of a device array. */
PyObject *nl_py_record_method(PyObject *self, const char *name, PyObject *args, PyObject *kwargs);
/* What this thread records is not to be repeated. */
void nl_py_record_nothing(void);

/* ---- a recording ---- */

/* function(*args), recorded. `inputs` are the device arrays among its arguments, `stream` is the
 * one that some are bound to, or the current one, or NULL. *recording is a new reference, or NULL
 * if the call is none that can be repeated. */
PyObject *nl_py_record(nl_py_state *state, PyObject *function, PyObject *const *args, size_t nargsf,
                       PyObject *keywords, PyObject *const *inputs, int count, PyObject *stream,
                       PyObject **recording);
/* The same for other inputs, and their stream, without the function: its result. */
PyObject *nl_py_replay(PyObject *recording, PyObject *const *inputs, PyObject *stream);
/* Its memory in bytes. */
size_t nl_py_recording_size(PyObject *recording);
/* Was it replayed since this was last asked? */
int nl_py_recording_was_repeated(PyObject *recording);

#endif
