/* py/fault: reads the fault records of checked kernels (debug=True, boundscheck=True), and calls
 * the hook that raises an exception for a record. */
#ifndef NL_PY_FAULT_H
#define NL_PY_FAULT_H

#include "py/kernel.h"

/* The maximum size in bytes of numbalite::fault_record, and of the records of programs that use
 * _core directly. */
#define NL_PY_FAULT_BYTES 512

/* Sets the kernel's record and hook from fault=(variable, hook) of Module.function. 0, or -1 with
 * an exception. */
int nl_py_fault_set_hook(nl_py_kernel *kernel, nl_module *module, PyObject *fault);
/* Waits for the stream of the launch; called after a launch. If the kernel has written its fault
 * record, calls the hook with the arrays of the launch; `values` are the kernel's parameters. 0, or
 * -1 with an exception. */
int nl_py_fault_raise_recorded(const nl_py_kernel *kernel, CUstream stream, void *const *values);
/* Reads the fault records after the launch of a graph, and calls the hook like
 * nl_py_fault_raise_recorded. `kernels` is a list of the kernels with a fault record; `launches` is
 * a list of pairs of a kernel and the tuple of its arguments. */
int nl_py_fault_raise_recorded_by_graph(PyObject *kernels, PyObject *launches, CUstream stream);

#endif
