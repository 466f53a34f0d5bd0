/* sim/check/shuffle: values that come from lanes that a shuffle's mask does not name. What such a
 * lane gives is undefined. */
#ifndef NL_SIM_CHECK_SHUFFLE_H
#define NL_SIM_CHECK_SHUFFLE_H

#include "sim/engine/worker.h"

/* What is known of the lanes of a worker's block. */
typedef struct nl_sim_doubts nl_sim_doubts;

/* A launch begins; blocks have the numbers of an earlier one again. */
void nl_sim_shuffle_enter(nl_sim_worker *w);
/* A group of lanes is about to exchange their values, in a launch that is checked for `sync`. */
void nl_sim_shuffle_look(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);
/* They have exchanged them. */
void nl_sim_shuffle_mark(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);
/* The current thread is going to access memory, as NL_SIM_ACCESS_... say. */
void nl_sim_shuffle_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind);
/* What a thread stored last has arrived in memory. */
void nl_sim_shuffle_settle(nl_sim_worker *w, unsigned thread);

#endif
