/* sim/engine/progress: the list of running grids, with the number of blocks that have ended. */
#ifndef NL_SIM_ENGINE_PROGRESS_H
#define NL_SIM_ENGINE_PROGRESS_H

#include "driver/driver.h"
#include "sim/engine/job.h"

/* Call begin before and end after a grid runs. */
void nl_sim_progress_begin(nl_sim_job *job);
void nl_sim_progress_end(nl_sim_job *job);
/* Reads the progress of the oldest running grid that the host launched. Returns 0 if no grid of the
 * host is running. */
int nl_sim_progress_read(nl_progress *progress);

#endif
