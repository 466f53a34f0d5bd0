/* py/foreign: an array of another library in device memory, as data. */
#ifndef NL_PY_FOREIGN_H
#define NL_PY_FOREIGN_H

#include "py/state.h"
#include "core/layout.h"
#include "driver/cuda_abi.h"
#include "py/hostarray.h"

/* What a __cuda_array_interface__ says, checked. */
typedef struct nl_py_foreign {
    CUdeviceptr address;
    nl_element element;
    PyObject *descr; /* strong; NULL for PLAIN elements, until somebody needs it */
    int readonly;
    int has_stream;
    CUstream stream; /* of pending work; meaningful with has_stream */
    nl_layout layout;
} nl_py_foreign;

#endif
