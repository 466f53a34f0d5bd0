/* sim/check/happensbefore: tracks the events that order accesses.
 *
 * A fence takes a snapshot of the accesses that happened before the fence. The thread's next
 * atomic, at any address, releases the snapshot: if another thread later reads that address with an
 * atomic, the accesses in the snapshot happen before that read. A barrier after fences makes their
 * snapshots available to all threads of the block. In a common pattern, all threads execute a
 * fence, and after the barrier one thread signals the other blocks. An atomic read acquires with
 * the next fence or barrier of its thread (nl_sim_happensbefore_observe_release), as CUDA
 * guarantees, or immediately (nl_sim_happensbefore_acquire), as many real programs assume.
 *
 * If memory for a clock runs out, accesses that are ordered may look unordered. The flag `starved`
 * records the lack of memory: the caller must not report conflicts any more. */
#include "sim/check/happensbefore.h"

#include <string.h>
#include "base/mem.h"

#define FOR_LANES(lane, set) \
    for (uint32_t left_ = (set), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

static uint32_t larger_time(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void forget_fence(nl_sim_fenced *f) {
    f->barrier = 0;
    nl_sim_vectorclock_release(&f->of_block);
    nl_sim_vectorclock_release(&f->of_thread);
}

void nl_sim_happensbefore_end_block(nl_sim_happensbefore *o) {
    for (unsigned i = 0; i < o->threads; i++) {
        nl_sim_vectorclock_release(&o->thread_clock[i]);
        for (int scope = 0; scope < NL_SIM_ORDER_SCOPES; scope++) {
            forget_fence(&o->fenced[scope][i]);
            nl_sim_vectorclock_release(&o->observed[scope][i]);
        }
    }
    nl_sim_vectorclock_release(&o->clock);
    nl_sim_vectorclock_release(&o->released_clock);
    o->threads = 0;
}

/* The time continues from one block to the next block of a worker, so that the tables need not be
 * cleared. */
void nl_sim_happensbefore_begin_block(nl_sim_happensbefore *o, uint32_t block, unsigned threads,
                                      int *starved) {
    nl_sim_happensbefore_end_block(o);
    o->starved = starved;
    if (o->time > UINT32_MAX / 2) {
        o->time = 0;
        memset(o->row, 0, sizeof o->row);
        memset(o->thread_time, 0, sizeof o->thread_time);
    }
    o->block = block;
    o->threads = threads;
    o->barrier = ++o->time;
    memset(o->fences, 0, sizeof o->fences);
    o->acquired = 0;
    o->observers = 0;
    o->warp_fences = 0;
    o->released = 0;
    memset(o->unfenced, 0, sizeof o->unfenced);
}

int nl_sim_happensbefore_is_ordered(const nl_sim_happensbefore *o, unsigned thread, uint32_t block,
                                    unsigned other, uint32_t time, int read) {
    uint64_t whole = nl_sim_vectorclock_block_key(block),
             one = nl_sim_vectorclock_thread_key(block, other);
    uint64_t reads = nl_sim_vectorclock_reads_key(block, other);
    const nl_sim_vectorclock *clocks[] = {o->clock, o->thread_clock[thread]};
    for (unsigned i = 0; i < 2; i++) {
        if (time < nl_sim_vectorclock_get(clocks[i], whole) ||
            time <= nl_sim_vectorclock_get(clocks[i], one) ||
            (read && time <= nl_sim_vectorclock_get(clocks[i], reads)))
            return 1;
    }
    return 0;
}

static void join_clock(nl_sim_happensbefore *o, nl_sim_vectorclock **clock,
                       nl_sim_vectorclock *other) {
    if (nl_sim_vectorclock_join(clock, other) < 0)
        *o->starved = 1;
}

static void raise_clock_entry(nl_sim_happensbefore *o, nl_sim_vectorclock **clock, uint64_t key,
                              uint32_t time) {
    if (nl_sim_vectorclock_raise(clock, key, time) < 0)
        *o->starved = 1;
}

/* Adds a snapshot of the accesses that happened before a fence of `thread` to a clock. */
static void add_snapshot(nl_sim_happensbefore *o, const nl_sim_fenced *f, unsigned thread,
                         nl_sim_vectorclock **clock) {
    join_clock(o, clock, f->of_block);
    join_clock(o, clock, f->of_thread);
    raise_clock_entry(o, clock, nl_sim_vectorclock_block_key(o->block), f->barrier);
    for (unsigned i = 0; i < NL_SIM_ORDER_LANES; i++) {
        if (f->row[i] >= f->barrier)
            raise_clock_entry(o, clock,
                              nl_sim_vectorclock_thread_key(
                                  o->block, thread / NL_SIM_ORDER_LANES * NL_SIM_ORDER_LANES + i),
                              f->row[i]);
    }
}

/* Adds the snapshot of `thread`'s last fence to a clock. */
static void add_fence_snapshot(nl_sim_happensbefore *o, nl_sim_happensbefore_scope scope,
                               unsigned thread, nl_sim_vectorclock **clock) {
    const nl_sim_fenced *f = &o->fenced[scope][thread];
    if (f->barrier)
        add_snapshot(o, f, thread, clock);
}

/* Called at a barrier: afterwards, any thread of the block can release the snapshots of all threads
 * to other blocks. Snapshots of narrow fences are not needed, because the barrier orders the
 * block. */
static void share_fences(nl_sim_happensbefore *o) {
    int all = 1;
    for (unsigned i = 0; i < o->threads && all; i++)
        all = !(o->unfenced[i] & NL_SIM_ORDER_WRITES_WIDE);
    if (all) {
        o->released = o->time + 1;
        nl_sim_vectorclock_release(&o->released_clock);
        o->released_clock = nl_sim_vectorclock_retain(o->clock);
    } else {
        for (unsigned i = 0; i < o->threads; i++)
            add_fence_snapshot(o, NL_SIM_ORDER_WIDE, i, &o->released_clock);
    }
    o->warp_fences = 0;
}

/* Merges the clocks of threads `first` to `end` - 1. Threads of a tile or a warp often share one
 * clock, which is merged once. */
static void join_clocks(nl_sim_happensbefore *o, nl_sim_vectorclock **clock, unsigned first,
                        unsigned end) {
    for (unsigned i = first; i < end; i++) {
        if (i == first || o->thread_clock[i] != o->thread_clock[i - 1])
            join_clock(o, clock, o->thread_clock[i]);
    }
}

/* Called when a thread makes a fence or waits at a barrier: the accesses that it has observed
 * happen before its later accesses. */
static void acquire_observed_clocks(nl_sim_happensbefore *o, unsigned thread,
                                    nl_sim_happensbefore_scope scope) {
    for (int i = scope; o->observers && i < NL_SIM_ORDER_SCOPES; i++) {
        nl_sim_happensbefore_acquire_from(o, thread, o->observed[i][thread]);
        nl_sim_vectorclock_release(&o->observed[i][thread]);
    }
}

void nl_sim_happensbefore_order_block(nl_sim_happensbefore *o) {
    for (unsigned i = 0; i < o->threads && o->observers; i++)
        acquire_observed_clocks(o, i, NL_SIM_ORDER_WIDE);
    o->observers = 0;
    if (o->acquired) {
        join_clocks(o, &o->clock, 0, o->threads);
        for (unsigned i = 0; i < o->threads; i++)
            nl_sim_vectorclock_release(&o->thread_clock[i]);
        o->acquired = 0;
    }
    if (o->fences[NL_SIM_ORDER_WIDE])
        share_fences(o);
    memset(o->fences, 0, sizeof o->fences);
    o->barrier = ++o->time;
}

/* Sets the snapshot of each lane to the union of the snapshots of all these lanes. */
static void share_warp_fences(nl_sim_happensbefore *o, nl_sim_happensbefore_scope scope,
                              unsigned first, uint32_t lanes) {
    nl_sim_fenced joined = {.barrier = 0}, *fenced = &o->fenced[scope][first];
    FOR_LANES(lane, lanes) {
        const nl_sim_fenced *f = &fenced[lane];
        if (!f->barrier)
            continue;
        joined.barrier = larger_time(joined.barrier, f->barrier);
        for (unsigned i = 0; i < NL_SIM_ORDER_LANES; i++)
            joined.row[i] = larger_time(joined.row[i], f->row[i]);
        join_clock(o, &joined.of_block, f->of_block);
        join_clock(o, &joined.of_thread, f->of_thread);
    }
    if (joined.barrier) {
        FOR_LANES(lane, lanes) {
            nl_sim_fenced *f = &fenced[lane];
            forget_fence(f);
            *f = joined;
            nl_sim_vectorclock_retain(joined.of_block);
            nl_sim_vectorclock_retain(joined.of_thread);
        }
    }
    forget_fence(&joined);
}

static void share_acquired_clocks(nl_sim_happensbefore *o, unsigned first, uint32_t lanes) {
    nl_sim_vectorclock *joined = NULL;
    FOR_LANES(lane, lanes) {
        join_clock(o, &joined, o->thread_clock[first + lane]);
    }
    if (!joined)
        return;
    FOR_LANES(lane, lanes) {
        nl_sim_vectorclock **own = &o->thread_clock[first + lane];
        o->acquired += !*own;
        nl_sim_vectorclock_release(own);
        *own = nl_sim_vectorclock_retain(joined);
    }
    nl_sim_vectorclock_release(&joined);
}

void nl_sim_happensbefore_order_warp(nl_sim_happensbefore *o, unsigned warp, uint32_t lanes) {
    uint32_t joined[NL_SIM_ORDER_LANES] = {0};
    unsigned first = warp * NL_SIM_ORDER_LANES;
    FOR_LANES(lane, o->observers ? lanes : 0) {
        acquire_observed_clocks(o, first + lane, NL_SIM_ORDER_WIDE);
    }
    FOR_LANES(lane, lanes) {
        const uint32_t *row = o->row[warp][lane];
        for (unsigned i = 0; i < NL_SIM_ORDER_LANES; i++)
            joined[i] = larger_time(joined[i], row[i]);
    }
    FOR_LANES(lane, lanes) {
        joined[lane] =
            larger_time(joined[lane], nl_sim_happensbefore_current_time(o, first + lane));
    }
    o->time++;
    FOR_LANES(lane, lanes) {
        memcpy(o->row[warp][lane], joined, sizeof joined);
        o->thread_time[first + lane] = o->time;
    }
    for (int scope = 0; scope < NL_SIM_ORDER_SCOPES && (o->warp_fences >> warp & 1); scope++)
        share_warp_fences(o, scope, first, lanes);
    if (o->acquired)
        share_acquired_clocks(o, first, lanes);
}

/* Sets the snapshot of each thread of the tile to the union of the snapshots of all its threads. */
static void share_tile_fences(nl_sim_happensbefore *o, nl_sim_happensbefore_scope scope,
                              unsigned first, unsigned end) {
    nl_sim_fenced *all = o->fenced[scope];
    nl_sim_vectorclock *fenced = NULL;
    uint32_t barrier = 0;
    for (unsigned i = first; i < end; i++) {
        barrier = larger_time(barrier, all[i].barrier);
        add_fence_snapshot(o, scope, i, &fenced);
    }
    for (unsigned i = first; i < end && barrier; i++) {
        forget_fence(&all[i]);
        all[i] =
            (nl_sim_fenced){.barrier = barrier, .of_thread = nl_sim_vectorclock_retain(fenced)};
    }
    nl_sim_vectorclock_release(&fenced);
}

void nl_sim_happensbefore_order_tile(nl_sim_happensbefore *o, unsigned first, unsigned count) {
    nl_sim_vectorclock *clock = NULL;
    unsigned end = first + count;
    for (unsigned i = first; i < end && o->observers; i++)
        acquire_observed_clocks(o, i, NL_SIM_ORDER_WIDE);
    join_clocks(o, &clock, first, end);
    for (unsigned i = first; i < end; i++)
        raise_clock_entry(o, &clock, nl_sim_vectorclock_thread_key(o->block, i),
                          nl_sim_happensbefore_current_time(o, i));
    o->time++;
    for (unsigned i = first; i < end; i++) {
        o->acquired += !o->thread_clock[i];
        nl_sim_vectorclock_release(&o->thread_clock[i]);
        o->thread_clock[i] = nl_sim_vectorclock_retain(clock);
        o->thread_time[i] = o->time;
    }
    nl_sim_vectorclock_release(&clock);
    for (int scope = 0; scope < NL_SIM_ORDER_SCOPES; scope++) {
        if (o->fences[scope])
            share_tile_fences(o, scope, first, end);
    }
}

/* Takes a snapshot of the accesses that happened before the current time, and advances the thread's
 * time. */
static void take_snapshot(nl_sim_happensbefore *o, unsigned thread, nl_sim_fenced *f) {
    unsigned warp = thread / NL_SIM_ORDER_LANES, lane = thread % NL_SIM_ORDER_LANES;
    f->barrier = o->barrier;
    memcpy(f->row, o->row[warp][lane], sizeof f->row);
    f->row[lane] = nl_sim_happensbefore_current_time(o, thread);
    f->of_block = nl_sim_vectorclock_retain(o->clock);
    f->of_thread = nl_sim_vectorclock_retain(o->thread_clock[thread]);
    o->thread_time[thread] = ++o->time;
}

void nl_sim_happensbefore_make_fence(nl_sim_happensbefore *o, unsigned thread,
                                     nl_sim_happensbefore_scope scope) {
    nl_sim_fenced *f = &o->fenced[scope][thread];
    acquire_observed_clocks(o, thread, scope);
    forget_fence(f);
    take_snapshot(o, thread, f);
    if (scope == NL_SIM_ORDER_WIDE) {
        forget_fence(&o->fenced[NL_SIM_ORDER_NARROW][thread]);
        o->unfenced[thread] = 0;
    } else {
        o->unfenced[thread] &= (uint8_t)~NL_SIM_ORDER_WRITES;
    }
    o->fences[scope]++;
    o->warp_fences |= 1u << thread / NL_SIM_ORDER_LANES;
}

/* Release and acquire */

static nl_sim_handed *find_slot(const nl_sim_happensbefore_handover *h, uintptr_t address) {
    uint64_t at = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 24;
    for (;; at++) {
        nl_sim_handed *p = &h->table[at & (h->capacity - 1)];
        if (p->address == address || p->address == 0)
            return p;
    }
}

static int enlarge_handover_table(nl_sim_happensbefore_handover *h) {
    nl_sim_happensbefore_handover larger = {.count = h->count,
                                            .capacity = h->capacity ? h->capacity * 2 : 64};
    larger.table = nl_mem_zalloc(larger.capacity * sizeof *larger.table, NULL);
    if (!larger.table)
        return -1;
    for (size_t i = 0; i < h->capacity; i++) {
        if (h->table[i].address)
            *find_slot(&larger, h->table[i].address) = h->table[i];
    }
    nl_mem_free(h->table);
    *h = larger;
    return 0;
}

/* Returns the entry of the address, or NULL if memory runs out. */
static nl_sim_handed *find_or_add_release(nl_sim_happensbefore *o, nl_sim_happensbefore_handover *h,
                                          uintptr_t address) {
    if (h->count * 4 >= h->capacity * 3 && enlarge_handover_table(h) < 0) {
        *o->starved = 1;
        return NULL;
    }
    nl_sim_handed *p = find_slot(h, address);
    h->count += p->address == 0;
    p->address = address;
    p->maker = o->block;
    return p;
}

nl_sim_handed *nl_sim_happensbefore_find_released(const nl_sim_happensbefore_handover *h,
                                                  uintptr_t address) {
    nl_sim_handed *p = h->count ? find_slot(h, address) : NULL;
    return p && p->address ? p : NULL;
}

void nl_sim_happensbefore_drop_released(nl_sim_handed *p) {
    nl_sim_vectorclock_release(&p->clock);
    nl_sim_vectorclock_release(&p->of_block);
}

void nl_sim_happensbefore_clear_handover(nl_sim_happensbefore_handover *h) {
    for (size_t i = 0; i < h->capacity; i++)
        nl_sim_happensbefore_drop_released(&h->table[i]);
    nl_mem_free(h->table);
    *h = (nl_sim_happensbefore_handover){.count = 0};
}

void nl_sim_happensbefore_acquire_from(nl_sim_happensbefore *o, unsigned thread,
                                       nl_sim_vectorclock *clock) {
    nl_sim_vectorclock **own = &o->thread_clock[thread];
    if (!clock || clock == *own)
        return;
    o->acquired += !*own;
    join_clock(o, own, clock);
}

void nl_sim_happensbefore_acquire(nl_sim_happensbefore *o, unsigned thread,
                                  const nl_sim_happensbefore_handover *h, uintptr_t address) {
    if (!h->count)
        return;
    const nl_sim_handed *p = find_slot(h, address);
    nl_sim_happensbefore_acquire_from(o, thread, p->clock);
    if (p->block == o->block)
        nl_sim_happensbefore_acquire_from(o, thread, p->of_block);
}

/* A fence of block scope suffices for accesses that a thread of the block has released, even if
 * that thread has earlier observed the release of another block. */
void nl_sim_happensbefore_observe_release(nl_sim_happensbefore *o, unsigned thread,
                                          const nl_sim_happensbefore_handover *h,
                                          uintptr_t address) {
    const nl_sim_handed *p = nl_sim_happensbefore_find_released(h, address);
    if (!p)
        return;
    nl_sim_happensbefore_scope scope =
        p->maker == o->block ? NL_SIM_ORDER_NARROW : NL_SIM_ORDER_WIDE;
    join_clock(o, &o->observed[scope][thread], p->clock);
    if (p->block == o->block)
        join_clock(o, &o->observed[NL_SIM_ORDER_NARROW][thread], p->of_block);
    o->observers++;
}

void nl_sim_happensbefore_release_to(nl_sim_happensbefore *o, unsigned thread,
                                     nl_sim_vectorclock **clock) {
    acquire_observed_clocks(o, thread, NL_SIM_ORDER_WIDE);
    nl_sim_fenced snapshot = {.barrier = 0};
    take_snapshot(o, thread, &snapshot);
    add_snapshot(o, &snapshot, thread, clock);
    forget_fence(&snapshot);
}

void nl_sim_happensbefore_release_all(nl_sim_happensbefore *o, unsigned thread,
                                      nl_sim_happensbefore_handover *h, uintptr_t address) {
    nl_sim_handed *p = find_or_add_release(o, h, address);
    if (p)
        nl_sim_happensbefore_release_to(o, thread, &p->clock);
}

void nl_sim_happensbefore_reset_clock(nl_sim_happensbefore *o, unsigned thread,
                                      nl_sim_vectorclock *clock) {
    nl_sim_vectorclock **own = &o->thread_clock[thread];
    o->acquired -= *own != NULL && clock == NULL;
    nl_sim_vectorclock_release(own);
    *own = clock;
}

/* Releases the snapshot of the thread's last narrow fence. If another block has released narrow
 * fences at the address, the order is extended to all blocks: a race may be missed, but no race is
 * reported falsely. */
static void release_narrow_fence(nl_sim_happensbefore *o, unsigned thread, nl_sim_handed *p) {
    nl_sim_vectorclock **to = &p->of_block;
    if (p->of_block && p->block != o->block)
        to = &p->clock;
    else
        p->block = o->block;
    add_fence_snapshot(o, NL_SIM_ORDER_NARROW, thread, to);
    raise_clock_entry(o, to, nl_sim_vectorclock_reads_key(o->block, thread),
                      nl_sim_happensbefore_current_time(o, thread));
}

void nl_sim_happensbefore_release(nl_sim_happensbefore *o, unsigned thread,
                                  nl_sim_happensbefore_handover *h, uintptr_t address) {
    int is_narrow = o->fenced[NL_SIM_ORDER_NARROW][thread].barrier != 0;
    int is_wide = o->fenced[NL_SIM_ORDER_WIDE][thread].barrier || o->released || o->released_clock;
    if (!is_wide && !is_narrow)
        return;
    nl_sim_handed *p = find_or_add_release(o, h, address);
    if (!p)
        return;
    if (is_narrow)
        release_narrow_fence(o, thread, p);
    if (!is_wide)
        return;
    add_fence_snapshot(o, NL_SIM_ORDER_WIDE, thread, &p->clock);
    join_clock(o, &p->clock, o->released_clock);
    if (o->released)
        raise_clock_entry(o, &p->clock, nl_sim_vectorclock_block_key(o->block), o->released);
    raise_clock_entry(o, &p->clock, nl_sim_vectorclock_reads_key(o->block, thread),
                      nl_sim_happensbefore_current_time(o, thread));
}
