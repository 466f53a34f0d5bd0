/* py/reduceplan: plans of reductions and scans as Python objects. */
#ifndef NL_PY_REDUCEPLAN_H
#define NL_PY_REDUCEPLAN_H

#include "py/state.h"
#include "core/reducelaunch.h"

/* Returns the plan as a list of tuples, which reduction_observer documents. */
PyObject *nl_py_reduceplan_steps(const nl_reduce_plan *plan, int is_scan);
/* Returns the name of a kernel: its kind and template arguments, such as "stripes2x8"; "" for no
 * kernel. */
PyObject *nl_py_reduceplan_kernel_name(const nl_reduce_schedule *schedule);

#endif
