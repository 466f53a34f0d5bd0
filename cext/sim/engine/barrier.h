/* sim/engine/barrier: __syncthreads and its variants, and the arrival of a block at the barrier of
 * the grid. */
#ifndef NL_SIM_ENGINE_BARRIER_H
#define NL_SIM_ENGINE_BARRIER_H

#include "sim/engine/worker.h"

/* Implements nl_sim_ops.barrier, through a trampoline if the processor has one (trampoline.c). */
int nl_sim_barrier_wait(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site);
#ifdef NL_SIM_TRAMPOLINES
/* Records the arrival of `thread` at a barrier; its fiber must be resumed at `sp`. Returns the
 * stack pointer of the fiber to resume, or NULL if `thread` need not wait. */
NL_SIM_LOCAL void *nl_sim_barrier_arrive(nl_sim_block_op op, int value, unsigned thread,
                                         nl_sim_site site, void *sp);
#endif
/* Implements nl_sim_ops.grid_barrier. */
void nl_sim_barrier_wait_grid(unsigned thread, nl_sim_site site);

/* Makes the threads of the block ready to run; call it when all live threads of the block have
 * arrived at its barrier. */
void nl_sim_barrier_release(nl_sim_worker *worker);
/* Waits for the other blocks; call it when all live threads of the block are at the grid's
 * barrier. */
void nl_sim_barrier_note_grid_crossing(nl_sim_worker *worker);

#endif
