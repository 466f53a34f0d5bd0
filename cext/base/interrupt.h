/* base/interrupt: waits that the user can interrupt (Ctrl-C, a notebook's interrupt button).
 * py/interrupt registers its functions once, and waiting threads call them at intervals. */
#ifndef NL_BASE_INTERRUPT_H
#define NL_BASE_INTERRUPT_H

#include <stdint.h>

#define NL_INTERRUPT_NS UINT64_C(50000000) /* between two polls */

typedef struct nl_interrupt {
    /* Returns whether waits of the calling thread can be interrupted. Must be fast. */
    int (*is_possible)(void);
    /* Returns whether the current wait must end. May run Python code, so the caller must not hold
     * any lock of this library. */
    int (*is_requested)(void);
    /* Returns whether a signal handler has raised an exception that is still to be reported. Must
     * be fast. */
    int (*is_pending)(void);
    void (*report)(const char *text); /* `text` describes the work that the interrupt stopped */
} nl_interrupt;

void nl_interrupt_open(const nl_interrupt *how); /* `how` must stay valid */
/* Returns whether the calling thread must poll for interrupts while it waits. `own` is the number
 * of locks that the thread will release before it polls. */
int nl_interrupt_is_possible(int own);
int nl_interrupt_is_requested(void);
/* Returns whether an interrupt has ended an earlier wait of the call that this thread is executing.
 * After such an interrupt, the call must fail, and must not wait again while it cleans up. */
int nl_interrupt_is_pending(void);
void nl_interrupt_report(const char *text);

#endif
