/* py/hostmemory: host memory as Python objects, and NumPy arrays for results that are copied to
 * the host. */
#ifndef NL_PY_HOSTMEMORY_H
#define NL_PY_HOSTMEMORY_H

#include "py/state.h"
#include "core/hostblock.h"
#include "py/hostarray.h"

/* _core.HostMemory: a buffer that returns its block to the pool when it is freed. */
typedef struct nl_py_hostmemory {
    PyObject_HEAD nl_host_block *block;
    PyObject *weakrefs;
} nl_py_hostmemory;

/* Returns a new uninitialized NumPy array for a result that is copied to the host. The layout must
 * be contiguous. Large arrays use reusable memory, which is page-locked if that is faster. Returns
 * NULL with an exception. */
PyObject *nl_py_hostmemory_empty(nl_py_state *state, PyObject *descr, const nl_layout *layout);

/* Returns whether the array's memory was allocated by nl_py_hostmemory_empty. Copies treat such
 * memory like pageable memory, even if it is page-locked. */
int nl_py_hostmemory_owns_array(nl_py_state *state, PyObject *array);

#endif
