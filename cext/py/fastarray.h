/* py/fastarray: the fast path for CuPy and PyTorch arrays, without the dictionary of the CUDA Array
 * Interface. */
#ifndef NL_PY_FASTARRAY_H
#define NL_PY_FASTARRAY_H

#include "py/foreign.h"

/* Returns 1 and fills *out like nl_py_arrayinterface_read. Returns 0 if the caller must use the
 * object's interface, whose errors are more precise. Never raises. */
int nl_py_fastarray_read(nl_py_state *state, PyObject *obj, nl_py_foreign *out);

/* Returns whether `obj` is a CuPy or PyTorch array whose library reports its current stream.
 * Registers the class.
 */
int nl_py_fastarray_has_stream(nl_py_state *state, PyObject *obj);
/* Reads the current stream of the object's library on a device. *keeper is a new reference that
 * keeps the stream alive, or NULL. Returns 1 on success, or 0 if the library reports no stream, or
 * -1 with an exception. Call this function only if nl_py_fastarray_has_stream returned 1. */
int nl_py_fastarray_read_stream(nl_py_state *state, PyObject *obj, int device, CUstream *stream,
                                PyObject **keeper);

/* Returns a new reference to CuPy's current stream object, which keeps the stream of the array's
 * interface alive. Returns NULL if `obj` is not of the registered CuPy class. Never raises. */
PyObject *nl_py_fastarray_stream_object(nl_py_state *state, PyObject *obj);

/* Stores a class and its helper object in the given variables, and steals the reference to
 * `helper`.
 * If another class was registered before, the earlier class stays registered. */
void nl_py_fastarray_store_class(PyTypeObject **slot, PyTypeObject *type, PyObject **helper_slot,
                                 PyObject *helper);

#endif
