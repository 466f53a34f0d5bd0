/* py/ufunc: the type Ufunc: element-wise functions on the device, with the calling convention of
 * NumPy's ufuncs. */
#ifndef NL_PY_UFUNC_H
#define NL_PY_UFUNC_H

#include "py/state.h"
#include "core/loop.h"
#include "py/overloads.h"

/* flag in an operand type: a number that is passed in the kernel's parameters */
#define NL_PY_BY_VALUE 0x80

/* A cache entry: the loop for a combination of operand types. */
typedef struct nl_py_ufunc_types {
    nl_py_overload base;
    void *latest; /* nl_py_ufunc_kernel of the last call with these types, or NULL */
    uint8_t loop[NL_LOOP_OPERANDS]; /* dtypes */
} nl_py_ufunc_types;

/* A cache entry: the kernel for a loop and for the types and layouts of its operands. */
typedef struct nl_py_ufunc_kernel {
    nl_py_overload base;
    unsigned block, per_thread;
} nl_py_ufunc_kernel;

typedef struct nl_py_ufunc {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *name;
    PyObject *reductions; /* dict from the number of a class of calls to (Reducer, initial value) */
    PyObject *check;      /* see _check in ufunctype.c; NULL: no check */
    int nin, nout;
    int quick; /* whether FLAT loops with few elements use separate kernels, which compile fast */
    nl_py_overloads types, kernels;
    PyObject *weakrefs;
} nl_py_ufunc;

/* The vectorcall function of the type. */
PyObject *nl_py_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf,
                           PyObject *keywords);

/* The cache key for the loop of a call, which consists of the operand types. */
typedef struct nl_py_ufunc_key {
    int remember; /* 0 if the key cannot be cached, so that _choose must run in every call */
    size_t size;
    uint8_t bytes[NL_PY_KEY_CAPACITY(2 + NL_LOOP_OPERANDS)];
} nl_py_ufunc_key;

/* The cache key of a kernel. */
typedef struct nl_py_ufunc_variant {
    size_t size;
    /* kind and dimensions of the loop, dtypes of the loop, then dtypes of the operands */
    uint8_t bytes[NL_PY_KEY_CAPACITY(2 + 2 * NL_LOOP_OPERANDS)];
} nl_py_ufunc_variant;

/* ---- functions of py/ufuncloops, which find loops and kernels ---- */
/* Returns the cache entry for these types, or NULL. */
static inline nl_py_ufunc_types *nl_py_ufunc_find_types(nl_py_ufunc *u,
                                                        const nl_py_ufunc_key *key) {
    return (nl_py_ufunc_types *)nl_py_overloads_find(&u->types, NULL, key->bytes, key->size);
}
/* Calls _choose with these objects and writes the loop's dtypes to loop[nin + nout]. If
 * key->remember is set, adds a cache entry and sets *types to that entry. 0, or -1 with an
 * exception. */
int nl_py_ufuncloops_choose(nl_py_ufunc *u, const nl_py_ufunc_key *key, PyObject *inputs,
                            PyObject *outputs, PyObject *casting, PyObject *dtype,
                            PyObject *signature, uint8_t *loop, nl_py_ufunc_types **types);
/* Returns the kernel for the variant, after compiling it if necessary, or the kernel of kind
 * NL_LOOP_SMALL that replaces it; in that case, `variant` is changed. `latest`, if not NULL, points
 * to the entry that is compared first. Returns NULL with an exception. */
nl_py_ufunc_kernel *nl_py_ufuncloops_find_kernel(nl_py_ufunc *u, nl_device *dev,
                                                 nl_py_ufunc_variant *variant, const nl_loop *loop,
                                                 void **latest);

#endif
