/* sim/engine/progress: which grids run, and how many of their blocks have ended. */
#ifndef NL_SIM_ENGINE_PROGRESS_H
#define NL_SIM_ENGINE_PROGRESS_H

#include "driver/driver.h"
#include "sim/engine/job.h"

/* Around the run of a grid. */
void nl_sim_progress_begin(nl_sim_job *job);
void nl_sim_progress_end(nl_sim_job *job);
/* The grid that has run longest, launched from the host: 1, or 0 if none runs. */
int nl_sim_progress_read(nl_progress *progress);

#endif
