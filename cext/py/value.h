/* py/value: what a Python value is to a call: a number, an array or a record in some memory, or
 * another object. Kernels, ufuncs, generalized ufuncs and functions on the host read their
 * arguments here, each one once in a call. */
#ifndef NL_PY_VALUE_H
#define NL_PY_VALUE_H

#include "py/state.h"
#include "core/scalar.h"
#include "py/devarray.h"
#include "py/dlpack.h"
#include "py/exchange.h"
#include "py/hostarray.h"

typedef enum nl_py_value_kind {
    NL_PY_VALUE_OTHER,  /* none of the following, or not exported yet: nl_py_value_export */
    NL_PY_VALUE_NUMBER, /* Python's or NumPy's */
    NL_PY_VALUE_HOST,   /* an array, or a record, in the memory of the host */
    NL_PY_VALUE_DEVICE, /* an array that kernels use where it is: device, managed or mapped memory
                         */
} nl_py_value_kind;

/* Large, and most of it unused: never cleared as a whole. From `element` on: of arrays. */
typedef struct nl_py_value {
    struct nl_py_value *next; /* among those of a call */
    PyObject *given;          /* as it was passed */
    PyObject *object;         /* without cuda.In, cuda.Out, cuda.InOut: given keeps it */
    PyObject *array; /* the DeviceArray or numpy.ndarray that it is (then the object itself) or that
                      * was made of it; NULL: none, or another library's with the interface */
    uint8_t kind;    /* nl_py_value_kind */
    uint8_t mode;    /* NL_PY_TRANSFER_IN and _OUT, 0: not said */
    uint8_t exported;  /* there is no DLPack left to ask for */
    uint8_t converted; /* `number` is what it converts to */
    uint8_t is_record, is_masked, is_readonly;
    uint8_t order;      /* NL_PY_ARRAY_C, NL_PY_ARRAY_F */
    uint8_t misaligned; /* low bits that addresses of elements have */
    uint32_t runs;      /* of the call, when it was read: see nl_py_values */
    int found;          /* what nl_py_type_code says, and -2: it has not been asked */
    uint32_t code;
    const char *reason;
    nl_scalar number;
    nl_element element;
    int ndim;
    CUdeviceptr address; /* of the first element */
    const int64_t *shape, *strides;
    PyObject *descr; /* borrowed; NULL for plain elements of other libraries' arrays */
    union {
        nl_host_array host;    /* HOST */
        nl_py_foreign foreign; /* DEVICE without `array` */
    } memory;
} nl_py_value;

/* Reads what can be said without a stream: arrays by their class or the CUDA Array Interface.
 * 0, or -1 with an exception; then, or after nl_py_value_clear, nothing is held. `obj` has to
 * live as long. */
int nl_py_value_read(nl_py_state *state, PyObject *obj, nl_py_value *v);
void nl_py_value_clear(nl_py_value *v);
/* What nl_py_value_read says of a DeviceArray; holds nothing. */
void nl_py_value_of_array(nl_py_value *v, PyObject *array);
/* OTHER: asks for DLPack, once, so that it becomes HOST or DEVICE if it has it. 0 or -1. */
int nl_py_value_export(nl_py_state *state, nl_py_value *v, CUstream stream);
/* DEVICE: is the producer's work on a stream without order with `stream`? 1 and *other, or 0. */
int nl_py_value_needs_order(const nl_py_value *v, CUstream stream, int blocking, CUstream *other);
/* DEVICE: orders later work on `stream` after the producer's work so far. */
int nl_py_value_wait(const nl_py_value *v, CUstream stream, int blocking);
/* The array of HOST and DEVICE, made if need be: borrowed. */
PyObject *nl_py_value_array(nl_py_state *state, nl_py_value *v);
/* A number of Python's or NumPy's own, without running Python code: 1, 0 if it is none, -1. */
int nl_py_number_read(PyObject *obj, nl_scalar *number);

#define NL_PY_FEW_VALUES 4

/* The values of one call that are no plain numbers and no plain device arrays. */
typedef struct nl_py_values {
    nl_py_state *state;
    nl_device *device; /* NULL: the call is not on one */
    CUstream stream;
    int blocking;   /* the stream is ordered with the legacy default stream */
    uint64_t epoch; /* nl_device_epoch when the first one began to be read */
    uint32_t runs;  /* how often Python code may have run: host arrays read before may have moved */
    nl_dl_current current; /* of tensors whose class shares its C functions */
    int count;
    nl_py_value *first;
    nl_py_value few[NL_PY_FEW_VALUES];
} nl_py_values;

/* Cheap, whatever the size of the struct. */
static inline void nl_py_values_init(nl_py_values *values, nl_py_state *state, nl_device *device,
                                     CUstream stream, int blocking) {
    values->state = state;
    values->device = device;
    values->stream = stream;
    values->blocking = blocking;
    values->epoch = nl_atomic_load(&nl_device_epoch);
    values->runs = 0;
    values->current.of = NULL;
    values->count = 0;
    values->first = NULL;
}
/* Has it been read? */
static inline int nl_py_values_has(const nl_py_values *values, PyObject *obj) {
    const nl_py_value *v = values->first;
    while (v && v->given != obj)
        v = v->next;
    return v != NULL;
}
/* What the object is, read when it is first asked for. It stays where it is until the end of the
 * call, and keeps what it is about. NULL with an exception. */
nl_py_value *nl_py_values_read(nl_py_values *values, PyObject *obj);
/* The same, and asks for DLPack. */
nl_py_value *nl_py_values_export(nl_py_values *values, PyObject *obj);
/* What converts to a number: 1 and *number, 0 if it is nothing of the kind, -1 with an exception.
 * What is in device memory is read in the order of the call's stream. */
int nl_py_values_number(nl_py_values *values, PyObject *obj, nl_scalar *number);
/* The element of a device array without dimensions, read in that order: new reference. */
PyObject *nl_py_values_element(nl_py_values *values, PyObject *array);
/* A new list of the arrays that were made for this call, NULL without an exception if there are
 * none. */
PyObject *nl_py_values_made(const nl_py_values *values);
void nl_py_values_release(nl_py_values *values);
/* Gives everything back; on any path, with or without an exception, which stays. */
static inline void nl_py_values_clear(nl_py_values *values) {
    if (__builtin_expect(values->count != 0, 0))
        nl_py_values_release(values);
}

/* What a value is, for messages: "float64 array of shape (100,)". */
const char *nl_py_value_describe(nl_py_state *state, PyObject *value, char *text, size_t size);

#endif
