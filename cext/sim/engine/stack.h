/* sim/engine/stack: the stacks of one worker's fibers, made when first needed and reused ever
 * after. */
#ifndef NL_SIM_ENGINE_STACK_H
#define NL_SIM_ENGINE_STACK_H

#include <stdint.h>
#include "sim/engine/fiber.h"

enum { NL_SIM_STACKS = 1024 + 1 }; /* one per thread of the largest block, and one to spare */

typedef struct nl_sim_stacks {
    size_t size;    /* of every stack */
    unsigned count; /* made so far */
    unsigned free_count;
    unsigned slab_count;
    uint16_t free[NL_SIM_STACKS]; /* last in, first out: a warm stack is used again at once */
    nl_fiber_stack all[NL_SIM_STACKS];
    void *slabs[NL_SIM_STACKS];
} nl_sim_stacks;

/* Makes all stacks `size` bytes (rounded up to pages); those of another size are given back. Call
 * only when none is in use. */
void nl_sim_stacks_resize(nl_sim_stacks *stacks, size_t size);
/* Index of a stack to use, or -1 if there is no memory for one. */
int nl_sim_stacks_grow(nl_sim_stacks *stacks);
static inline int nl_sim_stacks_take(nl_sim_stacks *stacks) {
    return stacks->free_count ? stacks->free[--stacks->free_count] : nl_sim_stacks_grow(stacks);
}
static inline void nl_sim_stacks_give(nl_sim_stacks *stacks, unsigned index) {
    stacks->free[stacks->free_count++] = (uint16_t)index;
}
/* All stacks are free again, whatever was running on them. */
void nl_sim_stacks_reset(nl_sim_stacks *stacks);
/* Is `address` in the guard below one of the stacks? */
int nl_sim_stacks_overflown(const nl_sim_stacks *stacks, uintptr_t address);

#endif
