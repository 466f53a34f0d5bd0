/* sim/check/traffic: stores one bit for each sector of simulated memory; the system allocates the
 * pages of the bits at the first write. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/check/traffic.h"

#include <sys/mman.h>
#include "base/lock.h"
#include "base/mem.h"
#include "sim/check/request.h"
#include "sim/engine/shadow.h"

enum { WORD = 64 };

struct nl_sim_traffic {
    uint64_t *loaded, *stored;
    size_t size; /* bytes of each */
};

static uint64_t *map_bitmap(size_t size) {
    void *bits = nl_mem_must_fail() ? MAP_FAILED
                                    : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bits == MAP_FAILED ? NULL : bits;
}

nl_sim_traffic *nl_sim_traffic_create(void) {
    nl_sim_traffic *t = nl_mem_zalloc(sizeof *t, NULL);
    if (!t)
        return NULL;
    t->size = nl_sim_shadow.span / NL_SIM_TRAFFIC_SECTOR / 8 + 8;
    t->loaded = map_bitmap(t->size);
    t->stored = map_bitmap(t->size);
    if (!t->loaded || !t->stored) {
        nl_sim_traffic_destroy(t);
        return NULL;
    }
    return t;
}

void nl_sim_traffic_destroy(nl_sim_traffic *t) {
    if (!t)
        return;
    if (t->loaded)
        munmap(t->loaded, t->size);
    if (t->stored)
        munmap(t->stored, t->size);
    nl_mem_free(t);
}

/* Sets the bits [first, last], except those that are set in `excluded` (or NULL); returns how many
 * bits were not set before. */
static unsigned set_and_count_bits(uint64_t *bits, const uint64_t *excluded, size_t first,
                                   size_t last) {
    unsigned count = 0;
    for (size_t i = first / WORD; i <= last / WORD; i++) {
        unsigned low = i == first / WORD ? first % WORD : 0;
        unsigned high = i == last / WORD ? last % WORD : WORD - 1;
        uint64_t mask = (~UINT64_C(0) << low) & (~UINT64_C(0) >> (WORD - 1 - high));
        if (excluded)
            mask &= ~nl_atomic_load(&excluded[i]);
        if (mask & ~nl_atomic_load(&bits[i]))
            count += nl_sim_request_count_bits(mask & ~nl_atomic_or(&bits[i], mask));
    }
    return count;
}

static unsigned mark_sectors(uint64_t *bits, const uint64_t *excluded, uintptr_t first,
                             uintptr_t last) {
    uintptr_t low = nl_sim_shadow.low;
    if (first - low >= nl_sim_shadow.span || last - low >= nl_sim_shadow.span)
        return 0;
    return set_and_count_bits(bits, excluded, (first - low) / NL_SIM_TRAFFIC_SECTOR,
                              (last - low) / NL_SIM_TRAFFIC_SECTOR);
}

unsigned nl_sim_traffic_record_load(nl_sim_traffic *t, uintptr_t first, uintptr_t last) {
    return mark_sectors(t->loaded, t->stored, first, last);
}

unsigned nl_sim_traffic_record_store(nl_sim_traffic *t, uintptr_t first, uintptr_t last) {
    return mark_sectors(t->stored, NULL, first, last);
}
