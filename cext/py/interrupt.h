/* py/interrupt: the exception of a signal handler that ran while a call waited. */
#ifndef NL_PY_INTERRUPT_H
#define NL_PY_INTERRUPT_H

#include "py/compat.h"

/* Raises the exception that a signal handler raised during a wait, if there is one and this is
 * the main thread. Returns whether it did. */
int nl_py_interrupt_raise(void);

#endif
