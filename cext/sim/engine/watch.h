/* sim/engine/watch: applies time limits to launches. A grid is stopped when its limit has passed,
 * or when the user interrupts it. A thread that does not poll the stop flag, because it executes a
 * loop of the kernel, is interrupted by a signal.
 *
 * A signal only interrupts code of the kernel's image, because that code holds no lock. A signal
 * that arrives while other code runs is sent again a little later. */
#ifndef NL_SIM_ENGINE_WATCH_H
#define NL_SIM_ENGINE_WATCH_H

#include "sim/engine/job.h"

/* Call begin before and end after a launch with a time limit. */
void nl_sim_watch_begin(nl_sim_job *job, uint64_t limit_ms);
void nl_sim_watch_end(nl_sim_job *job);
/* Stops the grid, except for threads that cannot be interrupted at this moment. Call this function
 * repeatedly, with short pauses, until all threads have ended. */
void nl_sim_watch_stop_grid(nl_sim_job *job, nl_sim_stop why);
void nl_sim_watch_reset_in_child(void); /* call this in a forked child */

#endif
