/* sim/engine/warp: implements collective operations of a warp's lanes. */
#ifndef NL_SIM_ENGINE_WARP_H
#define NL_SIM_ENGINE_WARP_H

#include "sim/engine/worker.h"

/* Implements nl_sim_ops.warp. */
unsigned long long nl_sim_warp_collective(nl_sim_warp_op op, unsigned mask,
                                          unsigned long long value, unsigned argument,
                                          unsigned thread, nl_sim_site site);
/* Completes operations of a warp that only waited for `lane`; call this function when the lane has
 * exited. */
void nl_sim_warp_complete_groups(nl_sim_worker *worker, unsigned warp);

#endif
