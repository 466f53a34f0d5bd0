/* py/argument: Python values into parameter blocks, and the codes by which overloads are told
 * apart. */
#ifndef NL_PY_ARGUMENT_H
#define NL_PY_ARGUMENT_H

#include "py/state.h"
#include "core/kernel.h"
#include "py/hostarray.h"
#include "py/staging.h"

/* A type code: bits 0-7 nl_dtype, 8-13 ndim, 14-15 nl_order, 16-19 kind (0 value, 1 array, 3 array
 * that is read-only, 4 another object), 20-31 index of what else there is to say: the dtype of
 * records, dates and times; of other objects None, a dtype, or for a tuple its class and the codes
 * of its items as bytes. Records and arrays without dimensions are arrays to a
 * kernel, which refers to them, and values to a function on the host. */
#define NL_PY_CODE_ARRAY (1u << 16)
#define NL_PY_CODE_READONLY (2u << 16)
#define NL_PY_CODE_OBJECT (4u << 16)
#define NL_PY_CODE_INDEX_SHIFT 20
#define NL_PY_CODE_INDEX_MAX 4095

static inline uint32_t nl_py_code_array(nl_dtype dtype, int ndim, int is_c, int is_f,
                                        uint32_t index) {
    nl_order order = is_c ? NL_ORDER_C : is_f ? NL_ORDER_F : NL_ORDER_ANY;
    return (uint32_t)dtype | index << NL_PY_CODE_INDEX_SHIFT | NL_PY_CODE_ARRAY |
           (uint32_t)ndim << 8 | (uint32_t)order << 14;
}

/* One launch, or one call of a function on the host, while its arguments are written. */
typedef struct nl_py_call {
    nl_py_state *state;
    const char *name; /* for messages */
    const nl_params *params;
    nl_kernel *kernel; /* NULL on the host */
    nl_device *device; /* NULL: on the host, where arrays are used in place */
    CUstream stream;
    int blocking;     /* the stream is ordered with the legacy default stream */
    int strayed;      /* some value had to be asked in Python, where anything can happen */
    int may_visit;    /* arrays of another device may pass, where the user has let the device in: */
    uint64_t visited; /* bit per ordinal of those devices */
    uint64_t epoch;   /* nl_device_epoch when the first one began to be read */
    PyObject *kept;   /* list of arrays made for this launch, or NULL */
    nl_py_staging staging;
} nl_py_call;

/* Writes argument `index` at its place in `block`, or raises an exception that names kernel,
 * parameter and both types. Host arrays are noted in call->staging. */
int nl_py_argument_write(nl_py_call *call, int index, PyObject *value, unsigned char *block);
/* "saxpy(): parameter 2 'x': expected ..., got ..." and then what the format says. Returns -1. */
int nl_py_argument_refuse(const nl_py_call *call, int index, PyObject *value, PyObject *exception,
                          const char *format, ...);
/* What a value is, for messages: "float64 array of shape (100,)". */
const char *nl_py_argument_describe(nl_py_state *state, PyObject *value, char *text, size_t size);

/* What converts to a number: 1 and *scalar, 0 if it is nothing of the kind, -1 with an exception.
 */
int nl_py_scalar_read(nl_py_state *state, PyObject *value, nl_scalar *scalar);
/* The same for a launch: what is in device memory is read in its stream's order. */
int nl_py_argument_number(const nl_py_call *call, PyObject *value, nl_scalar *scalar);
/* And what is in a device array without dimensions, as a NumPy scalar: new reference. */
PyObject *nl_py_argument_fetch(const nl_py_call *call, PyObject *array);

/* py/typecode */
/* The type code of a value, from what it is alone: 1, or 0 with *reason for a value that no kernel
 * takes, or -1 with an exception. */
int nl_py_type_code(nl_py_state *state, PyObject *value, uint32_t *code, const char **reason);
/* The dtype that a code of a dtype stands for, or NL_OPAQUE. */
nl_dtype nl_py_code_dtype(nl_py_state *state, uint32_t code);
/* The same for a function on the host, which takes arrays as they lie. */
int nl_py_host_type_code(nl_py_state *state, PyObject *value, uint32_t *code, const char **reason);
/* The exception for a value without a code: "`where`: `value` cannot be passed to a `what`: ...".
 */
void nl_py_type_code_refuse(nl_py_state *state, PyObject *value, const char *where,
                            const char *what, const char *reason);

#endif
