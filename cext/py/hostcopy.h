/* py/hostcopy: the host arrays of one call, on the device while it runs: of kernels, ufuncs and
 * generalized ufuncs alike. */
#ifndef NL_PY_HOSTCOPY_H
#define NL_PY_HOSTCOPY_H

#include "py/state.h"
#include "core/buffer.h"
#include "core/hostblock.h"
#include "core/layout.h"
#include "core/pinned.h"
#include "py/transfer.h"

#define NL_PY_FEW_HOSTCOPIES 4

/* How often a kernel reads an element of theirs. */
typedef enum nl_py_reads {
    NL_PY_READS_ONCE,
    NL_PY_READS_SOME, /* more often where the loop repeats it */
    NL_PY_READS_ANY,  /* nobody knows */
} nl_py_reads;

/* One array, and what stands for it on the device. */
typedef struct nl_py_hostcopy {
    /* what the caller says */
    int mode;        /* NL_PY_TRANSFER_IN, _OUT */
    int tag;         /* anything */
    PyObject *array; /* borrowed; only for nl_py_hostcopies_overlap */
    char *data;      /* the first element on the host */
    nl_layout host;
    /* what is made of it */
    int same;            /* -1, or which one before has the same memory: its copy is this one's */
    nl_layout device;    /* without gaps */
    int64_t size;        /* bytes on the device */
    int64_t offset;      /* in the block of the call, or -1 */
    nl_buffer *buffer;   /* its own where it is not in the block, or NULL */
    CUdeviceptr address; /* on the device, once it is there */
} nl_py_hostcopy;

/* Large, and never cleared as a whole. From `shares` on: valid while there are some. */
typedef struct nl_py_hostcopies {
    int count;
    int shares; /* an array that is given twice is one array to the call, also where it is written
                 */
    int capacity;
    int modes; /* of all of them */
    nl_py_hostcopy *items, few[NL_PY_FEW_HOSTCOPIES];
    nl_device *device;
    CUstream stream;
    int blocking;   /* the stream is ordered with the legacy default stream */
    int is_pending; /* the device may still be using the block */
    int was_ended;  /* the wait for that was ended, so no other wait may follow */
    /* page-locked memory of the call, or NULL, what it is part of, and the device's side of it */
    char *block;
    nl_pinned *small;
    nl_host_block *large;
    nl_buffer *packed;
    CUdeviceptr address;
    int64_t used, in_end, out_begin; /* bytes of the block; those that go to the device end at
                                      * in_end, those that come back begin at out_begin */
} nl_py_hostcopies;

/* Cheap, whatever the size of the struct. */
static inline void nl_py_hostcopies_init(nl_py_hostcopies *c, int shares) {
    c->count = 0;
    c->shares = shares;
}
/* A place for one more: the caller fills in its part and adds it, and may keep the pointer until
 * the next one. NULL with an exception. */
nl_py_hostcopy *nl_py_hostcopies_next(nl_py_hostcopies *c);
/* It will lie on the device in the order 'C', 'F' or that of its own strides, 'K'. */
void nl_py_hostcopies_add(nl_py_hostcopies *c, nl_py_hostcopy *item, char order);
/* Do two of them overlap of which one is written? 1 and their tags, 0, or -1 with an exception. */
int nl_py_hostcopies_overlap(const nl_py_hostcopies *c, int *first, int *second);
/* Gets memory and copies what goes to the device; every `address` is valid then. The device is
 * bound. */
int nl_py_hostcopies_enter(nl_py_hostcopies *c, nl_device *dev, CUstream stream, int blocking,
                           nl_py_reads reads);
/* After the launch: copies back what comes back. 1 if the stream has been waited for, else 0, -1.
 */
int nl_py_hostcopies_leave(nl_py_hostcopies *c);
/* Gives everything back; on any path. */
void nl_py_hostcopies_release(nl_py_hostcopies *c);
static inline void nl_py_hostcopies_clear(nl_py_hostcopies *c) {
    if (c->count)
        nl_py_hostcopies_release(c);
}

#endif
