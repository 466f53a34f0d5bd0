/* py/dispatcher: the types Dispatcher and Launcher: from k[grid, block](...) to a kernel. */
#ifndef NL_PY_DISPATCHER_H
#define NL_PY_DISPATCHER_H

#include "py/state.h"
#include "core/launch.h"
#include "py/kernel.h"

#define NL_PY_CHECKED_SHAPES 8

/* A kernel for one list of argument types on one device. Made once and kept as long as the
 * dispatcher, so that launches may point at it without a reference. */
typedef struct nl_py_entry {
    struct nl_py_entry *next;
    nl_device *device;
    nl_py_kernel *kernel; /* strong */
    uint32_t dead;        /* dropped by _clear: for nobody any more */
    int count;            /* of codes; -1: takes whatever arguments there are */
    uint32_t codes[];
} nl_py_entry;

typedef struct nl_py_dispatcher {
    PyObject_HEAD nl_py_state *state;
    PyObject *name;       /* str */
    PyObject *parameters; /* tuple of str, or NULL: not known */
    PyObject *warn_host;  /* or NULL */
    int typed, cooperative;
    uint32_t warned;
    unsigned cluster[3];
    void *entries; /* nl_py_entry: the newest first; grows only, under the object's critical section
                    */
    /* Shapes that have been checked against the limits, the latest in a ring: k[g, b](...) makes a
     * new launcher each time. Under the object's critical section. */
    struct {
        nl_launch shape;
        nl_py_entry *entry;
    } checked[NL_PY_CHECKED_SHAPES];
    unsigned next_checked;
    PyObject *weakrefs;
} nl_py_dispatcher;

/* Does the entry fit, and is its kernel still there? Never raises. */
int nl_py_entry_matches(nl_py_state *state, nl_py_entry *entry, const nl_device *dev,
                        PyObject *const *args, Py_ssize_t nargs);
/* The entry for these arguments on dev, with the shape checked against its limits; asks Python if
 * there is none. NULL with an exception. */
nl_py_entry *nl_py_dispatcher_find(nl_py_dispatcher *d, const nl_launch *shape, nl_device *dev,
                                   PyObject *const *args, Py_ssize_t nargs);
/* TypeError in Python's words, for a call with the wrong number of arguments. `given[i]` NULL:
 * missing. The names are the kernel's, or without one (NULL) the dispatcher's. */
void nl_py_dispatcher_refuse_count(nl_py_dispatcher *d, const nl_kernel *kernel,
                                   PyObject *const *given, Py_ssize_t nargs, Py_ssize_t wanted);
/* A launcher of this configuration. */
PyObject *nl_py_launcher_new(nl_py_dispatcher *d, const nl_launch *shape, int blocking,
                             PyObject *stream);

#endif
