/* sim/engine/gridbarrier: the barrier of all blocks of a cooperative grid. */
#ifndef NL_SIM_ENGINE_GRIDBARRIER_H
#define NL_SIM_ENGINE_GRIDBARRIER_H

#include "sim/engine/worker.h"

/* Records the arrival of the worker's block and waits; call this function when all threads of the
 * block have arrived. Returns 0 when all blocks have arrived, -1 if the grid was stopped. */
int nl_sim_gridbarrier_arrive(nl_sim_worker *worker, nl_sim_site site);
/* Records the end of the worker's block. If other blocks wait at the grid's barrier, they can never
 * cross it, and the job fails. */
void nl_sim_gridbarrier_block_ended(nl_sim_worker *worker);
/* Records the fault that the launch has fewer OS threads than blocks. */
void nl_sim_gridbarrier_lacks_threads(struct nl_sim_job *job);

#endif
