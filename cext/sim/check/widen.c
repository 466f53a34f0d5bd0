/* sim/check/widen: finds the neighbours of a request by a hash table by source line and address. */
#include "sim/check/widen.h"

#include <string.h>
#include "base/mem.h"

enum { SLOTS = 2 * NL_SIM_WIDEN_MAX, MIN_SLOTS = 16, MAX_BYTES = 16 };

struct nl_sim_widen {
    uint16_t slots[SLOTS]; /* index of a request plus one; 0: free */
    size_t last;           /* number of slots, a power of two, minus one */
    uint8_t is_merged[NL_SIM_WIDEN_MAX];
};

nl_sim_widen *nl_sim_widen_create(void) {
    return nl_mem_zalloc(sizeof(nl_sim_widen), NULL);
}

void nl_sim_widen_destroy(nl_sim_widen *w) {
    nl_mem_free(w);
}

static uintptr_t first_address(const nl_sim_request *q) {
    return q->address[__builtin_ctz(q->mask)];
}

static int can_widen_site(const nl_sim_request_site *s, unsigned bytes) {
    return s->kind != NL_SIM_REQUEST_ATOMIC &&
           (s->space == NL_SIM_REQUEST_GLOBAL || s->space == NL_SIM_REQUEST_SHARED) &&
           s->size < bytes;
}

/* Can this request be part of an access of `bytes` bytes? A lane of a consecutive request accesses
 * the bytes next to those of another lane, so that no wide access is aligned in both lanes. */
static int is_widening_candidate(const nl_sim_request *q, const nl_sim_request_site *sites,
                                 unsigned bytes) {
    return !q->is_consecutive && can_widen_site(&sites[q->site], bytes);
}

static int has_widening_candidates(const nl_sim_request *requests, unsigned count,
                                   const nl_sim_request_site *sites) {
    unsigned i = 0;
    while (i < count && !is_widening_candidate(&requests[i], sites, MAX_BYTES))
        i++;
    return i < count;
}

static size_t hash_access(uintptr_t address, uint32_t line) {
    uint64_t x = ((uint64_t)address ^ (uint64_t)line << 48) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(x >> 40);
}

static void insert_request(nl_sim_widen *w, const nl_sim_request *requests, unsigned index,
                           const nl_sim_request_site *sites) {
    const nl_sim_request *q = &requests[index];
    size_t at = hash_access(first_address(q), sites[q->site].line);
    while (w->slots[at & w->last])
        at++;
    w->slots[at & w->last] = (uint16_t)(index + 1);
}

/* Returns whether the address of each lane in `b` is its address in `a` plus `offset`. */
static int is_neighbour(const nl_sim_request *a, const nl_sim_request *b, uintptr_t offset) {
    if (a->mask != b->mask)
        return 0;
    for (uint32_t mask = a->mask; mask; mask &= mask - 1) {
        int i = __builtin_ctz(mask);
        if (b->address[i] != a->address[i] + offset)
            return 0;
    }
    return 1;
}

static int is_aligned(const nl_sim_request *q, unsigned bytes) {
    for (uint32_t mask = q->mask; mask; mask &= mask - 1) {
        if (q->address[__builtin_ctz(mask)] % bytes)
            return 0;
    }
    return 1;
}

/* Returns the index of an unmerged request of the same line and kind at `offset` from `q`, or
 * -1. */
static int find_neighbour(const nl_sim_widen *w, const nl_sim_request *requests,
                          const nl_sim_request_site *sites, const nl_sim_request *q,
                          uintptr_t offset) {
    const nl_sim_request_site *s = &sites[q->site];
    size_t at = hash_access(first_address(q) + offset, s->line);
    for (uint16_t found; (found = w->slots[at & w->last]) != 0; at++) {
        const nl_sim_request *other = &requests[found - 1];
        const nl_sim_request_site *t = &sites[other->site];
        if (!w->is_merged[found - 1] && t->line == s->line && t->kind == s->kind &&
            t->space == s->space && t->size == s->size && is_neighbour(q, other, offset))
            return found - 1;
    }
    return -1;
}

/* Subtracts a request from the counters of its site, because the request is part of a wider
 * request. */
static void subtract_request(const nl_sim_request *q, nl_sim_request_site *s, unsigned level) {
    uint64_t own[NL_PROFILE_COUNT] = {0};
    nl_sim_request_add_counters(q->address, q->mask, s->size, s->space, s->kind, own);
    for (unsigned i = 0; i < NL_PROFILE_COUNT; i++)
        s->widened[level][i] -= own[i];
}

/* If the request begins an access of `bytes` bytes that the compiler split into several requests,
 * counts these requests as one wide access. */
static void merge_request(nl_sim_widen *w, const nl_sim_request *requests,
                          nl_sim_request_site *sites, unsigned index, unsigned bytes,
                          unsigned level) {
    const nl_sim_request *q = &requests[index];
    nl_sim_request_site *s = &sites[q->site];
    unsigned parts = bytes / s->size;
    int found[MAX_BYTES] = {(int)index};
    if (bytes % s->size || !is_aligned(q, bytes))
        return;
    for (unsigned i = 1; i < parts; i++) {
        found[i] = find_neighbour(w, requests, sites, q, (uintptr_t)i * s->size);
        if (found[i] < 0)
            return;
    }
    for (unsigned i = 0; i < parts; i++) {
        const nl_sim_request *part = &requests[found[i]];
        w->is_merged[found[i]] = 1;
        subtract_request(part, &sites[part->site], level);
    }
    nl_sim_request_add_counters(q->address, q->mask, bytes, s->space, s->kind, s->widened[level]);
}

static void count_at_level(nl_sim_widen *w, const nl_sim_request *requests, unsigned count,
                           nl_sim_request_site *sites, unsigned level) {
    memset(w->is_merged, 0, count);
    for (unsigned bytes = NL_PROFILE_WIDTH(level); bytes > 1; bytes /= 2) {
        for (unsigned i = 0; i < count; i++) {
            if (!w->is_merged[i] && is_widening_candidate(&requests[i], sites, bytes))
                merge_request(w, requests, sites, i, bytes, level);
        }
    }
}

void nl_sim_widen_count(nl_sim_widen *w, const nl_sim_request *requests, unsigned count,
                        nl_sim_request_site *sites) {
    size_t slots = MIN_SLOTS;
    if (!has_widening_candidates(requests, count, sites))
        return;
    while (slots < 2 * (size_t)count)
        slots *= 2;
    memset(w->slots, 0, slots * sizeof *w->slots);
    w->last = slots - 1;
    for (unsigned i = 0; i < count; i++) {
        if (is_widening_candidate(&requests[i], sites, MAX_BYTES))
            insert_request(w, requests, i, sites);
    }
    for (unsigned level = 0; level < NL_PROFILE_WIDTHS; level++)
        count_at_level(w, requests, count, sites, level);
}
