/* sim/check/shadow: stores pages in an open hash table, of which at most three quarters are
 * used. */
#include "sim/check/shadow.h"

#include <string.h>
#include "base/mem.h"

/* Offset of a page's cells. */
#define HEAD ((sizeof(nl_sim_shadow_page) + 15) / 16 * 16)

static nl_sim_shadow_page **find_slot(nl_sim_shadow_page **table, size_t capacity,
                                      uintptr_t number) {
    uint64_t at = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 24;
    for (;; at++) {
        nl_sim_shadow_page **p = &table[at & (capacity - 1)];
        if (!*p || (*p)->number == number)
            return p;
    }
}

static int grow_shadow(nl_sim_shadow *s) {
    size_t capacity = s->capacity ? s->capacity * 2 : 256;
    nl_sim_shadow_page **table = nl_mem_zalloc(capacity * sizeof *table, NULL);
    if (!table)
        return -1;
    for (size_t i = 0; i < s->capacity; i++) {
        if (s->pages[i])
            *find_slot(table, capacity, s->pages[i]->number) = s->pages[i];
    }
    nl_mem_free(s->pages);
    s->pages = table;
    s->capacity = capacity;
    return 0;
}

nl_sim_shadow_page *nl_sim_shadow_find_page(nl_sim_shadow *s, uintptr_t number, size_t cell_size) {
    if (s->count * 4 >= s->capacity * 3 && grow_shadow(s) < 0)
        return NULL;
    nl_sim_shadow_page **slot = find_slot(s->pages, s->capacity, number);
    if (!*slot) {
        char *memory = nl_mem_zalloc(HEAD + NL_SIM_SHADOW_CELLS * cell_size, NULL);
        if (!memory)
            return NULL;
        *slot = (nl_sim_shadow_page *)memory;
        (*slot)->number = number;
        (*slot)->cells = memory + HEAD;
        s->count++;
    }
    s->recent[number % NL_SIM_SHADOW_RECENT] = *slot;
    return *slot;
}

void nl_sim_shadow_clear(nl_sim_shadow *s) {
    for (size_t i = 0; i < s->capacity; i++)
        nl_mem_free(s->pages[i]);
    nl_mem_free(s->pages);
    memset(s, 0, sizeof *s);
}
