/* py/operand: one input or output of a ufunc or gufunc call: what it is, and where it lies. */
#ifndef NL_PY_OPERAND_H
#define NL_PY_OPERAND_H

#include "py/state.h"
#include "core/buffer.h"
#include "core/layout.h"
#include "core/scalar.h"
#include "py/hostarray.h"
#include "py/hostcopy.h"

#define NL_PY_MAX_OPERANDS 64 /* inputs, mask and outputs of one call */

typedef enum nl_py_place {
    NL_PY_PLACE_NONE,  /* an output that is to be made */
    NL_PY_PLACE_VALUE, /* a number: no dimensions, goes into the parameters of the kernel */
    NL_PY_PLACE_HOST,
    NL_PY_PLACE_DEVICE,
} nl_py_place;

/* Python's own numbers are weak (NEP 50): they take the type of the others. */
typedef enum nl_py_weak {
    NL_PY_STRONG,
    NL_PY_WEAK_INT,
    NL_PY_WEAK_FLOAT,
    NL_PY_WEAK_COMPLEX,
} nl_py_weak;

/* Large, and most of it unused: never cleared as a whole. */
typedef struct nl_py_operand {
    PyObject *given; /* as the caller passed it, borrowed; outputs return it */
    PyObject *array; /* strong: a DeviceArray or NumPy array; NULL for values */
    uint8_t place;   /* nl_py_place */
    uint8_t weak;    /* nl_py_weak, of values */
    uint8_t dtype;   /* nl_dtype; NL_OPAQUE: nothing that a kernel takes */
    uint8_t readonly;
    uint8_t
        copied;   /* NL_PY_TRANSFER_IN, _OUT: which ways nl_py_operands_enter and _leave copy it */
    uint8_t made; /* by nl_py_operand_make: not the caller's */
    int ndim;
    int64_t itemsize;
    uint64_t address; /* of the first element, on the host or, once entered, on the device */
    const int64_t *shape, *strides; /* of what is at address */
    nl_scalar value;                /* VALUE */
    nl_buffer *buffer;              /* of nl_py_operand_separate */
    int64_t dims[2 * NL_MAX_DIMS];  /* shape and strides, where nobody else keeps them */
} nl_py_operand;

#define NL_PY_MAX_FOLLOWERS 4

/* What one call is about: large, and never cleared as a whole. */
typedef struct nl_py_operation {
    nl_py_state *state;
    PyObject *name; /* of the ufunc, for messages: borrowed */
    nl_device *device;
    CUstream stream;
    int blocking;   /* the stream is ordered with the legacy default stream */
    uint64_t epoch; /* nl_device_epoch when the operands began to be read */
    int follower_count;
    CUstream followers[NL_PY_MAX_FOLLOWERS]; /* of other libraries: wait for the call's work */
    nl_py_hostcopies hosts;
} nl_py_operation;

/* On the default stream of no device yet. */
static inline void nl_py_operation_init(nl_py_operation *call, nl_py_state *state, PyObject *name) {
    call->state = state;
    call->name = name;
    call->device = NULL;
    call->stream = NULL;
    call->blocking = 1;
    call->follower_count = 0;
    nl_py_hostcopies_init(&call->hosts, 0);
}
/* Fills *op; nl_py_operand_clear afterwards, also on failure. `index` counts from 0, for messages.
 * Device arrays of other libraries have been waited for, and every device memory is on call->device
 * and ordered before call->stream. 0 or -1 with an exception. */
int nl_py_operand_read(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op);
/* The same for an output: an array that can be written, whose elements do not overlap. */
int nl_py_operand_read_out(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op);
/* The same for an input that the function writes, too. */
int nl_py_operand_read_written(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op);
void nl_py_operand_clear(nl_py_operand *op);
/* An output that is to be made. */
static inline void nl_py_operand_none(nl_py_operand *op) {
    op->given = op->array = NULL;
    op->buffer = NULL;
    op->weak = NL_PY_STRONG;
    op->place = NL_PY_PLACE_NONE;
    op->copied = op->made = 0;
    op->ndim = 0;
}
/* For _choose: the numpy dtype, or int, float, complex for what is weak. New reference. */
PyObject *nl_py_operand_type(const nl_py_operand *op);
/* Writes a VALUE as `dtype`: OverflowError for a Python int that does not fit; TypeError for a
 * Python float that an integer type has not, unless `may_lose`. */
int nl_py_operand_value(const nl_py_operand *op, nl_dtype dtype, int may_lose, void *bytes);

/* Makes op an array of this geometry on the device or the host, for an output. The strides are
 * those of a block without gaps. */
int nl_py_operand_make(nl_py_operation *call, nl_py_operand *op, int on_device, nl_dtype dtype,
                       int ndim, const int64_t *shape, const int64_t *strides);
/* Every operand with `copied` set, which is a HOST one, gets memory on the device (py/hostcopy).
 * Dimensions that do not move on the host do not on the device either; else the copy has no gaps
 * and the order of the original. address and strides are the device's afterwards. */
int nl_py_operands_enter(nl_py_operation *call, nl_py_operand *ops, int count, nl_py_reads reads);
/* After the launch: later work of the libraries that operands come from is ordered after it, and
 * results go back to the host, which waits for the stream. */
int nl_py_operands_leave(nl_py_operation *call, nl_py_operand *ops, int count);
/* Gives back what nl_py_operands_enter took; on any path. */
static inline void nl_py_operands_done(nl_py_operation *call) {
    nl_py_hostcopies_clear(&call->hosts);
}
/* For an input that shares memory with an output: a copy on the device takes its place. */
int nl_py_operand_separate(nl_py_operation *call, nl_py_operand *op);
/* The result that an output stands for: the given object, or what was made, a NumPy scalar if
 * `scalars` and it has no dimensions. New reference. */
PyObject *nl_py_operand_result(nl_py_operand *op, int scalars);

/* Geometry of what is at the addresses. */
/* 0: no byte in common (or none surely written before it is read by another thread: the very same
 * elements if `same_is_fine`), else 1. May say 1 where there is none. */
int nl_py_operands_overlap(const nl_py_operand *a, const nl_py_operand *b, int same_is_fine);

/* A shape that takes part in broadcasting. */
typedef struct nl_py_shape {
    int ndim;
    const int64_t *sizes;
} nl_py_shape;
/* "(2,3) (3,)", as NumPy writes shapes: new reference. */
PyObject *nl_py_shape_text(const nl_py_shape *shapes, int count);
/* The shape that all of these broadcast to: fills sizes[NL_MAX_DIMS] and returns ndim, or -1 with
 * NumPy's ValueError. */
int nl_py_broadcast(const nl_py_operation *call, const nl_py_shape *shapes, int count,
                    int64_t *sizes);

#endif
