/* py/exchange: arrays of other libraries, through the CUDA Array Interface. */
#ifndef NL_PY_EXCHANGE_H
#define NL_PY_EXCHANGE_H

#include "py/foreign.h"

/* 1 and *out filled (then nl_py_foreign_clear it); 0 if the object has no such attribute; -1 with
 * an exception that names the wrong field. */
int nl_py_foreign_read(nl_py_state *state, PyObject *obj, nl_py_foreign *out);
void nl_py_foreign_clear(nl_py_foreign *foreign);
/* Is the producer's work on a stream without order with `stream`? `blocking`: `stream` is ordered
 * with the legacy default stream. */
int nl_py_foreign_needs_order(const nl_py_foreign *foreign, CUstream stream, int blocking);
/* Then orders later work on `stream` after it; the host does not wait. */
int nl_py_foreign_wait(const nl_py_foreign *foreign, CUstream stream, int blocking);
/* A DeviceArray over the memory of `obj`, which is kept. */
PyObject *nl_py_foreign_array(nl_py_state *state, PyObject *obj, nl_py_foreign *foreign);
/* DeviceArray.__cuda_array_interface__ */
PyObject *nl_py_array_interface(PyObject *self, void *closure);

#endif
