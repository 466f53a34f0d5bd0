/* sim/engine/grid: runs the blocks of one grid on several OS threads. */
#ifndef NL_SIM_ENGINE_GRID_H
#define NL_SIM_ENGINE_GRID_H

#include "sim/engine/job.h"

/* Runs the grid on the calling thread and further threads. Returns CUDA_SUCCESS, or the status of
 * the first fault, which is in job->fault. */
CUresult nl_sim_grid_run(nl_sim_job *job);
/* For tests: makes all later grids run only their last `count` blocks, or all blocks if `count` is
 * 0. */
void nl_sim_grid_run_only_last_blocks(uint64_t count);

#endif
