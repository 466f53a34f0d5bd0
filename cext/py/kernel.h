/* py/kernel: the types Module and Kernel: a loaded image and its functions. */
#ifndef NL_PY_KERNEL_H
#define NL_PY_KERNEL_H

#include "py/state.h"
#include "core/launch.h"

typedef struct nl_py_module {
    PyObject_HEAD nl_py_state *state;
    nl_module *module;
    PyObject *weakrefs;
} nl_py_module;

typedef struct nl_py_kernel {
    PyObject_HEAD nl_kernel *kernel;
    PyObject *module;     /* nl_py_module */
    PyObject *parameters; /* tuple, as given */
    PyObject *hook;       /* of faults, or NULL */
    CUdeviceptr fault;    /* address of the record; 0: none */
    size_t fault_size;
    PyObject *weakrefs;
} nl_py_kernel;

/* A tuple of Parameter rows (numbalite/describe.py), checked. 0, or -1 with an exception. */
int nl_py_params_from(PyObject *tuples, nl_params *params);

/* Launches on the current device, which is the kernel's; a kernel that reports faults is waited
 * for. 0 or -1 with an exception. */
int nl_py_kernel_run(nl_py_kernel *kernel, const nl_launch *launch, void **values);

#endif
