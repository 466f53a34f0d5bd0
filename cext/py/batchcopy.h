/* py/batchcopy: copies between device arrays of one dtype on the current device, by a kernel or by
 * the driver. Several copies to one array are one launch if they are small. */
#ifndef NL_PY_BATCHCOPY_H
#define NL_PY_BATCHCOPY_H

#include "core/runs.h"
#include "py/devarray.h"

/* A copy of a box of the source to a box of the target. */
typedef struct nl_py_box_copy {
    const nl_py_array *source; /* borrowed */
    CUdeviceptr from, to;      /* addresses of the first elements */
    nl_runs runs;
} nl_py_box_copy;

/* Sets a copy. `of` contains the shape of the box, and the strides and the itemsize of the source;
 * `to` contains the strides of the target. Returns 0 if the box is empty, so that there is nothing
 * to copy; else 1. */
int nl_py_batchcopy_set_box(nl_py_box_copy *c, const nl_py_array *source, CUdeviceptr from,
                            CUdeviceptr to_address, const nl_layout *of, const int64_t *to);
/* Executes the copies, which must not overlap, on the stream of the target. 0, or -1 with an
 * exception. */
int nl_py_batchcopy_run(const nl_py_array *target, const nl_py_box_copy *copies, int count);
/* Copies between arrays of equal shape and dtype that share no memory. `stream` is NULL or None for
 * the default stream. 0, or -1 with an exception. */
int nl_py_batchcopy_elements(PyObject *source, PyObject *target, PyObject *stream);

/* Returns the unsigned integer (complex for 16 bytes) as which elements of this size are copied. */
nl_dtype nl_py_batchcopy_word_dtype(int64_t size);
/* Returns a view of `base` with another address, dtype and geometry. Raises ValueError if the view
 * is not within the memory of `base`. */
PyObject *nl_py_batchcopy_region_view(const nl_py_array *base, CUdeviceptr address, PyObject *descr,
                                      const nl_layout *layout);

#endif
