/* sim/check/phases: a hash table of barriers with phases. For each barrier, the table stores the
 * clocks of its last phases, and the arrivals of the current phase and of the previous phase. */
#include "sim/check/phases.h"

#include <string.h>
#include "base/mem.h"
#include "sim/check/visit.h"
#include "sim/engine/deadlock.h"
#include "sim/engine/schedule.h"

enum {
    CLOCKS = 8,
    FIRST_CAPACITY = 64,
    MAX_REPEATS = 16, /* marks the test of a thread that is never twice in the same state */
};

/* The vector-clock time of one event of a thread. */
typedef struct moment {
    uint32_t block, thread, time;
} moment;

typedef struct moments {
    moment *all;
    uint32_t count, capacity;
} moments;

typedef struct barrier {
    uintptr_t address; /* 0: free */
    int is_used;       /* 0: it was forgotten */
    uint32_t block;    /* the block that has initialized the barrier, or used it first */
    uint16_t era;
    int64_t phase; /* number of completed phases; the barrier's word in memory contains its lower
                    * bits */
    int64_t first; /* value of `phase` when the barrier was initialized */
    nl_sim_vectorclock *clock[CLOCKS]; /* clock[n % CLOCKS] is the clock of phase n */
    moments arrivals[2];               /* arrivals[n % 2] are those of phase n */
    moments waits; /* waits by parity, each of which must happen before the end of the current
                    * phase */
    /* for each thread of `block`, the number of phases for whose end the thread has waited */
    int64_t *seen;
} barrier;

struct nl_sim_phases {
    barrier *table;
    size_t count, capacity;
    int starved, depend;
};

/* Moments */

static void append_event(nl_sim_phases *p, moments *m, moment one) {
    if (m->count == m->capacity) {
        uint32_t capacity = m->capacity ? m->capacity * 2 : 32;
        moment *more = nl_mem_resize(m->all, capacity * sizeof *more, NULL);
        if (!more) {
            p->starved = 1;
            return;
        }
        m->all = more;
        m->capacity = capacity;
    }
    m->all[m->count++] = one;
}

static moment current_event(const nl_sim_phase_use *u) {
    return (moment){u->order->block, u->thread,
                    nl_sim_happensbefore_current_time(u->order, u->thread)};
}

/* Stores an event; the last wait of a thread also represents its earlier waits. */
static void store_event(nl_sim_phases *p, moments *m, moment one) {
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->all[i].block == one.block && m->all[i].thread == one.thread) {
            m->all[i] = one;
            return;
        }
    }
    append_event(p, m, one);
}

/* Returns whether all these events happen before the next access of the thread in `u`. */
static int happen_before_next_access(const nl_sim_phase_use *u, const moments *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        if (!nl_sim_happensbefore_happens_before(u->order, u->thread, m->all[i].block,
                                                 m->all[i].thread, m->all[i].time, 0))
            return 0;
    }
    return 1;
}

static int are_covered_by_clock(const nl_sim_vectorclock *clock, const moments *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        if (!nl_sim_vectorclock_covers_write(clock, m->all[i].block, m->all[i].thread,
                                             m->all[i].time))
            return 0;
    }
    return 1;
}

/* Barriers */

nl_sim_phases *nl_sim_phases_open(void) {
    return nl_mem_zalloc(sizeof(nl_sim_phases), NULL);
}

/* Removes those events that happen before the thread's next access. */
static void remove_past_events(barrier *b) {
    for (unsigned i = 0; i < CLOCKS; i++)
        nl_sim_vectorclock_release(&b->clock[i]);
    b->arrivals[0].count = b->arrivals[1].count = b->waits.count = 0;
}

static void dispose_barrier(barrier *b) {
    remove_past_events(b);
    nl_mem_free(b->arrivals[0].all);
    nl_mem_free(b->arrivals[1].all);
    nl_mem_free(b->waits.all);
    nl_mem_free(b->seen);
    *b = (barrier){.address = b->address};
}

void nl_sim_phases_close(nl_sim_phases *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->capacity; i++)
        dispose_barrier(&p->table[i]);
    nl_mem_free(p->table);
    nl_mem_free(p);
}

int nl_sim_phases_lack_memory(const nl_sim_phases *p) {
    return p->starved;
}

int nl_sim_phases_pop_dependence(nl_sim_phases *p) {
    int depend = p->depend;
    p->depend = 0;
    return depend;
}

static barrier *find_slot(const nl_sim_phases *p, uintptr_t address) {
    for (uint64_t at = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 24;; at++) {
        barrier *b = &p->table[at & (p->capacity - 1)];
        if (b->address == address || b->address == 0)
            return b;
    }
}

static int grow_table(nl_sim_phases *p) {
    nl_sim_phases larger = {.capacity = p->capacity ? p->capacity * 2 : FIRST_CAPACITY};
    larger.table = nl_mem_zalloc(larger.capacity * sizeof *larger.table, NULL);
    if (!larger.table)
        return -1;
    for (size_t i = 0; i < p->capacity; i++) {
        if (p->table[i].is_used) {
            *find_slot(&larger, p->table[i].address) = p->table[i];
            larger.count++;
        }
    }
    nl_mem_free(p->table);
    p->table = larger.table;
    p->capacity = larger.capacity;
    p->count = larger.count;
    return 0;
}

int nl_sim_phases_is_any_tracked(const nl_sim_phases *p) {
    return p->count != 0;
}

int nl_sim_phases_is_tracked(const nl_sim_phases *p, uintptr_t address) {
    return p->count && find_slot(p, address)->is_used;
}

void nl_sim_phases_forget_barrier(nl_sim_phases *p, uintptr_t address) {
    if (p->count)
        dispose_barrier(find_slot(p, address));
}

/* Initializes the record of a barrier when it is first used; returns NULL if memory runs out. */
static barrier *initialize_barrier(nl_sim_phases *p, const nl_sim_phase_use *u) {
    if (p->count * 4 >= p->capacity * 3 && grow_table(p) < 0) {
        p->starved = 1;
        return NULL;
    }
    barrier *b = find_slot(p, u->barrier);
    p->count += b->address == 0;
    b->address = u->barrier;
    dispose_barrier(b);
    b->seen = nl_mem_zalloc(u->order->threads * sizeof *b->seen, NULL);
    if (!b->seen) {
        p->starved = 1;
        return NULL;
    }
    b->is_used = 1;
    b->block = u->order->block;
    b->era = u->era;
    b->phase = b->first = u->phase % CLOCKS;
    return b;
}

void nl_sim_phases_make_barrier(nl_sim_phases *p, const nl_sim_phase_use *u) {
    (void)initialize_barrier(p, u);
}

/* Returns whether a block has used the barrier in shared memory that was freed later. */
static int was_used_in_freed_memory(const barrier *b, const nl_sim_phase_use *u) {
    return u->shared && b->block != u->order->block &&
           !nl_sim_visit_are_in_cluster(u->worker, b->block, u->order->block);
}

/* Returns the record of a barrier; creates a missing record. */
static barrier *find_or_add_barrier(nl_sim_phases *p, const nl_sim_phase_use *u) {
    barrier *b = p->count ? find_slot(p, u->barrier) : NULL;
    if (!b || !b->is_used || was_used_in_freed_memory(b, u))
        return initialize_barrier(p, u);
    if ((unsigned)b->phase % CLOCKS != u->phase % CLOCKS) {
        p->depend = 1; /* the program has changed the barrier's word by a normal store */
        return initialize_barrier(p, u);
    }
    if (b->era != u->era) {
        remove_past_events(b);
        b->era = u->era;
    }
    return b;
}

/* Returns whether the end of the phase happens before the thread's next access. */
static int is_phase_end_ordered(const barrier *b, const nl_sim_phase_use *u, int64_t phase) {
    if (phase < b->first || (b->block == u->order->block && b->seen[u->thread] > phase))
        return 1;
    return phase < b->phase && happen_before_next_access(u, &b->arrivals[(b->phase - 1) % 2]);
}

void nl_sim_phases_arrive(nl_sim_phases *p, const nl_sim_phase_use *u) {
    barrier *b = find_or_add_barrier(p, u);
    if (!b)
        return;
    p->depend |= !is_phase_end_ordered(b, u, b->phase - 1);
    append_event(p, &b->arrivals[b->phase % 2], current_event(u));
    nl_sim_happensbefore_release_to(u->order, u->thread, &b->clock[b->phase % CLOCKS]);
}

void nl_sim_phases_acquire(nl_sim_phases *p, const nl_sim_phase_use *u) {
    barrier *b = find_or_add_barrier(p, u);
    if (b)
        nl_sim_happensbefore_acquire_from(u->order, u->thread, b->clock[b->phase % CLOCKS]);
}

void nl_sim_phases_release(nl_sim_phases *p, const nl_sim_phase_use *u) {
    barrier *b = find_or_add_barrier(p, u);
    if (b)
        nl_sim_happensbefore_release_to(u->order, u->thread, &b->clock[b->phase % CLOCKS]);
}

void nl_sim_phases_end_phase(nl_sim_phases *p, const nl_sim_phase_use *u) {
    barrier *b = find_or_add_barrier(p, u);
    if (!b)
        return;
    p->depend |= !are_covered_by_clock(b->clock[b->phase % CLOCKS], &b->waits);
    b->waits.count = 0;
    b->phase++;
    b->arrivals[b->phase % 2].count = 0;
    nl_sim_vectorclock_release(&b->clock[b->phase % CLOCKS]);
}

/* Waits */

typedef enum answer {
    GOES_ON,
    IS_OVER,
    /* the phase has ended, but in another schedule the thread might find that it has not */
    MAY_BE_OVER,
} answer;

static answer test_phase(const barrier *b, const nl_sim_phase_use *u, int64_t phase) {
    if (phase >= b->phase)
        return GOES_ON;
    return is_phase_end_ordered(b, u, phase) ? IS_OVER : MAY_BE_OVER;
}

static int64_t phase_of_token(const barrier *b, unsigned token) {
    return b->phase - ((b->phase - token) & (CLOCKS - 1));
}

/* Returns the latest phase of this parity that has begun. If the thread has not observed the end of
 * the phase before the last phase, it may have missed the phase that it tests. */
static int64_t phase_of_parity(nl_sim_phases *p, const barrier *b, const nl_sim_phase_use *u,
                               unsigned parity) {
    int64_t latest = b->phase - ((b->phase ^ parity) & 1);
    if (!is_phase_end_ordered(b, u, b->phase - 1))
        p->depend |= !is_phase_end_ordered(b, u, b->phase - 2) || latest == b->phase;
    return latest;
}

static void forget_test(nl_sim_phase_questions *q, unsigned thread) {
    q->count -= q->of[thread].barrier != 0;
    q->of[thread].barrier = 0;
}

/* Returns the result of the thread's test. The result must not depend on the schedule, so it is 1
 * only if the thread has made the same test before, with the same registers and memory. */
static int answer_repeated_test(nl_sim_phases *p, const nl_sim_phase_use *u,
                                nl_sim_phase_questions *q, int64_t phase, answer found) {
    int repeats = q->of[u->thread].barrier == u->barrier && q->of[u->thread].phase == phase;
    if (found == IS_OVER) {
        p->depend |= q->of[u->thread].barrier && !repeats;
        forget_test(q, u->thread);
        return 1;
    }
    uint64_t state = nl_sim_deadlock_state(u->worker);
    if (!repeats) {
        p->depend |= q->of[u->thread].barrier != 0;
        q->count += q->of[u->thread].barrier == 0;
        q->of[u->thread].barrier = u->barrier;
        q->of[u->thread].phase = phase;
        q->of[u->thread].repeats = 0;
    } else if (found == MAY_BE_OVER) {
        int is_same = state && q->of[u->thread].state == state;
        if (is_same || q->of[u->thread].repeats++ == MAX_REPEATS) {
            p->depend |= !is_same;
            forget_test(q, u->thread);
            return 1;
        }
    }
    q->of[u->thread].state = state;
    if (found == MAY_BE_OVER && u->worker->job->schedule) /* the thread's loop can end */
        nl_sim_schedule_count_progress(u->worker->job->schedule);
    return 0;
}

int nl_sim_phases_test(nl_sim_phases *p, const nl_sim_phase_use *u, nl_sim_phase_questions *q,
                       int by_parity, unsigned value) {
    barrier *b = find_or_add_barrier(p, u);
    if (!b)
        return 0;
    int64_t phase = by_parity ? phase_of_parity(p, b, u, value & 1) : phase_of_token(b, value);
    answer found = test_phase(b, u, phase);
    if (q ? !answer_repeated_test(p, u, q, phase, found) : found == GOES_ON)
        return 0;
    if (phase >= b->first && phase > b->phase - CLOCKS)
        nl_sim_happensbefore_acquire_from(u->order, u->thread, b->clock[phase % CLOCKS]);
    if (b->block == u->order->block && b->seen[u->thread] <= phase)
        b->seen[u->thread] = phase + 1;
    if (by_parity)
        store_event(p, &b->waits, current_event(u));
    return 1;
}

void nl_sim_phases_begin_test(nl_sim_phases *p, const nl_sim_phase_use *u,
                              nl_sim_phase_questions *q) {
    barrier *b = find_or_add_barrier(p, u);
    if (!b)
        return;
    q->count += q->of[u->thread].barrier == 0;
    q->of[u->thread].barrier = u->barrier;
    q->of[u->thread].phase = b->phase;
    q->of[u->thread].repeats = 0;
    q->of[u->thread].state = 0;
}
