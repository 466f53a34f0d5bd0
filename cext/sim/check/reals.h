/* sim/check/reals: NaN and infinity made of numbers, told by the processor.
 *
 * Where the compiler has no calls for it (g++ on x86-64; clang++'s come from irpatch.py), kernels
 * run with the processor's exceptions for invalid operations, divisions by zero and overflows
 * switched on. A NaN or infinity that is only handed on raises none. */
#ifndef NL_SIM_CHECK_REALS_H
#define NL_SIM_CHECK_REALS_H

#include <signal.h>
#include "sim/engine/worker.h"

/* Does the launch of `job` need it? */
int nl_sim_reals_are_trapped(const struct nl_sim_job *job);

/* Switches them on for the calling OS thread; returns what nl_sim_reals_leave makes it as it was.
 */
unsigned nl_sim_reals_enter(void);
void nl_sim_reals_leave(unsigned saved);

/* In a handler of SIGFPE, on a fiber. Returns 1 if it was one of these: the thread can go on. */
int nl_sim_reals_trapped(nl_sim_worker *worker, const siginfo_t *info, void *context);

#endif
