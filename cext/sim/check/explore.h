/* sim/check/explore: enumerates the schedules of a launch in which atomics order the threads.
 *
 * The first schedule has no switches. If two threads made atomic accesses to the same memory, and
 * only the schedule determined their order, another schedule runs the later thread first. A
 * schedule has at most NL_SIM_SWITCHES switches. Every second schedule has one switch, every fourth
 * has two, and so on: many races need two switches, and without this rule would be found only after
 * all schedules with one switch have run. */
#ifndef NL_SIM_CHECK_EXPLORE_H
#define NL_SIM_CHECK_EXPLORE_H

#include "sim/engine/schedule.h"

typedef struct nl_sim_explorer nl_sim_explorer;

nl_sim_explorer *nl_sim_explorer_open(void); /* returns NULL if memory runs out */
void nl_sim_explorer_close(nl_sim_explorer *explorer);
/* Adds the schedules that follow from a run; call this function after the launch has run with this
 * schedule. */
void nl_sim_explorer_add_run(nl_sim_explorer *explorer, const nl_sim_schedule *schedule);
/* Sets *schedule to the next schedule to run and returns 1, or returns 0 if there is no schedule
 * left. */
int nl_sim_explorer_next_schedule(nl_sim_explorer *explorer, nl_sim_schedule *schedule);

#endif
