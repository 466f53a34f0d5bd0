/* sim/engine/ops: the table of functions that images call. */
#ifndef NL_SIM_ENGINE_OPS_H
#define NL_SIM_ENGINE_OPS_H

#include "sim/abi.h"

extern const nl_sim_ops nl_sim_ops_of_engine;
/* Writes the pending output of kernels to stdout. Call this function when the host synchronizes. */
void nl_sim_ops_flush_output(void);

#endif
