/* py/kernel: the types Module (a loaded image) and Kernel (a function of a module). */
#ifndef NL_PY_KERNEL_H
#define NL_PY_KERNEL_H

#include "py/state.h"
#include "core/launch.h"

typedef struct nl_py_module {
    PyObject_HEAD nl_py_state *state;
    nl_module *module;
    PyObject *kept; /* object that owns memory to which the module's variables point, or NULL */
    PyObject *weakrefs;
} nl_py_module;

typedef struct nl_py_kernel {
    PyObject_HEAD nl_kernel *kernel;
    PyObject *module;     /* nl_py_module */
    PyObject *parameters; /* tuple, as passed */
    PyObject *hook;       /* fault hook, or NULL */
    CUdeviceptr fault;    /* address of the record; 0: none */
    size_t fault_size;
    PyObject *weakrefs;
} nl_py_kernel;

/* Reads and checks a tuple of Parameter rows (numbalite/types/describe.py). 0, or -1 with an
 * exception. */
int nl_py_kernel_read_params(PyObject *tuples, nl_params *params);

int nl_py_kernel_check_after_change(const nl_py_kernel *kernel);
/* Checks that the addresses in the arguments are still valid: `epoch` is the value of
 * nl_device_epoch before the arguments were read. 0, or -1 with an exception. */
static inline int nl_py_kernel_check_addresses(const nl_py_kernel *kernel, uint64_t epoch) {
    return __builtin_expect(epoch == nl_atomic_load(&nl_device_epoch), 1)
               ? 0
               : nl_py_kernel_check_after_change(kernel);
}
/* Makes the checks of nl_py_kernel_check_addresses, then launches on the current device, which must
 * be the kernel's device. If the kernel has a fault record, waits for the kernel. 0, or -1 with an
 * exception. */
int nl_py_kernel_launch(nl_py_kernel *kernel, const nl_launch *launch, void **values,
                        uint64_t epoch);

#endif
