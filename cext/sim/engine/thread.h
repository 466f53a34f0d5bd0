/* sim/engine/thread: start and end of a block's threads as fibers. */
#ifndef NL_SIM_ENGINE_THREAD_H
#define NL_SIM_ENGINE_THREAD_H

#include "sim/engine/worker.h"

/* The entry function of fibers (worker->thread_entry). The function runs the worker's current
 * thread, then the following threads, as long as they have not started. On x86-64 this function is
 * a trampoline (trampoline.c). */
void nl_sim_thread_entry(void *worker);
/* A variant of nl_sim_thread_entry for launches in which the end of each thread must be reported to
 * an observer or to the cluster. */
void nl_sim_thread_entry_observed(void *worker);
/* Runs the other threads on the fiber of the running thread; call this function when that thread
 * has ended. */
_Noreturn void nl_sim_thread_ended(nl_sim_worker *worker);
/* Implements nl_sim_ops.exit_thread. */
void nl_sim_thread_exit(unsigned thread) __attribute__((noreturn));

#ifdef NL_SIM_TRAMPOLINES
/* Calls the kernel for the current thread. */
NL_SIM_LOCAL void nl_sim_thread_run(nl_sim_worker *worker);
/* Makes the next thread the current thread; call this function after the running thread has ended.
 * Returns the stack pointer at which to resume the next thread, or NULL if the next thread has not
 * started. */
NL_SIM_LOCAL void *nl_sim_thread_next(nl_sim_worker *worker);
#endif

#endif
