/* sim/check/asynccopy: keeps a list of copies for each thread, and a list of the copies that
 * barriers track, including completed copies. */
#include "sim/check/asynccopy.h"

#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "sim/check/attribution.h"
#include "sim/check/racereport.h"
#include "sim/check/launch.h"
#include "sim/check/happensbefore.h"
#include "sim/check/race.h"
#include "sim/engine/job.h"
#include "sim/engine/shadow.h"
#include "sim/engine/worker.h"

enum { ALL = NL_SIM_ORDER_THREADS, MARKS = NL_SIM_COMING | NL_SIM_LEAVING };

typedef struct copy {
    uintptr_t to, from; /* 0: not checked (any more) */
    size_t size;
    const void *pc, *barrier;
    uint64_t block;
    unsigned thread, group;
    unsigned char bulk, landed;
    struct copy *next;
} copy;

/* The asynchronous copies of one block's threads. */
typedef struct block {
    uint64_t index;
    copy *first[ALL];
    /* numbers of committed groups of normal copies and of bulk copies */
    unsigned committed[ALL][2];
    struct block *next;
} block;

struct nl_sim_asynccopies {
    block *blocks;
    copy *counted; /* list of the copies that barriers track, including completed copies */
    copy *spare;
    block *spare_block;
};

static uint64_t block_number(const nl_sim_worker *w) {
    const nl_sim_dim *grid = &w->job->launch.grid;
    return w->index.x + (uint64_t)grid->x * (w->index.y + (uint64_t)grid->y * w->index.z);
}

static void free_copies(copy *first) {
    for (copy *c = first, *next; c; c = next) {
        next = c->next;
        nl_mem_free(c);
    }
}

static void free_blocks(block *first) {
    for (block *b = first, *next; b; b = next) {
        next = b->next;
        for (unsigned i = 0; i < ALL; i++)
            free_copies(b->first[i]);
        nl_mem_free(b);
    }
}

void nl_sim_asynccopy_free_all(nl_sim_asynccopies **copies) {
    nl_sim_asynccopies *all = *copies;
    if (!all)
        return;
    free_blocks(all->blocks);
    free_blocks(all->spare_block);
    free_copies(all->counted);
    free_copies(all->spare);
    nl_mem_free(all);
    *copies = NULL;
}

/* Returns the entry of the running block; creates a missing entry if `make` is set. Returns NULL if
 * the block has no entry or memory runs out; then the block's copies are not checked. */
static block *find_block(nl_sim_worker *w, int make) {
    nl_sim_check *check = w->job->check;
    uint64_t index = block_number(w);
    if (!check->copies && (!make || !(check->copies = nl_mem_zalloc(sizeof *check->copies, NULL))))
        return NULL;
    nl_sim_asynccopies *all = check->copies;
    for (block *b = all->blocks; b; b = b->next) {
        if (b->index == index)
            return b;
    }
    if (!make)
        return NULL;
    block *made = all->spare_block;
    if (made) {
        all->spare_block = made->next;
        memset(made, 0, sizeof *made);
    } else if (!(made = nl_mem_zalloc(sizeof *made, NULL))) {
        return NULL;
    }
    made->index = index;
    made->next = all->blocks;
    return all->blocks = made;
}

/* Marks */

static void mark_bytes(const copy *c, unsigned bits, int on) {
    if (c->to && bits & NL_SIM_COMING)
        nl_sim_shadow_change_bits(c->to, c->size, NL_SIM_COMING, on);
    if (c->from && bits & NL_SIM_LEAVING)
        nl_sim_shadow_change_bits(c->from, c->size, NL_SIM_LEAVING, on);
}

/* Records the copy's accesses as accesses of the running thread at the current time. */
static void record_accesses(nl_sim_worker *w, const copy *c) {
    if (c->from)
        nl_sim_racereport_check_access(w, c->from, c->size, NL_SIM_ACCESS_RANGE, c->pc);
    if (c->to)
        nl_sim_racereport_check_access(w, c->to, c->size, NL_SIM_ACCESS_RANGE | NL_SIM_ACCESS_WRITE,
                                       c->pc);
}

/* Removes the copy *at from its list and returns it. */
static copy *unlink_copy(copy **at) {
    copy *c = *at;
    *at = c->next;
    return c;
}

static void push_copy(copy **list, copy *c) {
    c->next = *list;
    *list = c;
}

/* Steps */

/* Two threads may copy the same bytes from the same source: where their copies overlap, the
 * destination of the second copy is not marked as pending. */
static void unmark_duplicate_copy(const copy *list, uintptr_t to, uintptr_t from, size_t size) {
    for (const copy *c = list; c; c = c->next) {
        if (c->to && c->to < to + size && to < c->to + c->size && c->to - c->from == to - from) {
            uintptr_t low = c->to > to ? c->to : to;
            uintptr_t high = c->to + c->size < to + size ? c->to + c->size : to + size;
            nl_sim_shadow_change_bits(low, high - low, NL_SIM_COMING, 0);
        }
    }
}

static void begin_copy(nl_sim_worker *w, const nl_sim_copying *what) {
    uintptr_t to = (uintptr_t)what->to, from = (uintptr_t)what->from;
    nl_sim_asynccopies *all = w->job->check->copies;
    if (!all || !nl_sim_shadow_has_any_bit(to, what->size, NL_SIM_COMING))
        return;
    unmark_duplicate_copy(all->counted, to, from, what->size);
    for (const block *b = all->blocks; b; b = b->next) {
        for (unsigned i = 0; i < ALL; i++)
            unmark_duplicate_copy(b->first[i], to, from, what->size);
    }
}

static void add_copy(nl_sim_worker *w, const nl_sim_copying *what, const void *pc) {
    block *b = find_block(w, 1);
    if (!b || !what->size)
        return;
    nl_sim_asynccopies *all = w->job->check->copies;
    copy *c = all->spare ? unlink_copy(&all->spare) : nl_mem_zalloc(sizeof *c, NULL);
    if (!c)
        return;
    *c = (copy){.to = (uintptr_t)what->to,
                .from = (uintptr_t)what->from,
                .size = what->size,
                .pc = pc,
                .barrier = what->barrier,
                .block = b->index,
                .thread = w->current,
                .group = b->committed[w->current][what->bulk],
                .bulk = what->bulk};
    push_copy(c->barrier ? &all->counted : &b->first[w->current], c);
    mark_bytes(c, MARKS, 1);
}

static void wait_for_copies(nl_sim_worker *w, block *b, const nl_sim_copying *what) {
    nl_sim_asynccopies *all = w->job->check->copies;
    unsigned committed = b->committed[w->current][what->bulk];
    int open_too = what->groups == ~0u;
    for (copy **at = &b->first[w->current]; *at;) {
        copy *c = *at;
        if (c->bulk != what->bulk ||
            (!open_too && (uint64_t)c->group + what->groups >= committed)) {
            at = &c->next;
        } else if (what->step == NL_SIM_COPY_WAIT_READ) {
            mark_bytes(c, NL_SIM_LEAVING, 0);
            c->from = 0;
            at = &c->next;
        } else {
            unlink_copy(at);
            mark_bytes(c, MARKS, 0);
            record_accesses(w, c);
            push_copy(&all->spare, c);
        }
    }
}

static void bind_copies_to_barrier(nl_sim_worker *w, block *b, const void *barrier) {
    for (copy **at = &b->first[w->current]; *at;) {
        copy *c = *at;
        if (c->bulk) {
            at = &c->next;
            continue;
        }
        unlink_copy(at);
        c->barrier = barrier;
        push_copy(&w->job->check->copies->counted, c);
    }
}

/* Returns the next incomplete copy that the barrier tracks, starting with `first`, or NULL if there
 * is none. */
static copy *next_tracked_copy(copy *first, const void *barrier) {
    copy *c = first;
    while (c && (c->barrier != barrier || c->landed))
        c = c->next;
    return c;
}

int nl_sim_asynccopy_has_tracked(const nl_sim_worker *w, const void *barrier) {
    const nl_sim_asynccopies *all = w->job->check->copies;
    return all && next_tracked_copy(all->counted, barrier);
}

void nl_sim_asynccopy_complete_tracked(nl_sim_worker *w, const void *barrier) {
    copy *c = w->job->check->copies->counted;
    while ((c = next_tracked_copy(c, barrier))) {
        c->landed = 1;
        c->block = block_number(w);
        c->thread = w->current;
        record_accesses(w, c);
    }
}

/* Removes copies from the list of copies that barriers track: the completed copies of `barrier`, or
 * all copies of a block. */
static void drop_completed_copies(nl_sim_asynccopies *all, const void *barrier, uint64_t of_block) {
    for (copy **at = &all->counted; *at;) {
        copy *c = *at;
        if (barrier ? c->barrier != barrier || !c->landed : c->block != of_block) {
            at = &c->next;
            continue;
        }
        unlink_copy(at);
        mark_bytes(c, MARKS, 0);
        push_copy(&all->spare, c);
    }
}

void nl_sim_asynccopy_execute_step(const nl_sim_copying *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->race)
        return;
    if (what->step == NL_SIM_COPY_MADE) {
        add_copy(w, what, pc);
        return;
    }
    nl_sim_asynccopies *all = w->job->check->copies;
    block *b = all ? find_block(w, 0) : NULL;
    switch (what->step) {
    case NL_SIM_COPY_BEGIN:
        begin_copy(w, what);
        break;
    case NL_SIM_COPY_COMMIT:
        if (b)
            b->committed[w->current][what->bulk]++;
        break;
    case NL_SIM_COPY_WAIT:
    case NL_SIM_COPY_WAIT_READ:
        if (b)
            wait_for_copies(w, b, what);
        break;
    case NL_SIM_COPY_BIND:
        if (b)
            bind_copies_to_barrier(w, b, what->barrier);
        break;
    default:
        if (all)
            drop_completed_copies(all, what->barrier, 0);
    }
}

void nl_sim_asynccopy_end_block(nl_sim_worker *w) {
    nl_sim_asynccopies *all = w->job->check->copies;
    uint64_t index = block_number(w);
    drop_completed_copies(all, NULL, index);
    for (block **at = &all->blocks; *at; at = &(*at)->next) {
        block *b = *at;
        if (b->index != index)
            continue;
        for (unsigned i = 0; i < w->threads; i++) {
            while (b->first[i]) {
                copy *c = unlink_copy(&b->first[i]);
                mark_bytes(c, MARKS, 0);
                push_copy(&all->spare, c);
            }
        }
        *at = b->next;
        b->next = all->spare_block;
        all->spare_block = b;
        return;
    }
}

/* Accesses */

static int ranges_overlap(uintptr_t at, size_t length, uintptr_t address, size_t size) {
    return at && at < address + size && address < at + length;
}

/* Returns the pending copy of the list with which the access conflicts, or NULL. */
static const copy *find_conflicting_copy(const nl_sim_worker *w, const copy *list,
                                         uintptr_t address, size_t size, unsigned kind) {
    uint64_t index = block_number(w);
    for (const copy *c = list; c; c = c->next) {
        if (c->landed && (c->block != index || c->thread != w->current))
            /* the race check compares accesses of other threads with the recorded accesses */
            continue;
        if (ranges_overlap(c->to, c->size, address, size) ||
            (kind & NL_SIM_ACCESS_WRITE && ranges_overlap(c->from, c->size, address, size)))
            return c;
    }
    return NULL;
}

static const copy *find_conflict(const nl_sim_worker *w, uintptr_t address, size_t size,
                                 unsigned kind) {
    const nl_sim_asynccopies *all = w->job->check->copies;
    const copy *found = find_conflicting_copy(w, all->counted, address, size, kind);
    for (const block *b = all->blocks; b && !found; b = b->next) {
        for (unsigned i = 0; i < ALL && !found; i++)
            found = find_conflicting_copy(w, b->first[i], address, size, kind);
    }
    return found;
}

int nl_sim_asynccopy_forbids_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                    const void *pc) {
    unsigned bits = kind & NL_SIM_ACCESS_WRITE ? MARKS : NL_SIM_COMING;
    if (!w->job->check->copies || !nl_sim_shadow_has_any_bit(address, size, bits))
        return 0;
    const copy *c = find_conflict(w, address, size, kind);
    if (!c)
        return 0;
    nl_sim_racereport_report_early_read(
        w, address, size, kind, pc,
        &(nl_sim_race_side){.block = c->block,
                            .thread = c->thread,
                            .pc = c->pc,
                            .write = ranges_overlap(c->to, c->size, address, size)});
    if (kind & NL_SIM_ACCESS_WRITE)
        nl_sim_shadow_set(address, size, NL_SIM_THERE | NL_SIM_WRITTEN);
    return 1;
}
