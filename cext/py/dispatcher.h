/* py/dispatcher: Dispatcher: from the arguments of a call to a kernel. */
#ifndef NL_PY_DISPATCHER_H
#define NL_PY_DISPATCHER_H

#include "py/state.h"
#include "core/launch.h"
#include "py/overloads.h"
#include "py/value.h"

#define NL_PY_CHECKED_SHAPES 8

typedef struct nl_py_dispatcher {
    PyObject_HEAD nl_py_state *state;
    PyObject *name;       /* str */
    PyObject *parameters; /* tuple of str, or NULL: not known */
    PyObject *defaults;   /* tuple of the values of the last parameters, or NULL */
    PyObject *warn_host;  /* or NULL */
    int typed, cooperative;
    PyObject *warn_small; /* or NULL */
    uint32_t warned, warned_small;
    unsigned cluster[3];
    nl_py_overloads overloads; /* by the type codes of the arguments; typed: one for any */
    /* Shapes that have been checked against the limits, the latest in a ring: k[g, b](...) makes a
     * new launcher each time. Under the object's critical section. */
    struct {
        nl_launch shape;
        nl_py_overload *overload;
    } checked[NL_PY_CHECKED_SHAPES];
    unsigned next_checked;
    PyObject *weakrefs;
} nl_py_dispatcher;

/* Is its kernel there, and is it the one for these arguments? Never raises. What is read of them
 * is noted in `read`, which says the device. */
int nl_py_dispatcher_fits(const nl_py_dispatcher *d, const nl_py_overload *overload,
                          nl_py_values *read, PyObject *const *args, Py_ssize_t nargs);
/* The kernel for these arguments, with the shape checked against its limits; asks Python if
 * there is none. NULL with an exception. */
nl_py_overload *nl_py_dispatcher_find(nl_py_dispatcher *d, const nl_launch *shape,
                                      nl_py_values *read, PyObject *const *args, Py_ssize_t nargs);
/* Remembers a kernel; NULL with an exception. */
nl_py_overload *nl_py_dispatcher_add(nl_py_dispatcher *d, nl_device *dev, const uint32_t *codes,
                                     Py_ssize_t count, PyObject *kernel);
/* TypeError in Python's words, for a call with the wrong number of arguments. `given[i]` NULL:
 * missing. The names are the kernel's, or without one (NULL) the dispatcher's. */
void nl_py_dispatcher_refuse_count(nl_py_dispatcher *d, const nl_kernel *kernel,
                                   PyObject *const *given, Py_ssize_t nargs, Py_ssize_t wanted);

#endif
