/* sim/check/explore: enumerates schedules of a launch in which atomics order the threads.
 *
 * The first run has no switches. If two threads made atomic accesses to the same memory, and only
 * the schedule determined their order, a further schedule lets the later thread run first. A
 * schedule has at most NL_SIM_SWITCHES switches. Every second schedule has one switch, every fourth
 * has two, and so on: many races need two switches, and would otherwise be found only after all
 * schedules with one switch have run. */
#ifndef NL_SIM_CHECK_EXPLORE_H
#define NL_SIM_CHECK_EXPLORE_H

#include "sim/engine/schedule.h"

typedef struct nl_sim_explorer nl_sim_explorer;

nl_sim_explorer *nl_sim_explorer_open(void); /* NULL without memory */
void nl_sim_explorer_close(nl_sim_explorer *explorer);
/* Call this function after the launch has run with this schedule: it adds the schedules that follow
 * from the run. */
void nl_sim_explorer_ran(nl_sim_explorer *explorer, const nl_sim_schedule *schedule);
/* Returns the next schedule to run; 0 if there is none. */
int nl_sim_explorer_next(nl_sim_explorer *explorer, nl_sim_schedule *schedule);

#endif
