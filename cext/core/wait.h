/* core/wait: waits that the user can end.
 *
 * A call of the driver that waits for the device returns only when the device is done. For a table
 * whose waits do not end (nl_driver.ends_waits is 0, as on a GPU), nl_wait_adapt replaces each such
 * call by one that first asks the driver again and again, and between the questions looks at the
 * user (base/interrupt) and at the time limit of the thread. If one of them ends the wait, the
 * kernels that can be stopped are stopped (core/stop), and the call returns NL_STATUS_INTERRUPTED
 * or NL_STATUS_TIMEOUT without reaching the driver.
 *
 * Memory of the host: a copy into pageable memory, which blocks in the driver, is begun when its
 * stream is idle, so no interrupt comes while the device writes the memory. Code that lends
 * page-locked memory to the device first waits for the stream (nl_wait_idle), then keeps the wait
 * for its own copies from ending (nl_wait_hold); or it keeps the memory if its wait was ended. */
#ifndef NL_CORE_WAIT_H
#define NL_CORE_WAIT_H

#include "driver/driver.h"

/* Replaces the calls of a table that wait; for nl_driver_set_adapter. */
void nl_wait_adapt(nl_driver *table);
/* For tests: tables that end their waits themselves are adapted, too. Before opening. */
void nl_wait_adapt_all(void);

/* Until all work on the stream is done. Makes no driver call where nothing can end a wait. */
int nl_wait_idle(CUstream stream, nl_error *err);
/* The same, without a status: is the stream idle? 0 after an interrupt. */
int nl_wait_is_idle(CUstream stream);
/* Between them nothing ends the waits of the calling thread. */
void nl_wait_hold(void);
void nl_wait_release(void);

/* Seconds after which the waits of the calling thread end: 0 for none, negative for the limit of
 * the process. */
void nl_wait_set_limit(double seconds);
void nl_wait_set_process_limit(double seconds);

/* What a function that stops kernels (core/stop) is asked for. Both calls return
 * CUDA_ERROR_NOT_READY while there is something. */
typedef struct nl_wait_end {
    CUresult (*query)(void *handle); /* for the work that the thread waits for */
    void *handle;
    CUresult (*drain)(void); /* for all work of the current context; may wait a while */
    uint64_t elapsed;        /* nanoseconds since the wait began */
    int is_timeout;
} nl_wait_end;

/* It stops kernels, and returns 1 and a message if the work is done then, else 0. */
void nl_wait_set_stopper(int (*stop)(const nl_wait_end *end, char *text, size_t size));
/* Asserts that have failed: has one, and takes one: 1, or 0 if there is none. A wait that is over
 * then returns NL_STATUS_FAILED. */
void nl_wait_set_failures(int (*have)(void), int (*take)(nl_fault *fault));
/* There are streams that are not ordered with the default stream. */
void nl_wait_note_unordered(void);
/* A context was reset: events in it are gone. */
void nl_wait_note_reset(void);

/* Another wait has been given up. */
void nl_wait_give_up(void);
/* Has a wait been given up, and a kernel runs on? Then the end of the process waits for nothing. */
int nl_wait_was_ended(void);
/* The process ends while a kernel runs on: the driver's own functions at exit would wait for it. */
void nl_wait_end_process(void);

#endif
