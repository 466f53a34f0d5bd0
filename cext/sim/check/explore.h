/* sim/check/explore: the schedules of a launch in which atomics order the threads, one after the
 * other.
 *
 * The first run has no switches. Where an atomic access of a thread came after one of another
 * thread's, of the same memory, and only the schedule decided so, another schedule lets the later
 * thread run first. Schedules have at most NL_SIM_SWITCHES switches; those with fewer come first.
 */
#ifndef NL_SIM_CHECK_EXPLORE_H
#define NL_SIM_CHECK_EXPLORE_H

#include "sim/engine/schedule.h"

typedef struct nl_sim_explorer nl_sim_explorer;

nl_sim_explorer *nl_sim_explorer_open(void); /* NULL without memory */
void nl_sim_explorer_close(nl_sim_explorer *explorer);
/* The launch has run in this schedule: remembers those that follow from it. */
void nl_sim_explorer_ran(nl_sim_explorer *explorer, const nl_sim_schedule *schedule);
/* The next schedule to run; 0 if there is none. */
int nl_sim_explorer_next(nl_sim_explorer *explorer, nl_sim_schedule *schedule);

#endif
