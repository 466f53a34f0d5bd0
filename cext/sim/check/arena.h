/* sim/check/arena: the shared memory of the block that a worker runs in a checked launch.
 *
 * It is simulated memory like that of devices, so that the shadow covers it. The dynamic memory
 * comes first, then each __shared__ variable, when the first thread comes to its declaration;
 * between them is more that nobody may touch than an index is likely to be wrong by. */
#ifndef NL_SIM_CHECK_ARENA_H
#define NL_SIM_CHECK_ARENA_H

#include "sim/engine/worker.h"

/* Before a worker runs blocks of a checked launch. -1 without memory. */
int nl_sim_arena_open(nl_sim_worker *w);
/* A block begins: nothing has been written. */
void nl_sim_arena_block(nl_sim_worker *w);
/* nl_sim_checker.shared */
void *nl_sim_arena_shared(const nl_sim_shared *variable);
/* A block of a cluster has ended: nobody may touch what was its own. */
void nl_sim_arena_end(nl_sim_worker *w);
/* What an address in the worker's arena is in that of another block of its cluster. */
uintptr_t nl_sim_arena_map(nl_sim_worker *w, uintptr_t address, nl_sim_worker *other);
/* Is the address in the worker's arena, wherever? */
int nl_sim_arena_has(const nl_sim_worker *w, uintptr_t address);

/* A variable in it. */
typedef struct nl_sim_arena_entry {
    const nl_sim_shared *variable; /* NULL: dynamic memory that has got no name */
    uintptr_t base;
    size_t size;
} nl_sim_arena_entry;
/* The one that the address is in, or is nearest to. 0 if there is none. */
int nl_sim_arena_find(const nl_sim_worker *w, uintptr_t address, nl_sim_arena_entry *entry);

/* The n-th variable, the dynamic memory first. 0 if there are not so many. */
int nl_sim_arena_variable(const nl_sim_worker *w, unsigned n, nl_sim_arena_entry *entry);
/* Is there a variable of these dimensions, or of more of which these are the last? */
int nl_sim_arena_has_part(const nl_sim_worker *w, unsigned ndim, const unsigned long long *extents);

#endif
