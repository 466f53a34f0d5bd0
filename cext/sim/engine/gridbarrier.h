/* sim/engine/gridbarrier: where all blocks of a cooperative grid wait for one another. */
#ifndef NL_SIM_ENGINE_GRIDBARRIER_H
#define NL_SIM_ENGINE_GRIDBARRIER_H

#include "sim/engine/worker.h"

/* All threads of the worker's block are at it. Returns 0 when all blocks are, -1 if the grid stops.
 */
int nl_sim_gridbarrier_arrive(nl_sim_worker *worker, nl_sim_site site);
/* The worker's block has ended: those that wait for it will never cross. */
void nl_sim_gridbarrier_block_ended(nl_sim_worker *worker);
/* A fault: there are fewer threads than blocks. */
void nl_sim_gridbarrier_lacks_threads(struct nl_sim_job *job);

#endif
