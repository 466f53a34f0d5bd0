/* py/foreign: the description of another library's array in device memory. */
#ifndef NL_PY_FOREIGN_H
#define NL_PY_FOREIGN_H

#include "py/state.h"
#include "core/layout.h"
#include "driver/cuda_abi.h"
#include "py/hostarray.h"

/* The checked contents of a __cuda_array_interface__. */
typedef struct nl_py_foreign {
    CUdeviceptr address;
    nl_element element;
    PyObject *descr; /* strong reference to the dtype object; for PLAIN elements, NULL until the
                        dtype is needed */
    int readonly;
    uint8_t orders; /* nl_layout_contiguous_orders of the layout */
    int has_stream;
    CUstream stream; /* stream of the producer's pending work; valid if has_stream is 1 */
    nl_layout layout;
} nl_py_foreign;

#endif
