/* sim/check/reals: finds operations that compute NaN or infinity from finite numbers, by
 * floating-point exceptions of the processor.
 *
 * Floating-point exceptions are used if the compiler cannot insert calls for the NaN check (g++ on
 * x86-64; for clang++, irpatch.py inserts the calls). Kernels run with the exceptions for invalid
 * operations, divisions by zero and overflows enabled. An operation that only propagates NaN or
 * infinity raises no exception. */
#ifndef NL_SIM_CHECK_REALS_H
#define NL_SIM_CHECK_REALS_H

#include <signal.h>
#include "sim/engine/worker.h"

/* Returns whether the launch of `job` needs floating-point exceptions. */
int nl_sim_reals_are_trapped(const struct nl_sim_job *job);

/* Enables the exceptions for the calling OS thread. Returns the previous state, which the caller
 * must pass to nl_sim_reals_restore_exceptions. */
unsigned nl_sim_reals_enable_exceptions(void);
void nl_sim_reals_restore_exceptions(unsigned saved);

/* Handles SIGFPE; called in the signal handler on a fiber. Returns 1 if the signal was caused by
 * one of the enabled exceptions; then the handler must return, and the thread continues. */
int nl_sim_reals_handle_trap(nl_sim_worker *worker, const siginfo_t *info, void *context);

#endif
