/* py/value: reads a Python value as the argument of a call: a number, an array or a record in
 * some memory, or another object. Kernels, ufuncs, generalized ufuncs and host functions use this
 * file to read their arguments. Each argument is read only once per call. */
#ifndef NL_PY_VALUE_H
#define NL_PY_VALUE_H

#include "py/state.h"
#include "core/scalar.h"
#include "py/devarray.h"
#include "py/dlpack.h"
#include "py/arrayinterface.h"
#include "py/hostarray.h"

typedef enum nl_py_value_kind {
    /* any other object, or an array that nl_py_value_read_dlpack has not yet exported */
    NL_PY_VALUE_OTHER,
    NL_PY_VALUE_NUMBER, /* a Python or NumPy number */
    NL_PY_VALUE_HOST,   /* an array or a record in host memory */
    NL_PY_VALUE_DEVICE, /* an array that kernels can access: device, managed or mapped memory */
} nl_py_value_kind;

/* The struct is large and mostly unused, so members are initialized only when they are needed. The
 * fields from `element` on are valid only for arrays. */
typedef struct nl_py_value {
    struct nl_py_value *next; /* next value of the same call */
    PyObject *given;          /* the argument as passed */
    /* the object without its cuda.In, cuda.Out or cuda.InOut; kept alive by `given` */
    PyObject *object;
    PyObject *array;   /* DeviceArray or numpy.ndarray: `object`, or an array created from it, or
                        * NULL */
    uint8_t kind;      /* nl_py_value_kind */
    uint8_t mode;      /* NL_PY_TRANSFER_IN and _OUT; 0 if not specified */
    uint8_t exported;  /* DLPack was tried */
    uint8_t converted; /* whether `number` is the result of converting the object */
    uint8_t is_record, is_masked, is_readonly;
    uint8_t order;      /* NL_PY_ARRAY_C, NL_PY_ARRAY_F */
    uint8_t misaligned; /* bitwise OR of the low bits of the elements' addresses */
    uint32_t runs;      /* value of `runs` of nl_py_values when the value was read */
    int found;          /* result of nl_py_type_code; -2 before nl_py_type_code is called */
    uint32_t code;
    const char *reason;
    nl_scalar number;
    nl_element element;
    int ndim;
    CUdeviceptr address; /* of the first element */
    const int64_t *shape, *strides;
    PyObject *descr; /* a borrowed reference; NULL for plain elements of other libraries' arrays */
    union {
        nl_host_array host;    /* HOST */
        nl_py_foreign foreign; /* DEVICE without `array` */
    } memory;
} nl_py_value;

/* Reads all properties that do not depend on a stream: arrays by their class or by the CUDA Array
 * Interface. Returns 0, or -1 with an exception; after -1, or after nl_py_value_clear, the struct
 * contains no reference. The caller must keep `obj` alive until nl_py_value_clear. */
int nl_py_value_read(nl_py_state *state, PyObject *obj, nl_py_value *v);
void nl_py_value_clear(nl_py_value *v);
/* Fills *v for a DeviceArray like nl_py_value_read, but without taking a reference. */
void nl_py_value_of_array(nl_py_value *v, PyObject *array);
/* For values of kind OTHER, tries DLPack once: if the object supports it, the kind becomes HOST or
 * DEVICE. 0, or -1 with an exception. */
int nl_py_value_read_dlpack(nl_py_state *state, nl_py_value *v, CUstream stream);
/* For DEVICE values, returns whether the producer's work is on a stream that is not ordered with
 * `stream`. Returns 1 and
 * *other, or 0. */
int nl_py_value_needs_stream_order(const nl_py_value *v, CUstream stream, int blocking,
                                   CUstream *other);
/* For DEVICE values, makes later work on `stream` wait for the producer's earlier work. */
int nl_py_value_order_stream(const nl_py_value *v, CUstream stream, int blocking);
/* For HOST and DEVICE values, returns a borrowed reference to the array. The array is created if
 * necessary. Returns NULL with an exception. */
PyObject *nl_py_value_get_array(nl_py_state *state, nl_py_value *v);
/* Reads a Python or NumPy number without running Python code. Returns 1 on success, 0 if the object
 * is not a number, -1 with an exception. */
int nl_py_value_read_number(PyObject *obj, nl_scalar *number);

#define NL_PY_STACK_VALUES 4

/* The values of one call; plain numbers and plain device arrays are not stored. */
typedef struct nl_py_values {
    nl_py_state *state;
    nl_device *device; /* NULL if the call does not run on a device */
    CUstream stream;
    int blocking;   /* nonzero if the stream is ordered with the legacy default stream */
    uint64_t epoch; /* value of nl_device_epoch when this struct was initialized */
    /* number of times that Python code, which may reallocate host arrays, may have run */
    uint32_t runs;
    nl_dl_current current; /* the current stream of a class with DLPack's exchange API */
    int count;
    nl_py_value *first;
    nl_py_value on_stack[NL_PY_STACK_VALUES];
} nl_py_values;

/* Makes the struct empty, without initializing all of it. The other fields are not read before the
 * first value is added. */
static inline void nl_py_values_init(nl_py_values *values, nl_py_state *state, nl_device *device,
                                     CUstream stream, int blocking) {
    values->state = state;
    values->device = device;
    values->stream = stream;
    values->blocking = blocking;
    values->epoch = nl_atomic_load(&nl_device_epoch);
    values->runs = 0;
    nl_dl_current_init(&values->current);
    values->count = 0;
    values->first = NULL;
}
/* Returns whether the object was already read in this call. */
static inline int nl_py_values_contain(const nl_py_values *values, PyObject *obj) {
    const nl_py_value *v = values->first;
    while (v && v->given != obj)
        v = v->next;
    return v != NULL;
}
/* Returns the value of the object, which the function reads only at the first call. The pointer is
 * valid until
 * the end of the call, and the value keeps the object alive. Returns NULL with an exception. */
nl_py_value *nl_py_values_read(nl_py_values *values, PyObject *obj);
/* Returns the value like nl_py_values_read, but also tries DLPack. */
nl_py_value *nl_py_values_read_dlpack(nl_py_values *values, PyObject *obj);
/* Converts an object to a number. Returns 1 and *number, 0 if the
 * object cannot be converted, -1 with an exception. An element in device memory is read in the
 * order of the call's stream. */
int nl_py_values_read_number(nl_py_values *values, PyObject *obj, nl_scalar *number);
/* Reads the element of a 0-D device array, in the order of the call's stream. Returns a new
 * reference. */
PyObject *nl_py_values_read_element(nl_py_values *values, PyObject *array);
/* Returns a new list of the arrays that were created for this call, or NULL if no array was created
 * (or with an exception). */
PyObject *nl_py_values_list_created_arrays(const nl_py_values *values);
void nl_py_values_release(nl_py_values *values);
/* Releases all values. Call this function on every code path, with or without an exception set. An
 * exception that is set remains set. */
static inline void nl_py_values_clear(nl_py_values *values) {
    if (__builtin_expect(values->count != 0, 0))
        nl_py_values_release(values);
}

/* Describes a value for messages, such as "float64 array of shape (100,)". */
const char *nl_py_value_describe(nl_py_state *state, PyObject *value, char *text, size_t size);

#endif
