/* sim/check/convergence: checks whether all required threads reach a barrier or a warp operation.
 * Deadlocks are an error in any launch (report.c); the cases here continue, because the missing
 * threads have ended. */
#ifndef NL_SIM_CHECK_CONVERGENCE_H
#define NL_SIM_CHECK_CONVERGENCE_H

#include "sim/engine/worker.h"

/* Call this function before the block's barrier is released. */
void nl_sim_convergence_at_barrier(nl_sim_worker *w);
/* Call this function before a group of lanes receives the values of a collective. */
void nl_sim_convergence_of_warp(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);

#endif
