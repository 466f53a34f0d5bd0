/* py/dlpack: imports arrays of other libraries through DLPack; py/dlpackout exports arrays.
 *
 * The structs are those of the public specification, version 1. The structs are declared here, so
 * that the build needs no header of another project. */
#ifndef NL_PY_DLPACK_H
#define NL_PY_DLPACK_H

#include "py/devarray.h"
#include "py/foreign.h"

/* Device types. */
enum {
    NL_DL_CPU = 1,
    NL_DL_CUDA = 2,
    NL_DL_CUDA_HOST = 3,    /* page-locked */
    NL_DL_CUDA_MANAGED = 13 /* accessible from the host and the device */
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

/* The struct that a capsule named "dltensor" contains. */
typedef struct nl_dl_managed {
    nl_dl_tensor tensor;
    void *context;
    void (*deleter)(struct nl_dl_managed *self);
} nl_dl_managed;

/* The struct that a capsule named "dltensor_versioned" contains. */
typedef struct nl_dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct nl_dl_versioned *self);
    uint64_t flags;
    nl_dl_tensor tensor;
} nl_dl_versioned;

/* DLPack's exchange API: C functions for the tensors of a class, without Python objects. The class
 * provides this struct as the attribute __dlpack_c_exchange_api__, in a capsule named
 * "dlpack_exchange_api". */
typedef struct nl_dl_exchange {
    uint32_t major, minor;
    struct nl_dl_exchange *previous; /* struct of an older version of the API */
    int (*allocate)(nl_dl_tensor *prototype, nl_dl_versioned **out, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*export_tensor)(void *object, nl_dl_versioned **out);
    int (*import_tensor)(nl_dl_versioned *tensor, void **object);
    int (*view_tensor)(void *object, nl_dl_tensor *out); /* optional; object keeps the memory */
    int (*current_stream)(int device_type, int32_t device_id, void **stream);
} nl_dl_exchange;

/* Releases a capsule's tensor: calls the tensor's deleter, if any. */
void nl_py_dlpack_release_tensor(void *managed, int versioned);

/* Imports an object with __dlpack__, or a capsule. Returns 1 and a new array over the memory,
 * which the array keeps alive: a DeviceArray, or a numpy.ndarray for host memory. Returns 0 if
 * `obj` has no __dlpack__, -1 with an exception. Makes later work on `stream` wait for the
 * producer's work. */
int nl_py_dlpack_import_array(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array);

/* Imports an array like nl_py_dlpack_import_array, but only from device memory and capsules.
 * Returns 0 for host memory, too. */
int nl_py_dlpack_import(nl_py_state *state, PyObject *obj, CUstream stream, PyObject **array);

/* Cached description of a tensor argument, which the call has read while it selected the kernel.
 * Shape and strides are copied into the struct. */
enum { NL_DL_VIEW_DIMS = 4 };
typedef struct nl_dl_view {
    PyObject *object;
    nl_dl_tensor tensor;
    int64_t sizes[2 * NL_DL_VIEW_DIMS];
} nl_dl_view;

typedef struct nl_dl_views {
    int count;
    nl_dl_view items[32];
} nl_dl_views;

/* Empties the cache of tensor views at the start of a call. The items are not initialized. */
static inline void nl_dl_views_init(nl_dl_views *views) {
    views->count = 0;
}
/* Caches the description of a tensor, if it has few dimensions. The caller keeps `object` alive. */
void nl_py_dlpack_add_view(nl_dl_views *views, PyObject *object, const nl_dl_tensor *tensor);

/* Data that a call reads only once: tensors, and the current stream of a class with the exchange
 * API. */
typedef struct nl_dl_current {
    const nl_dl_exchange *of; /* NULL until the current stream was read */
    PyTypeObject *type;       /* class whose exchange functions `of` contains */
    int32_t device_id;
    CUstream stream;
    const nl_dl_views *views; /* cached views of the call's tensors, or NULL */
} nl_dl_current;

/* Returns the cached view of a tensor, or NULL. */
static inline const nl_dl_view *nl_dl_find_view(const nl_dl_current *current,
                                                const PyObject *object) {
    const nl_dl_views *views = current->views;
    for (int i = 0; views && i < views->count; i++)
        if (views->items[i].object == object)
            return &views->items[i];
    return NULL;
}

static inline void nl_dl_current_init(nl_dl_current *current) {
    current->of = NULL;
    current->views = NULL;
}

/* For a tensor in device memory whose class has the exchange API: returns 1 and fills *out like
 * nl_py_arrayinterface_read. Returns 0 if the caller must use another interface of the object,
 * which also reports any error of the object. Returns -1 with an exception for a tensor whose
 * memory does not contain the values of its elements (a lazy conjugate or negative). */
int nl_py_dlpack_read(nl_py_state *state, PyObject *obj, nl_dl_current *current,
                      nl_py_foreign *out);
/* A C-contiguous tensor in device memory with at least two elements. */
typedef struct nl_dl_dense {
    CUdeviceptr address;
    int64_t sizes[2 * NL_DL_VIEW_DIMS]; /* lengths, then strides in bytes */
} nl_dl_dense;

/* Reads a tensor from its cached view, if it is dense, not complex and of this dtype, and if its
 * class's current stream is cached and is `stream` or ordered with it. Returns 1 on success, or 0
 * if nl_py_dlpack_read must read the tensor. Never raises. */
int nl_py_dlpack_read_dense(const nl_dl_view *view, const nl_dl_current *current, nl_dtype dtype,
                            CUstream stream, int blocking, nl_dl_dense *out);
/* Fills *out for a tensor of exactly the registered class; `obj` keeps the shape and strides alive.
 * Returns 1 on success, or 0 for another object, for a tensor that requires a gradient, and for a
 * tensor that cannot be viewed. Never raises. */
int nl_py_dlpack_read_view(nl_py_state *state, PyObject *obj, nl_dl_tensor *out);
/* Checks whether an object is a lazy conjugate or negative of PyTorch: a view with a flag, whose
 * memory contains the elements of the original tensor, so kernels would read wrong values. *f is
 * the description that nl_py_dlpack_read returned. Returns 1 with an exception for a lazy conjugate
 * or negative, else 0. */
int nl_py_dlpack_has_lazy_flag(const nl_py_state *state, PyObject *obj, const nl_py_foreign *f);
/* Reads the current stream of a device for an object for which nl_py_dlpack_is_registered returns
 * 1. Returns 1 on success, or -1 with an exception. If `current` belongs to a call, the stream is
 * read only once in the call. */
int nl_py_dlpack_current_stream(nl_py_state *state, PyObject *obj, int device,
                                nl_dl_current *current, CUstream *stream);
/* Returns whether the object's class is the registered class. The first class with an exchange API
 * that a call reads is registered, and no other. */
int nl_py_dlpack_is_registered(nl_py_state *state, PyObject *obj);
/* Registers the object's class if it has the exchange API and no class is registered yet, then
 * returns nl_py_dlpack_is_registered(obj). Never raises. */
int nl_py_dlpack_register(nl_py_state *state, PyObject *obj);

#endif
