/* sim/engine/block: runs blocks of a grid on one worker. */
#ifndef NL_SIM_ENGINE_BLOCK_H
#define NL_SIM_ENGINE_BLOCK_H

#include "sim/engine/worker.h"

/* Runs blocks of `job` on the calling OS thread until all blocks have started or the job is
 * stopped. */
void nl_sim_block_run(nl_sim_worker *worker, struct nl_sim_job *job);

#endif
