/* sim/check/arena: manages the shared memory of a worker's block as a list of variables in the
 * order of their first use. The list of variables is the same for all blocks of a launch. */
#include "sim/check/arena.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sim/engine/fault.h"
#include "sim/engine/job.h"
#include "sim/engine/limits.h"
#include "sim/engine/memory.h"
#include "sim/engine/shadow.h"

enum { MOST = 128, ALIGNMENT = 128, ZONE = 4096, SIZE = 4 << 20 };

struct nl_sim_arena {
    uintptr_t low, at; /* `at` is the end of the last variable, where the next variable is
                        * allocated */
    nl_sim_arena_entry dynamic;
    nl_sim_arena_entry all[MOST];
    unsigned count;
};

static struct nl_sim_arena *make_arena(void) {
    struct nl_sim_arena *a = nl_mem_alloc_permanent(sizeof *a);
    if (a && (nl_mem_must_fail() ||
              nl_sim_memory_alloc(NL_SIM_MEMORY_SHARED, -1, SIZE, &a->low) != CUDA_SUCCESS)) {
        free(a);
        return NULL;
    }
    if (a)
        nl_sim_shadow_set(a->low, SIZE, 0);
    return a;
}

/* Allocates `size` bytes, after an inaccessible gap of at least the same size. */
static int allocate_after_gap(struct nl_sim_arena *a, size_t size, nl_sim_arena_entry *entry) {
    uintptr_t base = a->at + (size > ZONE ? size : ZONE);
    base = (base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (base + size + ZONE > a->low + SIZE)
        return -1;
    entry->base = base;
    entry->size = size;
    a->at = base + size;
    return 0;
}

int nl_sim_arena_open(nl_sim_worker *w) {
    if (!w->arena && !(w->arena = make_arena()))
        return -1;
    struct nl_sim_arena *a = w->arena;
    nl_sim_shadow_set(a->low, a->at ? a->at - a->low : 0, 0);
    a->at = a->low;
    a->count = 0;
    a->dynamic.variable = NULL;
    if (allocate_after_gap(a, w->job->launch.shared_bytes, &a->dynamic) < 0)
        return -1;
    w->shared = (void *)a->dynamic.base;
    return 0;
}

void nl_sim_arena_begin_block(nl_sim_worker *w) {
    const struct nl_sim_arena *a = w->arena;
    if (!a)
        return;
    nl_sim_shadow_set(a->dynamic.base, a->dynamic.size, NL_SIM_THERE);
    for (unsigned i = 0; i < a->count; i++)
        nl_sim_shadow_set(a->all[i].base, a->all[i].size, NL_SIM_THERE);
}

_Noreturn static void raise_shared_memory_exhausted(nl_sim_worker *w) {
    nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, NL_CHECK_STACK,
                       "the shared variables of the block need more memory than a block has",
                       w->current, (nl_sim_site){.file = NULL});
}

/* Returns the address of a variable in a worker's block; allocates the variable at its first
 * use. */
static void *shared_address(nl_sim_worker *w, const nl_sim_shared *variable) {
    struct nl_sim_arena *a = w->arena;
    if (variable->size == 0) {
        if (a)
            a->dynamic.variable = variable;
        return w->shared;
    }
    for (unsigned i = 0; a && i < a->count; i++) {
        if (a->all[i].variable == variable)
            return (void *)a->all[i].base;
    }
    if (!a || a->count == MOST || allocate_after_gap(a, variable->size, &a->all[a->count]) < 0)
        raise_shared_memory_exhausted(w);
    nl_sim_arena_entry *entry = &a->all[a->count++];
    entry->variable = variable;
    nl_sim_shadow_set(entry->base, entry->size, w->cluster_ended ? 0 : NL_SIM_THERE);
    return (void *)entry->base;
}

void nl_sim_arena_end_block(nl_sim_worker *w) {
    const struct nl_sim_arena *a = w->arena;
    if (a)
        nl_sim_shadow_set(a->low, a->at - a->low, 0);
}

uintptr_t nl_sim_arena_map_address(nl_sim_worker *w, uintptr_t address, nl_sim_worker *other) {
    nl_sim_arena_entry e = w->arena->dynamic;
    (void)nl_sim_arena_find_variable(w, address, &e);
    if (e.base == w->arena->dynamic.base)
        return address - e.base + other->arena->dynamic.base;
    return address - e.base + (uintptr_t)shared_address(other, e.variable);
}

void *nl_sim_arena_shared_address(const nl_sim_shared *variable) {
    return shared_address(nl_sim_worker_current, variable);
}

int nl_sim_arena_contains(const nl_sim_worker *w, uintptr_t address) {
    return w->arena && address - w->arena->low < SIZE;
}

void nl_sim_arena_address_range(const nl_sim_worker *w, uintptr_t *low, uintptr_t *high) {
    *low = w->arena ? w->arena->low : 0;
    *high = w->arena ? w->arena->low + SIZE : 0;
}

static uintptr_t distance_to_end(uintptr_t address, const nl_sim_arena_entry *e) {
    if (address < e->base)
        return e->base - address;
    return address - e->base < e->size ? 0 : address - e->base - e->size + 1;
}

int nl_sim_arena_find_variable(const nl_sim_worker *w, uintptr_t address,
                               nl_sim_arena_entry *entry) {
    const struct nl_sim_arena *a = w->arena;
    if (!nl_sim_arena_contains(w, address) ||
        (!a->count && !a->dynamic.size && !a->dynamic.variable))
        return 0;
    *entry = a->dynamic.size || a->dynamic.variable ? a->dynamic : a->all[0];
    for (unsigned i = 0; i < a->count; i++) {
        if (distance_to_end(address, &a->all[i]) < distance_to_end(address, entry))
            *entry = a->all[i];
    }
    return 1;
}

int nl_sim_arena_get_variable(const nl_sim_worker *w, unsigned n, nl_sim_arena_entry *entry) {
    const struct nl_sim_arena *a = w->arena;
    if (!a || n > a->count)
        return 0;
    *entry = n ? a->all[n - 1] : a->dynamic;
    return 1;
}

static int has_trailing_extents(const nl_sim_shared *v, unsigned ndim,
                                const unsigned long long *extents) {
    if (!v || v->ndim < ndim || v->ndim > 4)
        return 0;
    return memcmp(v->extents + (v->ndim - ndim), extents, ndim * sizeof *extents) == 0;
}

int nl_sim_arena_has_subarray(const nl_sim_worker *w, unsigned ndim,
                              const unsigned long long *extents) {
    const struct nl_sim_arena *a = w->arena;
    for (unsigned i = 0; a && i < a->count; i++) {
        if (has_trailing_extents(a->all[i].variable, ndim, extents))
            return 1;
    }
    return a && has_trailing_extents(a->dynamic.variable, ndim, extents);
}
