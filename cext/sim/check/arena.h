/* sim/check/arena: allocates the shared memory of a worker's block in a checked launch.
 *
 * The arena is simulated memory like device memory, so that shadow memory covers it. The dynamic
 * shared memory comes first, then each __shared__ variable, allocated when the first thread reaches
 * its declaration. The inaccessible gaps between variables are larger than the offset of a typical
 * wrong index. */
#ifndef NL_SIM_CHECK_ARENA_H
#define NL_SIM_CHECK_ARENA_H

#include "sim/engine/worker.h"

/* Prepares a worker for the blocks of a checked launch. Returns -1 if memory runs out. */
int nl_sim_arena_open(nl_sim_worker *w);
/* Marks all variables as unwritten; called when a block begins. */
void nl_sim_arena_begin_block(nl_sim_worker *w);
/* Implements nl_sim_checker.shared. */
void *nl_sim_arena_shared_address(const nl_sim_shared *variable);
/* Makes the shared memory of a block of a cluster inaccessible; called when the block has ended. */
void nl_sim_arena_end_block(nl_sim_worker *w);
/* Converts an address in the worker's arena to the address of the same variable in the arena of
 * `other`, a block of the same cluster. */
uintptr_t nl_sim_arena_map_address(nl_sim_worker *w, uintptr_t address, nl_sim_worker *other);
/* Returns whether the address is in the worker's arena. */
int nl_sim_arena_contains(const nl_sim_worker *w, uintptr_t address);
/* Sets the address range of shared memory; *low equals *high if there is no shared memory. */
void nl_sim_arena_address_range(const nl_sim_worker *worker, uintptr_t *low, uintptr_t *high);

/* A variable in the arena. */
typedef struct nl_sim_arena_entry {
    const nl_sim_shared *variable; /* NULL: dynamic memory without a name */
    uintptr_t base;
    size_t size;
} nl_sim_arena_entry;
/* Returns the variable that contains the address, or the nearest variable. Returns 0 if there is no
 * variable. */
int nl_sim_arena_find_variable(const nl_sim_worker *w, uintptr_t address,
                               nl_sim_arena_entry *entry);

/* The n-th variable; 0 is the dynamic memory. Returns 0 if there are fewer. */
int nl_sim_arena_get_variable(const nl_sim_worker *w, unsigned n, nl_sim_arena_entry *entry);
/* Returns whether a variable's last dimensions have these extents. */
int nl_sim_arena_has_subarray(const nl_sim_worker *w, unsigned ndim,
                              const unsigned long long *extents);

#endif
