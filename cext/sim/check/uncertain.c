/* sim/check/uncertain: stores one byte in shadow memory for each four bytes; the byte is 1 if the
 * value is uncertain. */
#include "sim/check/uncertain.h"

enum { GRANULE = NL_SIM_SHADOW_GRANULE };

void nl_sim_uncertain_clear(nl_sim_uncertain *u) {
    nl_sim_shadow_clear(&u->cells);
    u->has_any = 0;
}

int nl_sim_uncertain_mark(nl_sim_uncertain *u, uintptr_t address, size_t size, int is_uncertain) {
    u->has_any |= is_uncertain;
    if (!u->has_any)
        return 0;
    for (uintptr_t at = address / GRANULE * GRANULE; at < address + size; at += GRANULE) {
        char *cell = nl_sim_shadow_find(&u->cells, at, 1);
        if (!cell)
            return -1;
        *cell = (char)is_uncertain;
    }
    return 0;
}

uintptr_t nl_sim_uncertain_search(nl_sim_uncertain *u, uintptr_t address, size_t size) {
    for (uintptr_t at = address / GRANULE * GRANULE; at < address + size; at += GRANULE) {
        const char *cell = nl_sim_shadow_find(&u->cells, at, 1);
        if (cell && *cell)
            return at;
    }
    return 0;
}
