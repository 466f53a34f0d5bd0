/* py/interrupt: the exception of a signal handler that ran while a call waited. */
#ifndef NL_PY_INTERRUPT_H
#define NL_PY_INTERRUPT_H

#include "py/compat.h"

/* If this is the main thread, raises the exception that a signal handler raised during a wait, if
 * any. Returns whether an exception was raised. */
int nl_py_interrupt_raise(void);

#endif
