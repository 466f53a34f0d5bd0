/* base/interrupt: waits that the user can end (Ctrl-C, a notebook's interrupt). Who knows of the
 * user, which is py/interrupt, says so once; a thread that waits asks from time to time. */
#ifndef NL_BASE_INTERRUPT_H
#define NL_BASE_INTERRUPT_H

#include <stdint.h>

#define NL_INTERRUPT_NS UINT64_C(50000000) /* from one question to the next */

typedef struct nl_interrupt {
    int (*is_possible)(void); /* can waits of the calling thread be ended? Quick */
    /* Should this one end? May run the program's code: asked without any of our locks. */
    int (*is_requested)(void);
    /* Was an exception of a handler kept, and not yet raised? Quick */
    int (*is_pending)(void);
    void (*report)(const char *text); /* what has been stopped for that */
} nl_interrupt;

void nl_interrupt_open(const nl_interrupt *how); /* which stays where it is */
/* Must the calling thread ask while it waits? `own`: how many locks it will give up to do so. */
int nl_interrupt_is_possible(int own);
int nl_interrupt_is_requested(void);
/* Did an interrupt end an earlier wait of the call that this thread runs? Then the call fails, and
 * must not wait again on its way out. */
int nl_interrupt_is_pending(void);
void nl_interrupt_report(const char *text);

#endif
