/* py/hostcopy: copies the host arrays of one call to the device and back, for kernels, ufuncs and
 * generalized ufuncs. */
#ifndef NL_PY_HOSTCOPY_H
#define NL_PY_HOSTCOPY_H

#include "py/state.h"
#include "core/buffer.h"
#include "core/hostblock.h"
#include "core/layout.h"
#include "core/pinned.h"
#include "py/transfer.h"

#define NL_PY_STACK_HOSTCOPIES 4

/* How often a kernel reads an element of the host arrays. */
typedef enum nl_py_reads {
    NL_PY_READS_ONCE,
    NL_PY_READS_SOME, /* several times, if the loop repeats the element (broadcasting) */
    NL_PY_READS_ANY,  /* any number of times, as in a user's kernel */
} nl_py_reads;

/* A host array and its copy on the device. */
typedef struct nl_py_hostcopy {
    /* set by the caller */
    int mode; /* NL_PY_TRANSFER_IN, _OUT */
    int tag;  /* identifies the array for the caller; nl_py_hostcopy_find_overlap returns it */
    PyObject *array; /* borrowed */
    char *data;      /* address of the first element on the host */
    nl_layout host;
    /* set by this file */
    int same; /* -an earlier item with the same elements, whose copy this item shares, or -1 */
    /* whether the user's array is contiguous page-locked memory; set by
     * nl_py_hostcopy_defer_results */
    int is_locked;
    nl_layout device;    /* contiguous */
    int64_t size;        /* bytes on the device */
    int64_t offset;      /* offset in the page-locked block of the call, or -1 */
    nl_buffer *buffer;   /* separate device memory of an array that is not in the block, or NULL */
    CUdeviceptr address; /* address on the device; valid after nl_py_hostcopy_start_copies */
} nl_py_hostcopy;

/* The struct is large, so nl_py_hostcopy_init initializes only the first fields. The fields after
 * `shares` are valid only if count > 0. */
typedef struct nl_py_hostcopies {
    int count;
    /* whether an array that is passed twice has a single copy even if the call writes to it */
    int shares;
    int capacity;
    int modes; /* bitwise OR of the modes of all items */
    nl_py_hostcopy *items, on_stack[NL_PY_STACK_HOSTCOPIES];
    nl_device *device;
    CUstream stream;
    int blocking;    /* nonzero if the stream is ordered with the legacy default stream */
    int is_deferred; /* whether the call returns before its copies are complete */
    /* whether the device may still be using the block or the arrays of a deferred call */
    int is_pending;
    /* whether the wait for the block ended early; then no other wait may follow */
    int was_ended;
    /* the page-locked block of the call, or NULL; the block that contains it (small or large);
     * its copy in device memory (packed), or NULL; the address that the device uses */
    char *block;
    nl_pinned *small;
    nl_host_block *large;
    nl_buffer *packed;
    CUdeviceptr address;
    /* byte ranges of the block: inputs [0, in_end), outputs [out_begin, used) */
    int64_t used, in_end, out_begin;
} nl_py_hostcopies;

/* Makes the struct empty. Sets only `count` and `shares`: the other fields are not read while
 * count is 0. */
static inline void nl_py_hostcopy_init(nl_py_hostcopies *c, int shares) {
    c->count = 0;
    c->shares = shares;
}
/* Returns the next free item, uninitialized. The caller fills the item and calls
 * nl_py_hostcopy_add_item; the pointer is valid until the next call of this function. Returns NULL
 * with an exception. */
nl_py_hostcopy *nl_py_hostcopy_reserve_item(nl_py_hostcopies *c);
/* Adds the item. The device copy of the item is in C or Fortran order ('C', 'F'), or in the axis
 * order of the item's strides ('K'). */
void nl_py_hostcopy_add_item(nl_py_hostcopies *c, nl_py_hostcopy *item, char order);
/* Searches for two arrays that overlap and of which the call writes at least one. Returns 1 and
 * sets *first and *second to the tags of the arrays; returns 0 if no arrays conflict in this way;
 * returns -1 with an exception. */
int nl_py_hostcopy_find_overlap(const nl_py_hostcopies *c, int *first, int *second);
/* Makes the call a deferred one, which returns before its copies are complete, if every array that
 * the call writes is in page-locked host memory. The caller of a deferred call must wait for the
 * stream. Call this function before nl_py_hostcopy_start_copies, with the device bound. */
void nl_py_hostcopy_defer_results(nl_py_hostcopies *c, nl_py_state *state);
/* Binds the device, allocates memory and starts the copies to the device, unless there are no
 * items. Afterwards the field `address` of each item is valid. 0, or -1 with an exception. */
int nl_py_hostcopy_start_copies(nl_py_hostcopies *c, nl_device *dev, CUstream stream, int blocking,
                                nl_py_reads reads);
/* Called after the launch: copies the outputs back to the host, or only starts these copies if the
 * call is deferred. Returns 1 if the function has waited for the stream, 0 if not, -1 with an
 * exception. */
int nl_py_hostcopy_copy_back(nl_py_hostcopies *c);
/* Releases all memory. Call this function on every code path, also after errors. */
void nl_py_hostcopy_release_memory(nl_py_hostcopies *c);
static inline void nl_py_hostcopy_clear(nl_py_hostcopies *c) {
    if (c->count)
        nl_py_hostcopy_release_memory(c);
}

#endif
