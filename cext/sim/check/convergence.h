/* sim/check/convergence: whether all those come to a barrier or a warp's operation who should, in
 * launches that are checked for it. What can never go on is a fault in any launch (report.c); these
 * go on without those who have ended. */
#ifndef NL_SIM_CHECK_CONVERGENCE_H
#define NL_SIM_CHECK_CONVERGENCE_H

#include "sim/engine/worker.h"

/* The block's barrier is about to be released. */
void nl_sim_convergence_at_barrier(nl_sim_worker *w);
/* A group of lanes is about to get its values. */
void nl_sim_convergence_of_warp(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);

#endif
