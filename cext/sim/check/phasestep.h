/* sim/check/phasestep: handles the steps of a barrier with phases (phases.h): a thread's arrivals,
 * tests and waits. */
#ifndef NL_SIM_CHECK_PHASESTEP_H
#define NL_SIM_CHECK_PHASESTEP_H

#include "sim/abi.h"

/* Implements nl_sim_checker.phase. */
int nl_sim_phasestep_execute(const nl_sim_phase *what, const void *pc);

#endif
