/* sim/check/reuse: each load has a time, which is the number of loads before it. A bit is set for
 * the last load of each cache line, so the distance is the number of bits after the line's last
 * load. */
#include "sim/check/reuse.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sim/check/request.h"

enum {
    TIMES = 16384,
    /* number of cache lines that are kept when the times are used up: twice the size of the largest
     * L1 cache */
    KEPT = TIMES / 4,
    SLOTS = 2 * TIMES,
    WORD = 64,
    GROUP = 8,
};

typedef struct entry {
    uintptr_t line;
    uint32_t epoch; /* number of the block; entries of other blocks are free */
    uint16_t time;
    uint8_t sectors; /* that were loaded */
} entry;

struct nl_sim_reuse {
    uint32_t epoch;
    unsigned now;
    /* The bit of a time is set if the load at this time is the latest load of its cache line. */
    uint64_t last[TIMES / WORD];
    entry slots[SLOTS];
    entry kept[KEPT];
    uint64_t histogram[NL_PROFILE_REUSE];
};

nl_sim_reuse *nl_sim_reuse_create(void) {
    nl_sim_reuse *r = nl_mem_zalloc(sizeof *r, NULL);
    if (r)
        r->epoch = 1;
    return r;
}

void nl_sim_reuse_destroy(nl_sim_reuse *r) {
    nl_mem_free(r);
}

const uint64_t *nl_sim_reuse_get_histogram(const nl_sim_reuse *r) {
    return r->histogram;
}

static void forget_times(nl_sim_reuse *r) {
    memset(r->last, 0, (r->now + WORD - 1) / WORD * sizeof *r->last);
    r->now = 0;
}

static void forget_lines(nl_sim_reuse *r) {
    if (++r->epoch == 0) {
        memset(r->slots, 0, sizeof r->slots);
        r->epoch = 1;
    }
}

void nl_sim_reuse_begin_block(nl_sim_reuse *r) {
    forget_times(r);
    forget_lines(r);
}

/* Returns the number of cache lines whose last load was at time `first` or later. */
static unsigned count_lines_loaded_since(const nl_sim_reuse *r, unsigned first) {
    unsigned count = 0;
    if (first < TIMES)
        count = nl_sim_request_count_bits(r->last[first / WORD] >> first % WORD);
    for (unsigned i = first / WORD + 1; i * WORD < r->now; i++)
        count += nl_sim_request_count_bits(r->last[i]);
    return count;
}

/* Returns the entry of the cache line, or a free entry in which the caller can store it. */
static entry *find_entry(nl_sim_reuse *r, uintptr_t line) {
    /* neighbouring lines have neighbouring entries, which are in the same cache line of the
     * processor */
    size_t group = (size_t)((uint64_t)(line / GROUP) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    size_t at = group * GROUP + line % GROUP;
    entry *e = &r->slots[at % SLOTS];
    while (e->epoch == r->epoch && e->line != line)
        e = &r->slots[++at % SLOTS];
    return e;
}

static int compare_times(const void *a, const void *b) {
    return (int)((const entry *)a)->time - (int)((const entry *)b)->time;
}

/* Returns the time after which KEPT cache lines had their last load, or 0. */
static unsigned find_oldest_kept_time(const nl_sim_reuse *r) {
    unsigned first = TIMES;
    while (first >= WORD && count_lines_loaded_since(r, first - WORD) <= KEPT)
        first -= WORD;
    return first;
}

static void keep_newest_lines(nl_sim_reuse *r) {
    unsigned first = find_oldest_kept_time(r), count = 0;
    for (unsigned i = 0; i < SLOTS && count < KEPT; i++) {
        const entry *e = &r->slots[i];
        if (e->epoch == r->epoch && e->time >= first)
            r->kept[count++] = *e;
    }
    qsort(r->kept, count, sizeof *r->kept, compare_times);
    nl_sim_reuse_begin_block(r);
    for (unsigned i = 0; i < count; i++) {
        entry *e = find_entry(r, r->kept[i].line);
        *e = r->kept[i];
        e->epoch = r->epoch;
        e->time = (uint16_t)i;
        r->last[i / WORD] |= UINT64_C(1) << i % WORD;
    }
    r->now = count;
}

/* Returns the histogram index for a distance; each power of two has two entries. */
static unsigned histogram_index(unsigned distance) {
    unsigned n = distance + 1, power = 31 - (unsigned)__builtin_clz(n);
    unsigned half = power && n >= (3u << power) / 2;
    unsigned index = 1 + 2 * power + half;
    return index < NL_PROFILE_REUSE ? index : 0;
}

void nl_sim_reuse_record_load(nl_sim_reuse *r, uintptr_t line, unsigned sectors) {
    if (r->now == TIMES)
        keep_newest_lines(r);
    entry *e = find_entry(r, line);
    unsigned loaded = 0;
    if (e->epoch == r->epoch) {
        loaded = e->sectors & sectors;
        r->histogram[histogram_index(count_lines_loaded_since(r, e->time + 1u))] +=
            nl_sim_request_count_bits(loaded);
        r->last[e->time / WORD] &= ~(UINT64_C(1) << e->time % WORD);
    } else {
        *e = (entry){.line = line, .epoch = r->epoch};
    }
    r->histogram[0] += nl_sim_request_count_bits(sectors & ~loaded);
    e->sectors |= (uint8_t)sectors;
    e->time = (uint16_t)r->now;
    r->last[r->now / WORD] |= UINT64_C(1) << r->now % WORD;
    r->now++;
}
