/* sim/engine/stack: the stacks of one worker's fibers, allocated on demand and reused. */
#ifndef NL_SIM_ENGINE_STACK_H
#define NL_SIM_ENGINE_STACK_H

#include <stdint.h>
#include "sim/engine/fiber.h"

enum {
    NL_SIM_STACKS = 1024 + 1
    /* maximum number of stacks: one for each thread of the largest block, and one spare stack */
};

typedef struct nl_sim_stacks {
    size_t size;    /* of each stack, in bytes */
    unsigned count; /* number of allocated stacks */
    unsigned free_count;
    unsigned slab_count;
    /* free stacks in last-in, first-out order, so that a stack in the cache is reused first */
    uint16_t free[NL_SIM_STACKS];
    nl_sim_fiber_stack all[NL_SIM_STACKS];
    void *slabs[NL_SIM_STACKS];
} nl_sim_stacks;

/* Sets the size of all stacks (rounded up to pages); stacks of another size are freed. No stack may
 * be in use during this call. */
void nl_sim_stacks_resize(nl_sim_stacks *stacks, size_t size);
/* Allocates a stack and returns its index, or -1 if memory runs out. */
int nl_sim_stacks_grow(nl_sim_stacks *stacks);
static inline int nl_sim_stacks_acquire(nl_sim_stacks *stacks) {
    return stacks->free_count ? stacks->free[--stacks->free_count] : nl_sim_stacks_grow(stacks);
}
static inline void nl_sim_stacks_release(nl_sim_stacks *stacks, unsigned index) {
    stacks->free[stacks->free_count++] = (uint16_t)index;
}
/* Marks all stacks as free; the code that was running on them is abandoned. */
void nl_sim_stacks_reset(nl_sim_stacks *stacks);
/* Frees the lower pages of the stacks if many stacks use such pages. No stack may be in use during
 * this call. */
void nl_sim_stacks_trim(nl_sim_stacks *stacks);
/* Returns whether `address` is in the guard below one of the stacks. */
int nl_sim_stacks_overflown(const nl_sim_stacks *stacks, uintptr_t address);

#endif
