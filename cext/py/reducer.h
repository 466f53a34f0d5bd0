/* py/reducer: the type Reducer, which reduces or scans arrays of one dtype by one operation. A call
 * is planned in C from the geometry of its arrays (core/reduceplan, core/scanplan). The kernels
 * depend only on dtypes and schedules. Python code compiles each kernel once. */
#ifndef NL_PY_REDUCER_H
#define NL_PY_REDUCER_H

#include "py/devarray.h"
#include "core/reduceplan.h"

typedef struct nl_py_reducer {
    PyObject_HEAD nl_py_state *state;
    PyObject *find;    /* see reducer_doc */
    PyObject *kernels; /* dict from the cache key of a kernel to (Dispatcher, dtype of its plan) */
    PyObject *loop, *result; /* dtypes of accumulators and of results */
    nl_dtype stored;
    int64_t accumulator; /* bytes */
    int any_order;       /* whether elements may be combined in any order */
    int reorderable;     /* whether axes may be combined in any order */
    int exclusive;       /* of scans */
    unsigned low_bits;   /* mask of the low bits of addresses and strides that must be 0 */
    unsigned low_bits_of_results;
    PyObject *weakrefs;
} nl_py_reducer;

/* The arguments of one reduction. The arrays must be on the current device, aligned and not
 * empty. */
typedef struct nl_py_reduced {
    PyObject *array, *where; /* `where`: boolean array of the array's shape, or NULL */
    PyObject *segments;      /* array with the begin and end of each segment, or NULL */
    PyObject *stream;        /* NULL: the default stream */
    uint64_t axes;           /* one bit each */
    int segmented;           /* axis of the segments, or -1 */
    const int64_t *output;   /* strides of those axes of the result that are not reduced */
    const void *initial;     /* initial number, or NULL */
    size_t initial_size;
    double divisor;
} nl_py_reduced;

/* Returns whether the array's elements are aligned, so that the reducer's kernels can read them. */
static inline int nl_py_reducer_can_read(const nl_py_reducer *r, const nl_py_array *a) {
    return !(a->misaligned & r->low_bits);
}
static inline int nl_py_reducer_can_write(const nl_py_reducer *r, const nl_py_array *a) {
    return !(a->misaligned & r->low_bits_of_results);
}

/* These functions plan and launch a reduction or a scan. 0, or -1 with an exception. */
int nl_py_reducer_reduce(nl_py_reducer *r, const nl_py_reduced *call, PyObject *out);
int nl_py_reducer_scan(nl_py_reducer *r, PyObject *array, PyObject *out, int axis,
                       const void *initial, size_t initial_size, PyObject *stream);
/* Returns a new array for the result of a reduction along `axes`: its axes have the array's order
 * in memory, or C order. With `keepdims`, reduced axes have length 1. Sets `output` to the strides
 * of the axes that are not reduced. */
PyObject *nl_py_reducer_new_result(nl_py_reducer *r, const nl_py_array *array, uint64_t axes,
                                   int keepdims, int in_c_order, int64_t *output);
/* Returns a new array with the results of a reduction, or NULL without an exception if Python code
 * must handle the array or the axis: the array is on another device, not aligned, or empty. */
PyObject *nl_py_reducer_reduce_to_new(nl_py_reducer *r, PyObject *array, PyObject *axis,
                                      int keepdims, int in_c_order, double divisor);
/* Converts axis= to bits. Returns 0 if Python code must read the argument. None and NULL mean all
 * axes. */
int nl_py_reducer_read_axes(PyObject *axis, int ndim, uint64_t *axes);
/* Returns whether the array has no elements. */
int nl_py_reducer_has_no_elements(const nl_py_array *array);

#endif
