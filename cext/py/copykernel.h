/* py/copykernel: finds and launches the kernels that copy or number elements. Python code compiles
 * each kernel once; afterwards the kernel is found by its kind and its numbers. */
#ifndef NL_PY_COPYKERNEL_H
#define NL_PY_COPYKERNEL_H

#include "py/state.h"

enum {
    NL_PY_COPY_THREADS = 256, /* threads per block */
    NL_PY_COPY_MAX_WORD = 16, /* maximum size in bytes of an access */
};

typedef enum nl_py_copykernel_kind {
    NL_PY_COPYKERNEL_JOIN,      /* word size, dimensions, copies */
    NL_PY_COPYKERNEL_CAST,      /* word size: the ufunc that copies integers of this size */
    NL_PY_COPYKERNEL_TRANSPOSE, /* word size, side of a tile, words per access */
    NL_PY_COPYKERNEL_GATHER,   /* word size, size of an index, dimensions, mode, scatters, words per
                                * thread, index arrays */
    NL_PY_COPYKERNEL_SEQUENCE, /* no numbers: writes first + i * step to an array of int64 */
} nl_py_copykernel_kind;

/* Returns a new reference to the kernel for these numbers, which must be less than 256. NULL with
 * an exception. */
PyObject *nl_py_copykernel_find(const nl_py_state *state, nl_py_copykernel_kind kind,
                                const int *numbers, int count);
/* Launches a kernel with `blocks` blocks of NL_PY_COPY_THREADS threads. `stream` is NULL for the
 * default stream. 0, or -1 with an exception. */
int nl_py_copykernel_launch(PyObject *kernel, int64_t blocks, PyObject *stream,
                            PyObject *const *args, Py_ssize_t nargs);

#endif
