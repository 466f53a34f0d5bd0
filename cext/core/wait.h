/* core/wait: interruptible waits.
 *
 * A blocking driver call returns only when the device has completed the work. For a driver whose
 * waits are not interruptible (nl_driver.ends_waits is 0, as on a GPU), nl_wait_adapt_table
 * replaces each blocking call. The replacement polls the driver first, and between polls it checks
 * for an interrupt (base/interrupt) and for the thread's time limit. If an interrupt or the time
 * limit ends the wait, stoppable kernels are stopped (core/stop), and the call returns
 * NL_STATUS_INTERRUPTED or NL_STATUS_TIMEOUT without calling the driver's function.
 *
 * Copies from or to pageable memory block in the driver, so they start when their stream is idle:
 * no wait is interrupted while the device writes the memory. Code that passes page-locked memory to
 * the device either first waits for the stream (nl_wait_for_idle_stream) and then makes the waits
 * for its own copies uninterruptible (nl_wait_hold_interrupts), or keeps the memory allocated if
 * its wait was interrupted. */
#ifndef NL_CORE_WAIT_H
#define NL_CORE_WAIT_H

#include "driver/driver.h"

/* Replaces the blocking calls of a table; pass this function to nl_driver_set_adapter. */
void nl_wait_adapt_table(nl_driver *table);
/* Also replaces the calls of drivers with interruptible waits, for tests. Call this function before
 * the driver is opened. */
void nl_wait_adapt_every_table(void);

/* Waits until all work on the stream is complete. Makes no driver call if no interrupt or limit can
 * end the wait. */
int nl_wait_for_idle_stream(CUstream stream, nl_error *err);
/* Waits for the stream and returns 1, or 0 if the wait was interrupted. */
int nl_wait_until_idle(CUstream stream);
/* Between nl_wait_hold_interrupts and nl_wait_release_interrupts, the waits of the calling thread
 * are not interruptible. */
void nl_wait_hold_interrupts(void);
void nl_wait_release_interrupts(void);

/* Sets the seconds after which a wait of the calling thread times out: 0 for no limit, or a
 * negative number for the limit of the process. */
void nl_wait_set_limit(double seconds);
void nl_wait_set_process_limit(double seconds);

/* The argument of a function that stops kernels (core/stop). query and drain return
 * CUDA_ERROR_NOT_READY while work is pending. */
typedef struct nl_wait_end {
    CUresult (*query)(void *handle); /* queries the work for which the thread waits */
    void *handle;
    CUresult (*drain)(void *unused); /* queries all work of the current context; may wait briefly */
    uint64_t elapsed;                /* nanoseconds since the wait began */
    int is_timeout;
} nl_wait_end;

/* Sets the function that a wait calls to stop kernels when the wait is interrupted or times out.
 * `stop` returns 1 and writes a message to `text` if the awaited work is complete afterwards, else
 * 0. */
void nl_wait_set_stopper(int (*stop)(const nl_wait_end *end, char *text, size_t size));
/* Sets the functions that report failed asserts. `have` returns whether there is an unreported
 * failed assert; `take` moves one to `fault` and returns 1, or returns 0 if there is none. Until
 * all failed asserts are removed, a completed wait returns NL_STATUS_FAILED. */
void nl_wait_set_failure_hooks(int (*have)(void), int (*take)(nl_fault *fault));
/* Records that the process uses streams that are not ordered with the default stream. */
void nl_wait_set_has_unordered(void);
/* Records that a context was reset, so that its events do not exist any more. */
void nl_wait_note_reset(void);

/* Records that a wait ended early while its kernel continues. */
void nl_wait_end_all_waits(void);
/* Returns whether a wait ended early while its kernel continues. After such a wait, no function
 * waits for the device at the end of the process. */
int nl_wait_was_any_ended(void);
/* Makes the process exit without the driver's exit functions, which would wait for the kernel; call
 * it at the end of the process while a kernel is running. */
void nl_wait_register_exit(void);

#endif
