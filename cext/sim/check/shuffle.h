/* sim/check/shuffle: values that come from lanes that a shuffle's mask does not name. What such a
 * lane gives is undefined. */
#ifndef NL_SIM_CHECK_SHUFFLE_H
#define NL_SIM_CHECK_SHUFFLE_H

#include "sim/engine/worker.h"

/* What is known of the lanes of a worker's block. */
typedef struct nl_sim_doubts nl_sim_doubts;

/* A group of lanes is about to exchange their values, in a launch that is checked for `sync`. */
void nl_sim_shuffle_look(nl_sim_worker *w, unsigned warp, const nl_sim_group *group);

#endif
