/* sim/engine/grid: running one grid: its blocks over several threads. */
#ifndef NL_SIM_ENGINE_GRID_H
#define NL_SIM_ENGINE_GRID_H

#include "sim/engine/job.h"

/* Runs the grid to its end on the calling thread and others. Returns CUDA_SUCCESS, or the status of
 * the first fault, which is then in job->fault. */
CUresult nl_sim_grid_run(nl_sim_job *job);
/* For tests: grids run only their last `count` blocks from now on; 0: all. */
void nl_sim_grid_run_last(uint64_t count);

#endif
