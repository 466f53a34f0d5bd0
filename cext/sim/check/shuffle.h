/* sim/check/shuffle: finds shuffles that read from lanes outside of the mask. The value that a
 * shuffle returns for such a lane is undefined. */
#ifndef NL_SIM_CHECK_SHUFFLE_H
#define NL_SIM_CHECK_SHUFFLE_H

#include "sim/engine/worker.h"

/* State of the shuffle check for the lanes of a worker's block. */
typedef struct nl_sim_doubts nl_sim_doubts;

/* A launch begins. Clears the state, because block indices repeat. */
void nl_sim_shuffle_enter(nl_sim_worker *w);
/* Call this function before a group of lanes exchanges values, in a launch with the check
 * `sync`. */
void nl_sim_shuffle_check_sources(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);
/* Call after the exchange. */
void nl_sim_shuffle_mark(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);
/* Call this function before the running thread accesses memory; `kind` is NL_SIM_ACCESS_...
 * bits. */
void nl_sim_shuffle_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind);
/* Call this function when the thread's last store is certainly in memory. */
void nl_sim_shuffle_finish(nl_sim_worker *w, unsigned thread);

#endif
