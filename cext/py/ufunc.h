/* py/ufunc: the type Ufunc: element-wise functions on the device, called as NumPy calls its own. */
#ifndef NL_PY_UFUNC_H
#define NL_PY_UFUNC_H

#include "py/state.h"
#include "core/loop.h"
#include "py/overloads.h"

#define NL_PY_BY_VALUE 0x80 /* in the stored types of a kernel: a number among its parameters */

/* What types of operands mean: a loop. */
typedef struct nl_py_ufunc_types {
    nl_py_overload base;
    void *latest; /* nl_py_ufunc_kernel of the last call with these types, or NULL */
    uint8_t loop[NL_LOOP_OPERANDS]; /* dtypes */
} nl_py_ufunc_types;

/* A kernel for a loop and for how the operands are stored and lie. */
typedef struct nl_py_ufunc_kernel {
    nl_py_overload base;
    unsigned block, per_thread;
} nl_py_ufunc_kernel;

typedef struct nl_py_ufunc {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *name;
    PyObject *reductions; /* dict: number of a class of calls -> (Reducer, initial) */
    PyObject *check;      /* check(last input, where), before a loop over integers; or NULL */
    int nin, nout;
    nl_py_overloads types, kernels;
    PyObject *weakrefs;
} nl_py_ufunc;

/* Its vectorcall. */
PyObject *nl_py_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf,
                           PyObject *keywords);

/* The types of one call. */
typedef struct nl_py_ufunc_key {
    int remember; /* 0: Python has to be asked every time */
    size_t size;
    uint8_t bytes[NL_PY_KEY_ROOM(2 + NL_LOOP_OPERANDS)];
} nl_py_ufunc_key;

/* What a kernel is for. */
typedef struct nl_py_ufunc_variant {
    size_t size;
    /* kind and dimensions of the loop, its dtypes, then those of the operands as stored */
    uint8_t bytes[NL_PY_KEY_ROOM(2 + 2 * NL_LOOP_OPERANDS)];
} nl_py_ufunc_variant;

/* py/ufuncloops: finding loops and kernels. */
/* The entry of these types, or NULL. */
static inline nl_py_ufunc_types *nl_py_ufunc_find_types(nl_py_ufunc *u,
                                                        const nl_py_ufunc_key *key) {
    return (nl_py_ufunc_types *)nl_py_overloads_find(&u->types, NULL, key->bytes, key->size);
}
/* Asks _choose (the objects are its arguments), writes the loop's dtypes to loop[nin + nout], and
 * remembers them if the key says so (then *types is the entry). 0 or -1 with an exception. */
int nl_py_ufunc_choose(nl_py_ufunc *u, const nl_py_ufunc_key *key, PyObject *inputs,
                       PyObject *outputs, PyObject *casting, PyObject *dtype, PyObject *signature,
                       uint8_t *loop, nl_py_ufunc_types **types);
/* The kernel that fits, compiled if need be. `latest`: where to look first, or NULL. NULL with an
 * exception. */
nl_py_ufunc_kernel *nl_py_ufunc_find_kernel(nl_py_ufunc *u, nl_device *dev,
                                            const nl_py_ufunc_variant *variant, const nl_loop *loop,
                                            void **latest);

#endif
