/* py/arrayinterface: imports and exports arrays through the CUDA Array Interface. */
#ifndef NL_PY_ARRAYINTERFACE_H
#define NL_PY_ARRAYINTERFACE_H

#include "py/foreign.h"

/* Returns 1 and fills *out; the caller must then call nl_py_arrayinterface_clear(out). Returns 0 if
 * the object has no attribute __cuda_array_interface__, or -1 with an exception that contains the
 * name of the wrong field. */
int nl_py_arrayinterface_read(nl_py_state *state, PyObject *obj, nl_py_foreign *out);
void nl_py_arrayinterface_clear(nl_py_foreign *foreign);
/* Returns whether the producer's work is on a stream that is not ordered with `stream`. `blocking`:
 * `stream` is ordered with the legacy default stream. */
int nl_py_arrayinterface_needs_stream_order(const nl_py_foreign *foreign, CUstream stream,
                                            int blocking);
/* Makes later work on `stream` wait for the producer's work, unless the streams are ordered; the
 * host does not wait. 0, or -1 with an exception. */
int nl_py_arrayinterface_order_stream(const nl_py_foreign *foreign, CUstream stream, int blocking);
/* Returns a DeviceArray over the memory of `obj`, which the array keeps alive. New reference. */
PyObject *nl_py_arrayinterface_new_array(nl_py_state *state, PyObject *obj, nl_py_foreign *foreign);
/* DeviceArray.__cuda_array_interface__ */
PyObject *nl_py_arrayinterface_get(PyObject *self, void *closure);

#endif
