/* sim/engine/ops: the table that images call. */
#ifndef NL_SIM_ENGINE_OPS_H
#define NL_SIM_ENGINE_OPS_H

#include "sim/abi.h"

extern const nl_sim_ops nl_sim_engine;
/* If kernels have printed, brings it out. Called by whoever synchronises. */
void nl_sim_ops_flush(void);

#endif
