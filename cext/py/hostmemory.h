/* py/hostmemory: host memory as Python objects, and the arrays in which results come to the host.
 */
#ifndef NL_PY_HOSTMEMORY_H
#define NL_PY_HOSTMEMORY_H

#include "py/state.h"
#include "core/hostblock.h"
#include "py/hostarray.h"

/* _core.HostMemory: a buffer that gives its block back with the last reference. */
typedef struct nl_py_hostmemory {
    PyObject_HEAD nl_host_block *block;
    PyObject *weakrefs;
} nl_py_hostmemory;

/* A new NumPy array, not initialised, of the layout, which has no gaps, for a result
 * on its way to the host: large ones lie in memory that is used again, page-locked if that pays. */
PyObject *nl_py_host_empty(nl_py_state *state, PyObject *descr, const nl_layout *layout);

/* Does the array lie in the memory of such a result? Its user need not know that it is page-locked:
 * it is treated as pageable memory is. */
int nl_py_host_is_result(nl_py_state *state, PyObject *array);

#endif
