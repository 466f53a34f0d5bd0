/* py/argument: writes Python values to parameter blocks. */
#ifndef NL_PY_ARGUMENT_H
#define NL_PY_ARGUMENT_H

#include "py/state.h"
#include "core/kernel.h"
#include "py/hostcopy.h"
#include "py/value.h"

/* One launch, or one call of a host function, while its arguments are written. */
typedef struct nl_py_call {
    nl_py_state *state;
    const char *name; /* for messages */
    const nl_params *params;
    nl_kernel *kernel; /* NULL on the host */
    nl_device *device; /* NULL for a call on the host, where arrays are used in place */
    CUstream stream;
    int blocking; /* nonzero if the stream is ordered with the legacy default stream */
    /* whether arrays of other devices are accepted, if the user has allowed peer access */
    int may_visit;
    uint64_t visited; /* bit mask of the other devices whose arrays were accepted */
    uint64_t epoch;   /* value of nl_device_epoch before the first argument was read */
    nl_py_values *values;
    int implicit; /* whether a host array was passed without In, Out or InOut */
    nl_py_hostcopies hosts;
} nl_py_call;

/* Writes argument `index` at its offset in `block`, or raises an exception that contains kernel,
 * parameter and both types. Host arrays are added to call->hosts. 0, or -1 with an exception. */
int nl_py_argument_write(nl_py_call *call, int index, PyObject *value, unsigned char *block);
/* Raises ValueError if two host arrays overlap and the kernel writes one of them. 0, or -1 with an
 * exception. */
int nl_py_argument_check_overlap(const nl_py_call *call);
/* Writes the addresses of the device copies of host arrays to the block. Call this function after
 * nl_py_hostcopy_start_copies. */
void nl_py_argument_write_addresses(const nl_py_call *call, unsigned char *block);
/* Raises "saxpy(): parameter 2 'x': expected ..., got ...", followed by the formatted text.
 * Returns -1. */
int nl_py_argument_raise_mismatch(const nl_py_call *call, int index, PyObject *value,
                                  PyObject *exception, const char *format, ...);

#endif
