/* py/librarycall: functions of CUDA's libraries, and the numbers that they take. */
#ifndef NL_PY_LIBRARYCALL_H
#define NL_PY_LIBRARYCALL_H

#include "py/state.h"
#include "driver/cudalib.h"

/* A number, with what belongs to it; see py/libraryvalue. */
typedef struct nl_py_libraryvalue {
    PyObject_HEAD nl_py_state *state;
    uintptr_t number;
    PyObject *kept;    /* a tuple, of which arrays are used, or any other object */
    PyObject *destroy; /* a LibraryCall, another callable, or None */
    void *device;      /* that it was made on, with its generation then */
    uint64_t generation;
} nl_py_libraryvalue;

/* That of a LibraryCall; NULL for other objects. */
nl_cudalib_function nl_py_librarycall_function(const nl_py_state *state, PyObject *object);

#endif
