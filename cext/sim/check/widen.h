/* sim/check/widen: counts the requests of a warp as if a compiler had merged adjacent accesses of a
 * source line into accesses of 8 or 16 bytes.
 *
 * numbalite/profiler/reconcile.py later determines from the machine code whether the compiler has
 * merged the accesses. */
#ifndef NL_SIM_CHECK_WIDEN_H
#define NL_SIM_CHECK_WIDEN_H

#include "sim/check/request.h"

enum { NL_SIM_WIDEN_MAX = 4096 };

typedef struct nl_sim_widen nl_sim_widen;

/* Returns NULL if memory runs out. */
nl_sim_widen *nl_sim_widen_create(void);
void nl_sim_widen_destroy(nl_sim_widen *widen);
/* Adds the differences that wider accesses would make to the counters, to sites[...].widened.
 * `count` is at most NL_SIM_WIDEN_MAX requests. */
void nl_sim_widen_count(nl_sim_widen *widen, const nl_sim_request *requests, unsigned count,
                        nl_sim_request_site *sites);

#endif
