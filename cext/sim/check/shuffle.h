/* sim/check/shuffle: finds shuffles that read from lanes outside of the mask. The value that a
 * shuffle returns for a source lane outside of the mask is undefined. */
#ifndef NL_SIM_CHECK_SHUFFLE_H
#define NL_SIM_CHECK_SHUFFLE_H

#include "sim/engine/worker.h"

/* State of the shuffle check for the lanes of a worker's block. */
typedef struct nl_sim_doubts nl_sim_doubts;

/* Clears the state when a launch begins, because block indices repeat. Clears the state, because
 * block indices repeat. */
void nl_sim_shuffle_clear_state(nl_sim_worker *w);
/* Checks the source lanes of a shuffle; call this function before a group of lanes exchanges
 * values, if the check `sync` is enabled. */
void nl_sim_shuffle_check_sources(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);
/* Call after the exchange. */
void nl_sim_shuffle_mark_values(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);
/* Checks whether a store writes the value of an undefined shuffle result; call this function before
 * the running thread accesses memory; `kind` is NL_SIM_ACCESS_... bits. */
void nl_sim_shuffle_check_store(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind);
/* Checks the thread's last store; call this function when the store is certainly in memory. */
void nl_sim_shuffle_forget_value(nl_sim_worker *w, unsigned thread);

#endif
