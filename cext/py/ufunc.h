/* py/ufunc: the type Ufunc: element-wise functions on the device, called as NumPy calls its own. */
#ifndef NL_PY_UFUNC_H
#define NL_PY_UFUNC_H

#include "py/state.h"
#include "core/loop.h"
#include "py/kernel.h"

#define NL_PY_BY_VALUE 0x80 /* in the stored types of a kernel: a number among its parameters */

/* Entries of both lists are made once and kept as long as the ufunc: calls read them without a
 * lock. */

/* What types of operands mean: a loop. */
typedef struct nl_py_ufunc_types {
    struct nl_py_ufunc_types *next;
    void *latest;    /* nl_py_ufunc_kernel of the last call with these types, or NULL */
    uint32_t dead;   /* dropped by _clear */
    uint8_t bytes[]; /* nin + nout dtypes of the loop, then the key */
} nl_py_ufunc_types;

/* A kernel for a loop and for how the operands are stored and lie. */
typedef struct nl_py_ufunc_kernel {
    struct nl_py_ufunc_kernel *next;
    nl_device *device;
    nl_py_kernel *kernel; /* strong */
    uint32_t dead;
    unsigned block, per_thread;
    int kind, dims, count; /* of bytes */
    uint8_t bytes[];       /* the loop's dtypes, then the operands' as stored */
} nl_py_ufunc_kernel;

typedef struct nl_py_ufunc {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *name;
    PyObject *reductions; /* dict of the calls that are known (py/reduction) */
    int nin, nout;
    void *types, *kernels; /* newest first; grow only, under the object's critical section */
    PyObject *weakrefs;
} nl_py_ufunc;

/* The types of one call. */
typedef struct nl_py_ufunc_key {
    int size;     /* of bytes */
    int remember; /* 0: Python has to be asked every time */
    uint8_t bytes[NL_LOOP_OPERANDS + 2];
} nl_py_ufunc_key;

/* py/ufuncloops: finding loops and kernels. */
/* The entry of these types, or NULL. */
nl_py_ufunc_types *nl_py_ufunc_find_types(nl_py_ufunc *u, const nl_py_ufunc_key *key);
/* Asks _choose (the objects are its arguments), writes the loop's dtypes to loop[nin + nout], and
 * remembers them if the key says so (then *types is the entry). 0 or -1 with an exception. */
int nl_py_ufunc_choose(nl_py_ufunc *u, const nl_py_ufunc_key *key, PyObject *inputs,
                       PyObject *outputs, PyObject *casting, PyObject *dtype, PyObject *signature,
                       uint8_t *loop, nl_py_ufunc_types **types);
/* The kernel that fits, compiled if need be. `bytes`: dtypes of the loop, then as stored; `latest`:
 * where to look first, or NULL. NULL with an exception. */
nl_py_ufunc_kernel *nl_py_ufunc_find_kernel(nl_py_ufunc *u, nl_device *dev, const uint8_t *bytes,
                                            int count, const nl_loop *loop, void **latest);
/* Forgets loops and kernels. */
void nl_py_ufunc_forget(nl_py_ufunc *u);
int nl_py_ufunc_visit_kernels(nl_py_ufunc *u, visitproc visit, void *arg);
void nl_py_ufunc_clear_kernels(nl_py_ufunc *u);
void nl_py_ufunc_free_entries(nl_py_ufunc *u);

#endif
