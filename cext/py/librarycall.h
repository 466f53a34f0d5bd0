/* py/librarycall: callables for functions of CUDA libraries, and the numbers (handles,
 * descriptors) that they accept. */
#ifndef NL_PY_LIBRARYCALL_H
#define NL_PY_LIBRARYCALL_H

#include "py/state.h"
#include "driver/cudalib.h"

/* A number, and the objects that must live as long as it does (see py/libraryvalue). */
typedef struct nl_py_libraryvalue {
    PyObject_HEAD nl_py_state *state;
    uintptr_t number;
    PyObject *kept;    /* a tuple, whose device arrays are used by each call with the number, or any
                        * other object */
    PyObject *destroy; /* a LibraryCall, another callable, or None */
    /* device on which the value was created, and the device's generation when the value was
     * created */
    void *device;
    uint64_t generation;
} nl_py_libraryvalue;

/* Returns the C function of a LibraryCall; NULL for other objects. */
nl_cudalib_function nl_py_librarycall_function(const nl_py_state *state, PyObject *object);

#endif
