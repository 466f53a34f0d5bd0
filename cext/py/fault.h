/* py/fault: what checked kernels (debug=True, boundscheck=True) leave in their record, and the hook
 * that makes an exception of it. */
#ifndef NL_PY_FAULT_H
#define NL_PY_FAULT_H

#include "py/kernel.h"

/* The most that a record has: numbalite::fault_record and what users of _core make themselves. */
#define NL_PY_FAULT_BYTES 512

/* fault=(variable, hook) of Module.function. 0 or -1. */
int nl_py_fault_set(nl_py_kernel *kernel, nl_module *module, PyObject *fault);
/* After a launch: waits for the stream; if the kernel has left a record, its hook is called with
 * what the launch was given. 0 or -1. */
int nl_py_fault_check(const nl_py_kernel *kernel, CUstream stream, void *const *values);
/* The same after the launch of a graph. kernels: a list of those that report; launches: a list of
 * pairs of a kernel and the tuple of its arguments. */
int nl_py_fault_check_graph(PyObject *kernels, PyObject *launches, CUstream stream);

#endif
