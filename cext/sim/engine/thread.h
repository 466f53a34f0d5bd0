/* sim/engine/thread: start and end of a block's threads as fibers. */
#ifndef NL_SIM_ENGINE_THREAD_H
#define NL_SIM_ENGINE_THREAD_H

#include "sim/engine/worker.h"

/* The function that fibers start with (worker->thread_entry). It runs the worker's current thread,
 * then the next threads as long as they have not started. It is a trampoline where there is one
 * (trampoline.c). */
void nl_sim_thread_entry(void *worker);
/* Like nl_sim_thread_entry, for launches in which the end of each thread must be reported to an
 * observer or to the cluster. */
void nl_sim_thread_entry_observed(void *worker);
/* Call when the running thread has ended: runs the other threads on its fiber. */
_Noreturn void nl_sim_thread_ended(nl_sim_worker *worker);
/* Implements nl_sim_ops.exit_thread. */
void nl_sim_thread_exit(unsigned thread) __attribute__((noreturn));

#ifdef NL_SIM_TRAMPOLINES
/* Calls the kernel for the current thread. */
NL_SIM_LOCAL void nl_sim_thread_run(nl_sim_worker *worker);
/* Call after the running thread has ended: chooses the next thread as the current one. Returns the
 * stack pointer to resume it at, or NULL if it has not started and must be run. */
NL_SIM_LOCAL void *nl_sim_thread_next(nl_sim_worker *worker);
#endif

#endif
