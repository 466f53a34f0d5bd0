/* py/arrayreduction: _core.ArrayReduction, what __array_function__ calls for sums, means, extremes.
 */
#ifndef NL_PY_ARRAYREDUCTION_H
#define NL_PY_ARRAYREDUCTION_H

#include "py/state.h"

int nl_py_arrayreduction_exec(PyObject *module);

#endif
