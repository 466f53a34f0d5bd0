/* sim/engine/barrier: __syncthreads and its kin, and a block at the barrier of the grid. */
#ifndef NL_SIM_ENGINE_BARRIER_H
#define NL_SIM_ENGINE_BARRIER_H

#include "sim/engine/worker.h"

/* nl_sim_ops.barrier; where there are trampolines it is one (trampoline.c). */
int nl_sim_barrier_wait(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site);
#ifdef NL_SIM_TRAMPOLINES
/* `thread` is at a barrier, and its fiber will be resumed at `sp`. The stack pointer to go on with,
 * or NULL if it waits for nobody. */
NL_SIM_LOCAL void *nl_sim_barrier_arrive(nl_sim_block_op op, int value, unsigned thread,
                                         nl_sim_site site, void *sp);
#endif
/* nl_sim_ops.grid_barrier */
void nl_sim_barrier_wait_grid(unsigned thread, nl_sim_site site);

/* All live threads of the block are at its barrier: they go on. */
void nl_sim_barrier_release(nl_sim_worker *worker);
/* All live threads of the block are at the grid's barrier: waits for the other blocks. */
void nl_sim_barrier_cross_grid(nl_sim_worker *worker);

#endif
