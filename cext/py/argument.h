/* py/argument: Python values into parameter blocks, and the codes by which overloads are told
 * apart. */
#ifndef NL_PY_ARGUMENT_H
#define NL_PY_ARGUMENT_H

#include "py/state.h"
#include "core/kernel.h"
#include "py/hostarray.h"
#include "py/staging.h"

/* A type code: bits 0-7 nl_dtype, 8-13 ndim, 14-15 nl_order, 16-19 kind (0 value, 1 array, 3 array
 * that is read-only), 20-31 record index. Records and arrays without dimensions are arrays to a
 * kernel, which refers to them, and values to a function on the host. */
#define NL_PY_CODE_ARRAY (1u << 16)
#define NL_PY_CODE_READONLY (2u << 16)
#define NL_PY_CODE_RECORD_SHIFT 20
#define NL_PY_CODE_RECORD_MAX 4095

static inline uint32_t nl_py_code_array(nl_dtype dtype, int ndim, int is_c, int is_f,
                                        uint32_t record) {
    nl_order order = is_c ? NL_ORDER_C : is_f ? NL_ORDER_F : NL_ORDER_ANY;
    return (uint32_t)dtype | record << NL_PY_CODE_RECORD_SHIFT | NL_PY_CODE_ARRAY |
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
/* What a value is, for messages: "float64 array of shape (100,)". */
const char *nl_py_argument_describe(nl_py_state *state, PyObject *value, char *text, size_t size);

/* What converts to a number: 1 and *scalar, 0 if it is nothing of the kind, -1 with an exception.
 */
int nl_py_scalar_read(nl_py_state *state, PyObject *value, nl_scalar *scalar);

/* py/typecode */
/* The type code of a value, from what it is alone: 1, or 0 with *reason for a value that no kernel
 * takes, or -1 with an exception. */
int nl_py_type_code(nl_py_state *state, PyObject *value, uint32_t *code, const char **reason);
/* The same for a function on the host, which takes arrays as they lie. */
int nl_py_host_type_code(nl_py_state *state, PyObject *value, uint32_t *code, const char **reason);
/* The exception for a value without a code: "`where`: `value` cannot be passed to a `what`: ...".
 */
void nl_py_type_code_refuse(nl_py_state *state, PyObject *value, const char *where,
                            const char *what, const char *reason);

#endif
