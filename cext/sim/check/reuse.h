/* sim/check/reuse: counts the reuse distances of a block's loads from global memory.
 *
 * The reuse distance of a load is the number of other cache lines that were loaded since the
 * previous load of the same line. A cache of n lines with LRU replacement hits if the distance is
 * less than n. Therefore one histogram of distances gives the hit rates of caches of all sizes. */
#ifndef NL_SIM_CHECK_REUSE_H
#define NL_SIM_CHECK_REUSE_H

#include <stdint.h>
#include "driver/profile.h"

enum { NL_SIM_REUSE_LINE = 128, NL_SIM_REUSE_SECTOR = 32 };

typedef struct nl_sim_reuse nl_sim_reuse;

/* Returns NULL if memory runs out. */
nl_sim_reuse *nl_sim_reuse_create(void);
void nl_sim_reuse_destroy(nl_sim_reuse *reuse);
/* Clears the list of loaded lines; call this function when a block begins. */
void nl_sim_reuse_begin_block(nl_sim_reuse *reuse);
/* Counts a load of sectors of one cache line; `sectors` has one bit for each sector. */
void nl_sim_reuse_record_load(nl_sim_reuse *reuse, uintptr_t line, unsigned sectors);
/* Returns the histogram of the sectors by reuse distance, with NL_PROFILE_REUSE entries
 * (nl_profile.reuse). */
const uint64_t *nl_sim_reuse_get_histogram(const nl_sim_reuse *reuse);

#endif
