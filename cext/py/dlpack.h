/* py/dlpack: arrays of other libraries, and to them, through DLPack.
 *
 * The structs are those of the public specification, version 1, declared here so that building
 * needs no header of others. */
#ifndef NL_PY_DLPACK_H
#define NL_PY_DLPACK_H

#include "py/devarray.h"
#include "py/foreign.h"

/* Device types. */
enum {
    NL_DL_CPU = 1,
    NL_DL_CUDA = 2,
    NL_DL_CUDA_HOST = 3,    /* page-locked */
    NL_DL_CUDA_MANAGED = 13 /* reachable from both sides */
};
/* Codes of data types. */
enum {
    NL_DL_INT = 0,
    NL_DL_UINT = 1,
    NL_DL_FLOAT = 2,
    NL_DL_BFLOAT = 4,
    NL_DL_COMPLEX = 5,
    NL_DL_BOOL = 6
};
/* Flags of the versioned struct. */
#define NL_DL_READ_ONLY 1u
#define NL_DL_IS_COPIED 2u

typedef struct nl_dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
} nl_dl_tensor;

/* In a capsule named "dltensor". */
typedef struct nl_dl_managed {
    nl_dl_tensor tensor;
    void *context;
    void (*deleter)(struct nl_dl_managed *self);
} nl_dl_managed;

/* In a capsule named "dltensor_versioned". */
typedef struct nl_dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct nl_dl_versioned *self);
    uint64_t flags;
    nl_dl_tensor tensor;
} nl_dl_versioned;

/* What a class shares as __dlpack_c_exchange_api__, in a capsule named "dlpack_exchange_api": its
 * tensors as C functions, which cost no Python object. */
typedef struct nl_dl_exchange {
    uint32_t major, minor;
    struct nl_dl_exchange *previous; /* of an older version */
    int (*allocate)(nl_dl_tensor *prototype, nl_dl_versioned **out, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*export_tensor)(void *object, nl_dl_versioned **out);
    int (*import_tensor)(nl_dl_versioned *tensor, void **object);
    int (*view_tensor)(void *object, nl_dl_tensor *out); /* may be NULL; the object keeps it all */
    int (*current_stream)(int device_type, int32_t device_id, void **stream);
} nl_dl_exchange;

/* Gives a capsule's tensor back: calls its deleter, if it has one. */
void nl_py_dlpack_release(void *managed, int versioned);

/* 1 and a new array over the memory of `obj`, which is kept, if it has __dlpack__: a DeviceArray,
 * or a numpy.ndarray for the host's memory; 0 if it has not; -1 with an exception. Work on `stream`
 * comes after the producer's. */
int nl_py_dlpack_array(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array);

/* The same for memory of a device or a capsule only: 0 for memory of the host, too. */
int nl_py_dlpack_import(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array);

/* The stream on which such a class works at the time of one call of ours. `of` is NULL before it
 * was asked. */
typedef struct nl_dl_current {
    const nl_dl_exchange *of;
    int32_t device_id;
    CUstream stream;
} nl_dl_current;

/* 1 and *out filled like nl_py_foreign_read does, for a device's tensor of a class that shares its
 * C functions; 0 where the object has to be asked in other ways, which also say what is wrong with
 * it; -1 with an exception for a tensor whose memory does not hold what its elements are. */
int nl_py_dlpack_read(nl_py_state *state, PyObject *obj, nl_dl_current *current,
                      nl_py_foreign *out);
/* The current stream on a device of an object for which nl_py_dlpack_is_known: 1, or -1 with an
 * exception. Asked once in a call, if `current` is that of the call. */
int nl_py_dlpack_current(nl_py_state *state, PyObject *obj, int device, nl_dl_current *current,
                         CUstream *stream);
/* Is it of the class with such functions that was met first? */
int nl_py_dlpack_is_known(nl_py_state *state, PyObject *obj);
/* The same, if this object is of the first such class, too. Never raises. */
int nl_py_dlpack_meet(nl_py_state *state, PyObject *obj);

#endif
