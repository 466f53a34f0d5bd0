/* sim/check/uncertain: marks memory whose value depends on the order of atomics, such as a sum of
 * floating-point numbers. An uncertain value matters only if a thread reads it.
 *
 * Only one OS thread at a time may call these functions. */
#ifndef NL_SIM_CHECK_UNCERTAIN_H
#define NL_SIM_CHECK_UNCERTAIN_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/shadow.h"

/* All zeros: none. */
typedef struct nl_sim_uncertain {
    int has_any;
    nl_sim_shadow cells; /* one byte for each four bytes of memory */
} nl_sim_uncertain;

void nl_sim_uncertain_clear(nl_sim_uncertain *uncertain);
/* Marks the memory as uncertain, or removes the marks. Returns -1 if memory runs out. */
int nl_sim_uncertain_mark(nl_sim_uncertain *uncertain, uintptr_t address, size_t size,
                          int is_uncertain);
/* Returns the address of the first marked four bytes in this memory, or 0 if there are none. */
uintptr_t nl_sim_uncertain_search(nl_sim_uncertain *uncertain, uintptr_t address, size_t size);
static inline uintptr_t nl_sim_uncertain_find(nl_sim_uncertain *uncertain, uintptr_t address,
                                              size_t size) {
    return uncertain->has_any ? nl_sim_uncertain_search(uncertain, address, size) : 0;
}

#endif
