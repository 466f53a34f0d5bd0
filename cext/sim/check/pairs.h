/* sim/check/pairs: a hash table of fixed size, whose keys are pairs of instructions with
 * conflicting accesses. */
#ifndef NL_SIM_CHECK_PAIRS_H
#define NL_SIM_CHECK_PAIRS_H

#include <stdint.h>

enum { NL_SIM_PAIRS = 512 };

/* Positions in the image. Both 0: free. */
typedef struct nl_sim_pair {
    int32_t earlier, later;
    int scope; /* largest nl_sim_race_scope that was reported for this pair */
} nl_sim_pair;

typedef struct nl_sim_pairs {
    unsigned count;
    nl_sim_pair table[NL_SIM_PAIRS];
} nl_sim_pairs;

/* Returns the entry of this pair; creates an entry if the table has space, else returns NULL. */
nl_sim_pair *nl_sim_pairs_find_or_add(nl_sim_pairs *pairs, int32_t earlier, int32_t later);

#endif
