/* sim/check/shadow: the shadow memory of a checker, which has one cell for each four bytes of
 * memory. A page of cells is allocated when one of its cells is first used; a hash table finds
 * pages by address. */
#ifndef NL_SIM_CHECK_SHADOW_H
#define NL_SIM_CHECK_SHADOW_H

#include <stddef.h>
#include <stdint.h>

enum {
    NL_SIM_SHADOW_GRANULE = 4,
    NL_SIM_SHADOW_PAGE = 1024, /* bytes of memory */
    NL_SIM_SHADOW_CELLS = NL_SIM_SHADOW_PAGE / NL_SIM_SHADOW_GRANULE,
    NL_SIM_SHADOW_RECENT = 64,
};

typedef struct nl_sim_shadow_page {
    uintptr_t number; /* address / NL_SIM_SHADOW_PAGE */
    void *cells;      /* NL_SIM_SHADOW_CELLS cells, initially zero */
} nl_sim_shadow_page;

typedef struct nl_sim_shadow {
    size_t count, capacity;
    nl_sim_shadow_page **pages; /* the hash table; NULL: free slot */
    nl_sim_shadow_page *recent[NL_SIM_SHADOW_RECENT];
} nl_sim_shadow;

/* Returns the page with this number. Allocates a new page if necessary, and caches the page in
 * `recent`. Returns NULL if memory runs out. */
nl_sim_shadow_page *nl_sim_shadow_find_page(nl_sim_shadow *shadow, uintptr_t number,
                                            size_t cell_size);
/* Frees all pages. */
void nl_sim_shadow_clear(nl_sim_shadow *shadow);

/* Returns the cell of the four bytes at `address`, or NULL if memory runs out. */
static inline void *nl_sim_shadow_find(nl_sim_shadow *shadow, uintptr_t address, size_t cell_size) {
    uintptr_t number = address / NL_SIM_SHADOW_PAGE;
    nl_sim_shadow_page *p = shadow->recent[number % NL_SIM_SHADOW_RECENT];
    if (!p || p->number != number) {
        p = nl_sim_shadow_find_page(shadow, number, cell_size);
        if (!p)
            return NULL;
    }
    return (char *)p->cells + address % NL_SIM_SHADOW_PAGE / NL_SIM_SHADOW_GRANULE * cell_size;
}

#endif
