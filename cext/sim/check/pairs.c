/* sim/check/pairs: a hash table with open addressing; at most half of its slots are used. */
#include "sim/check/pairs.h"

nl_sim_pair *nl_sim_pairs_find_or_add(nl_sim_pairs *pairs, int32_t earlier, int32_t later) {
    uint32_t at = ((uint32_t)earlier * 31 + (uint32_t)later) * 2654435761u >> 16;
    for (;; at++) {
        nl_sim_pair *p = &pairs->table[at % NL_SIM_PAIRS];
        if (p->earlier == earlier && p->later == later)
            return p;
        if (p->earlier == 0 && p->later == 0) {
            if (pairs->count == NL_SIM_PAIRS / 2)
                return 0;
            pairs->count++;
            *p = (nl_sim_pair){earlier, later, 0};
            return p;
        }
    }
}
