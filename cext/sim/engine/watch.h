/* sim/engine/watch: time limits of launches. A grid is stopped when its limit has passed, or when
 * the user interrupts it. A thread that does not check whether it should stop, because it runs a
 * loop of the kernel, is interrupted by a signal.
 *
 * Only code of the kernel's image is interrupted, because it holds no lock. A signal that arrives
 * while other code runs is sent again a little later. */
#ifndef NL_SIM_ENGINE_WATCH_H
#define NL_SIM_ENGINE_WATCH_H

#include "sim/engine/job.h"

/* Call these functions before and after a launch with a time limit. */
void nl_sim_watch_begin(nl_sim_job *job, uint64_t limit_ms);
void nl_sim_watch_end(nl_sim_job *job);
/* Stops the grid; threads that cannot be interrupted at this moment continue. Call it again a
 * little later. */
void nl_sim_watch_stop(nl_sim_job *job, nl_sim_stop why);
void nl_sim_watch_forget(void); /* call this in a forked child */

#endif
