/* sim/block: running the blocks of a grid on one worker, and the scheduler of their threads. */
#ifndef NL_SIM_BLOCK_H
#define NL_SIM_BLOCK_H

#include "sim/worker.h"

/* Runs blocks of `job` on the calling OS thread until none is left or the job has stopped. */
void nl_sim_block_run(nl_sim_worker *worker, struct nl_sim_job *job);

/* Below: for the operations that a running thread calls (block.c, warp.c). */

/* Turns a loop into fibers, `thread` being the one that runs. */
void nl_sim_block_convert(nl_sim_worker *worker, unsigned thread);
static inline nl_sim_worker *nl_sim_block_enter(unsigned thread) {
    nl_sim_worker *worker = nl_sim_current;
    if (!worker->fibers)
        nl_sim_block_convert(worker, thread);
    return worker;
}
/* The running thread, marked as waiting, lets others run; returns when it has been woken. */
void nl_sim_block_suspend(nl_sim_worker *worker, unsigned thread);
/* Makes lanes of a warp ready. */
static inline void nl_sim_block_wake(nl_sim_worker *worker, unsigned warp, uint32_t lanes) {
    if (lanes) {
        worker->warp[warp].ready |= lanes;
        worker->ready_warps |= 1u << warp;
    }
}
/* Back to the worker's own stack, for good. */
_Noreturn void nl_sim_block_leave(nl_sim_worker *worker, nl_sim_leave reason);

/* The operations of nl_sim_ops. */
int nl_sim_block_barrier(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site);
void nl_sim_block_grid_barrier(unsigned thread, nl_sim_site site);
void nl_sim_block_yield(unsigned thread, nl_sim_site site);
_Noreturn void nl_sim_block_exit_thread(unsigned thread);

#endif
