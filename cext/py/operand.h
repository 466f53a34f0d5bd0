/* py/operand: describes one input or output of a ufunc or gufunc call: its type, geometry and
 * memory. */
#ifndef NL_PY_OPERAND_H
#define NL_PY_OPERAND_H

#include "py/state.h"
#include "core/buffer.h"
#include "core/layout.h"
#include "core/scalar.h"
#include "py/dlpack.h"
#include "py/hostarray.h"
#include "py/hostcopy.h"

#define NL_PY_MAX_OPERANDS 64 /* maximum number of inputs, mask and outputs of one call */

typedef enum nl_py_place {
    NL_PY_PLACE_NONE,  /* a missing output */
    NL_PY_PLACE_VALUE, /* the operand is a number, which is passed in the kernel's parameters */
    NL_PY_PLACE_HOST,
    NL_PY_PLACE_DEVICE,
} nl_py_place;

/* Python's own numbers are weak (NEP 50): they adopt the type of the other operands. */
typedef enum nl_py_weak {
    NL_PY_STRONG,
    NL_PY_WEAK_INT,
    NL_PY_WEAK_FLOAT,
    NL_PY_WEAK_COMPLEX,
} nl_py_weak;

/* The struct is large and mostly unused, so members are initialized only when they are needed. */
typedef struct nl_py_operand {
    /* the caller's object (a borrowed reference); for an output, it is also the result */
    PyObject *given;
    PyObject *array; /* strong: a DeviceArray or NumPy array; NULL for values and tensors */
    uint8_t place;   /* nl_py_place */
    uint8_t weak;    /* nl_py_weak, of values */
    uint8_t dtype;   /* an nl_dtype, or NL_OPAQUE for a type that no kernel accepts */
    uint8_t readonly;
    uint8_t copied; /* NL_PY_TRANSFER_IN, _OUT: directions of the copy */
    uint8_t made;   /* whether nl_py_operand_make_array has allocated this operand */
    int ndim;
    int64_t itemsize;
    /* address of the first element; changed to a device address by nl_py_operands_copy_to_device */
    uint64_t address;
    const int64_t *shape, *strides; /* of the array at `address` */
    nl_scalar value;                /* VALUE */
    nl_buffer *buffer;              /* the copy that nl_py_operand_copy_separate has made */
    int64_t dims[2 * NL_MAX_DIMS];  /* shape and strides, for operands whose geometry no other
                                     * object stores */
} nl_py_operand;

#define NL_PY_MAX_FOLLOWERS 4

/* The state of one ufunc or gufunc call, to which its operands refer. The struct is large, so
 * members are initialized only when they are needed. */
typedef struct nl_py_operation {
    nl_py_state *state;
    PyObject *name; /* name of the ufunc for messages (borrowed) */
    nl_device *device;
    CUstream stream;
    int blocking;   /* nonzero if the stream is ordered with the legacy default stream */
    uint64_t epoch; /* value of nl_device_epoch before the operands were read */
    /* the current stream that DLPack's exchange API returned, read once per call */
    nl_dl_current current;
    int follower_count;
    CUstream followers[NL_PY_MAX_FOLLOWERS]; /* streams of other libraries that wait for the call */
    nl_py_hostcopies hosts;
} nl_py_operation;

/* Initializes the state for the default stream, without a device. */
static inline void nl_py_operation_initialize(nl_py_operation *call, nl_py_state *state,
                                              PyObject *name) {
    call->state = state;
    call->name = name;
    call->device = NULL;
    call->stream = NULL;
    call->blocking = 1;
    nl_dl_current_init(&call->current);
    call->follower_count = 0;
    nl_py_hostcopy_init(&call->hosts, 0);
}
/* Fills *op for an input. The caller must call nl_py_operand_clear afterwards, also on failure.
 * `index` is the operand's index in messages, from 0. On success, the memory of a device array is
 * on call->device, and call->stream waits for its allocation and for pending work of other
 * libraries. 0, or -1 with an exception. */
int nl_py_operand_read(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op);
/* Reads an output like nl_py_operand_read; an output must be a writable array whose elements do not
 * overlap. */
int nl_py_operand_read_out(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op);
/* Reads an input that the function also writes, like nl_py_operand_read_out. */
int nl_py_operand_read_in_out(nl_py_operation *call, PyObject *obj, int index, nl_py_operand *op);
void nl_py_operand_clear(nl_py_operand *op);
/* Fills *op for a missing output. */
static inline void nl_py_operand_set_missing(nl_py_operand *op) {
    op->given = op->array = NULL;
    op->buffer = NULL;
    op->weak = NL_PY_STRONG;
    op->place = NL_PY_PLACE_NONE;
    op->copied = op->made = 0;
    op->ndim = 0;
}
/* Returns the argument for _choose: the numpy.dtype, or for weak numbers int, float or complex.
 * Returns a new reference. */
PyObject *nl_py_operand_type_argument(const nl_py_operand *op);
/* Converts an operand of type NL_PY_PLACE_VALUE to `dtype`. Raises OverflowError for a Python int
 * that does not fit, and TypeError for a Python float that an integer type cannot represent, unless
 * `may_lose`. */
int nl_py_operand_write_scalar(const nl_py_operand *op, nl_dtype dtype, int may_lose, void *bytes);

/* Allocates an output of this geometry on the device or the host. The strides must be those of a
 * contiguous block, in any axis order. */
int nl_py_operand_make_array(nl_py_operation *call, nl_py_operand *op, int on_device,
                             nl_dtype dtype, int ndim, const int64_t *shape,
                             const int64_t *strides);
/* Allocates device memory (py/hostcopy) for each host operand whose `copied` is nonzero, and copies
 * the inputs. Axes with stride 0 on the host have stride 0 on the device; the copy is contiguous
 * along all other axes, in the axis order of the host array. On return, the operand has the address
 * and strides of its device copy. 0, or -1 with an exception. */
int nl_py_operands_copy_to_device(nl_py_operation *call, nl_py_operand *ops, int count,
                                  nl_py_reads reads);
/* Makes later work of the libraries that own operands wait for the launch, and copies results to
 * the host, which waits for the stream. 0, or -1 with an exception. */
int nl_py_operands_copy_to_host(nl_py_operation *call, nl_py_operand *ops, int count);
/* Releases the memory of nl_py_operands_copy_to_device. Call this function on every code path. */
static inline void nl_py_operands_release_memory(nl_py_operation *call) {
    nl_py_hostcopy_clear(&call->hosts);
}
/* Replaces an input that overlaps an output by a copy in device memory. 0, or -1 with an
 * exception. */
int nl_py_operand_copy_separate(nl_py_operation *call, nl_py_operand *op);
/* Returns a new reference to the result for an output: the caller's object, or the allocated array.
 * With `scalars`, an allocated 0-D array on the host becomes a NumPy scalar. */
PyObject *nl_py_operand_result(nl_py_operand *op, int scalars);

/* ---- shape and strides of the arrays at the addresses ---- */
/* Returns 0 if the arrays certainly share no byte, else 1. With `same_is_fine`, also returns 0 for
 * arrays with exactly the same elements, because each thread then reads an element before it writes
 * that element. */
int nl_py_operands_overlap(const nl_py_operand *a, const nl_py_operand *b, int same_is_fine);

/* A shape to broadcast. */
typedef struct nl_py_shape {
    int ndim;
    const int64_t *sizes;
} nl_py_shape;
/* Returns a new reference to the shapes as text in NumPy's form, "(2,3) (3,)". */
PyObject *nl_py_operand_shape_text(const nl_py_shape *shapes, int count);
/* Computes the shape to which all operands broadcast: fills sizes[NL_MAX_DIMS] and returns ndim,
 * or -1 with NumPy's ValueError. */
int nl_py_operand_broadcast_shapes(const nl_py_operation *call, const nl_py_shape *shapes,
                                   int count, int64_t *sizes);

#endif
