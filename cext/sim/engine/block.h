/* sim/engine/block: running the blocks of a grid on one worker, and the scheduler of their threads.
 */
#ifndef NL_SIM_ENGINE_BLOCK_H
#define NL_SIM_ENGINE_BLOCK_H

#include "sim/engine/worker.h"

/* Runs blocks of `job` on the calling OS thread until none is left or the job has stopped. */
void nl_sim_block_run(nl_sim_worker *worker, struct nl_sim_job *job);

/* Turns a loop into fibers, `thread` being the one that runs. */
void nl_sim_block_convert(nl_sim_worker *worker, unsigned thread);
/* A fault: there is no memory for the thread's stack. */
_Noreturn void nl_sim_block_lacks_stack(nl_sim_worker *worker, unsigned thread);
/* Back to the worker's own stack, for good. */
_Noreturn void nl_sim_block_leave(nl_sim_worker *worker, nl_sim_leave reason);

/* Another thread runs, if there is one that can; returns when it is this one's turn again. */
void nl_sim_block_preempt(nl_sim_worker *worker);
unsigned nl_sim_block_pick_any(nl_sim_worker *worker);

/* The operations of nl_sim_ops. */
int nl_sim_block_barrier(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site);
void nl_sim_block_grid_barrier(unsigned thread, nl_sim_site site);
void nl_sim_block_yield(unsigned thread, nl_sim_site site);
void nl_sim_block_exit_thread(unsigned thread) __attribute__((noreturn));

#endif
