/* py/argument: Python values into parameter blocks. */
#ifndef NL_PY_ARGUMENT_H
#define NL_PY_ARGUMENT_H

#include "py/state.h"
#include "core/kernel.h"
#include "py/hostcopy.h"
#include "py/value.h"

/* One launch, or one call of a function on the host, while its arguments are written. */
typedef struct nl_py_call {
    nl_py_state *state;
    const char *name; /* for messages */
    const nl_params *params;
    nl_kernel *kernel; /* NULL on the host */
    nl_device *device; /* NULL: on the host, where arrays are used in place */
    CUstream stream;
    int blocking;     /* the stream is ordered with the legacy default stream */
    int may_visit;    /* arrays of another device may pass, where the user has let the device in: */
    uint64_t visited; /* bit per ordinal of those devices */
    uint64_t epoch;   /* nl_device_epoch when the first one began to be read */
    nl_py_values *values;
    int implicit; /* some host array came without In, Out or InOut */
    nl_py_hostcopies hosts;
} nl_py_call;

/* Writes argument `index` at its place in `block`, or raises an exception that names kernel,
 * parameter and both types. Host arrays are noted in call->hosts. */
int nl_py_argument_write(nl_py_call *call, int index, PyObject *value, unsigned char *block);
/* Refuses host arrays that overlap where one is written. */
int nl_py_argument_check_apart(const nl_py_call *call);
/* Where the host arrays are on the device, once they are there. */
void nl_py_argument_write_addresses(const nl_py_call *call, unsigned char *block);
/* "saxpy(): parameter 2 'x': expected ..., got ..." and then what the format says. Returns -1. */
int nl_py_argument_refuse(const nl_py_call *call, int index, PyObject *value, PyObject *exception,
                          const char *format, ...);

#endif
