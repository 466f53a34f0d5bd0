/* py/dispatcher: the type Dispatcher, which selects the kernel for the arguments of a call. */
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
    PyObject *parameters; /* names of the parameters, a tuple of str, or NULL */
    PyObject *defaults;   /* default values of the last parameters, a tuple, or NULL */
    PyObject *warn_host;  /* or NULL */
    int typed, cooperative;
    PyObject *warn_small; /* or NULL */
    uint32_t warned, warned_small;
    unsigned cluster[3];
    nl_py_overloads overloads; /* kernels by type codes; if `typed`, one kernel for any arguments */
    /* Ring buffer of the last launch shapes that passed the check against the limits: k[g, b](...)
     * creates a new launcher in each call. The ring buffer is guarded by the object's critical
     * section. */
    struct {
        nl_launch shape;
        nl_py_overload *overload;
    } checked[NL_PY_CHECKED_SHAPES];
    unsigned next_checked;
    PyObject *weakrefs;
} nl_py_dispatcher;

/* Returns whether the kernel can still run and fits these arguments. Never raises. Values that it
 * reads are stored in `read`, which also contains the device. */
int nl_py_dispatcher_overload_fits(const nl_py_dispatcher *d, const nl_py_overload *overload,
                                   nl_py_values *read, PyObject *const *args, Py_ssize_t nargs);
/* Returns the kernel for these arguments, after checking the launch shape against its limits. Calls
 * _resolve if no kernel for these arguments exists yet. NULL with an exception. */
nl_py_overload *nl_py_dispatcher_find(nl_py_dispatcher *d, const nl_launch *shape,
                                      nl_py_values *read, PyObject *const *args, Py_ssize_t nargs);
/* Adds a kernel to the table. NULL with an exception. */
nl_py_overload *nl_py_dispatcher_add(nl_py_dispatcher *d, nl_device *dev, const uint32_t *codes,
                                     Py_ssize_t count, PyObject *kernel);
/* Raises Python's TypeError for a call with the wrong number of arguments. `given[i]` is NULL for
 * a missing argument. The message uses the parameter names of the kernel, or of the dispatcher if
 * the kernel is NULL. */
void nl_py_dispatcher_raise_argument_count(nl_py_dispatcher *d, const nl_kernel *kernel,
                                           PyObject *const *given, Py_ssize_t nargs,
                                           Py_ssize_t wanted);

#endif
