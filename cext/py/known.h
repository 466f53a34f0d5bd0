/* py/known: arrays of libraries that are known by name, read without their interface's dictionary.
 */
#ifndef NL_PY_KNOWN_H
#define NL_PY_KNOWN_H

#include "py/foreign.h"

/* 1 and *out filled like nl_py_foreign_read does; 0 where the object's interface has to be asked,
 * which also says what is wrong with it. Never raises. */
int nl_py_known_read(nl_py_state *state, PyObject *obj, nl_py_foreign *out);

/* Is it an array of a library that has been seen, and that reports its current stream? */
int nl_py_known_has_stream(nl_py_state *state, PyObject *obj);
/* That stream on a device, and what keeps it alive (new reference, or NULL). 1, 0 if the object's
 * library reports none, -1 with an exception. */
int nl_py_known_current(nl_py_state *state, PyObject *obj, int device, CUstream *stream,
                        PyObject **keeper);

/* What keeps the stream alive that such an array's interface names; NULL if it is not known. Never
 * raises. */
PyObject *nl_py_known_stream(nl_py_state *state, PyObject *obj);

/* Keeps a class that was met, and what goes with it, whose reference this takes; the first of a
 * slot stays. */
void nl_py_known_publish(PyTypeObject **slot, PyTypeObject *type, PyObject **helper_slot,
                         PyObject *helper);

#endif
