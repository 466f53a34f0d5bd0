/* sim/engine/thread: where the threads of a block begin and end, once they are fibers. */
#ifndef NL_SIM_ENGINE_THREAD_H
#define NL_SIM_ENGINE_THREAD_H

#include "sim/engine/worker.h"

/* Where fibers begin (worker->thread_entry): runs the worker's current thread, then, as long as the
 * next has not started, that. Where there are trampolines it is one (trampoline.c). */
void nl_sim_thread_entry(void *worker);
/* The same where somebody hears of every end of a thread: an observer, or the cluster. */
void nl_sim_thread_entry_observed(void *worker);
/* The running thread has ended, and its fiber is free: runs the others, too. */
_Noreturn void nl_sim_thread_ended(nl_sim_worker *worker);
/* nl_sim_ops.exit_thread */
void nl_sim_thread_exit(unsigned thread) __attribute__((noreturn));

#ifdef NL_SIM_TRAMPOLINES
/* Calls the kernel for the current thread. */
NL_SIM_LOCAL void nl_sim_thread_run(nl_sim_worker *worker);
/* The running thread has ended, and the current one is the next: the stack pointer to resume it at,
 * or NULL if it is to be run. */
NL_SIM_LOCAL void *nl_sim_thread_next(nl_sim_worker *worker);
#endif

#endif
