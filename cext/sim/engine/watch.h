/* sim/engine/watch: an end for kernels that have none. A grid is stopped when it has run for longer
 * than its limit, or when the user asks; whoever of its threads never looks whether it should stop,
 * because it is in a loop of its own, is interrupted there by a signal.
 *
 * Interrupted is only what runs code of the kernel's image, which holds no lock: a signal at any
 * other moment is sent again a little later. */
#ifndef NL_SIM_ENGINE_WATCH_H
#define NL_SIM_ENGINE_WATCH_H

#include "sim/engine/job.h"

/* Around a launch with a limit. */
void nl_sim_watch_begin(nl_sim_job *job, uint64_t limit_ms);
void nl_sim_watch_end(nl_sim_job *job);
/* Stops it, as far as that is possible at this moment: to be called again a little later. */
void nl_sim_watch_stop(nl_sim_job *job, nl_sim_stop why);
void nl_sim_watch_forget(void); /* in a forked child */

#endif
