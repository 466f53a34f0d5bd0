/* sim/check/convergence: checks whether all required threads reach a barrier or a warp operation.
 * Deadlocks are an error in any launch (report.c); a launch with missing threads continues, because
 * the missing threads have ended. */
#ifndef NL_SIM_CHECK_CONVERGENCE_H
#define NL_SIM_CHECK_CONVERGENCE_H

#include "sim/engine/worker.h"

/* Checks a barrier of the block; call this function before the barrier is released. */
void nl_sim_convergence_check_barrier(nl_sim_worker *w);
/* Checks a collective; call this function before a group of lanes receives the values. */
void nl_sim_convergence_check_warp(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);

#endif
