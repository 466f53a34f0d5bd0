/* py/interrupt: what a signal's handler raised while a call waited. */
#ifndef NL_PY_INTERRUPT_H
#define NL_PY_INTERRUPT_H

#include "py/compat.h"

/* Raises it, if there is such and it was a call of this thread. Returns whether it did. */
int nl_py_interrupt_raise(void);

#endif
