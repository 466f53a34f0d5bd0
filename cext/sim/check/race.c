/* sim/check/race: stores, for each four bytes of accessed memory, the last write and two reads
 * since then. After an access to fewer than four bytes, each byte has its own record. An access
 * conflicts with a stored access that does not happen before it (happensbefore.h).
 *
 * Two stored readers suffice to find that a later write conflicts, if the readers are as far apart
 * as possible: in two warps or two blocks. A reader that is not stored can hide a race, but never
 * causes a false report.
 *
 * Some pairs of accesses look like conflicts but are none:
 *
 * - Several threads write the same value (a flag that many threads set). The values are compared at
 *   the next event after the write; until then the conflict is stored in the block's `write`.
 * - A plain read whose value is only used for an atomicCAS on the same address, or makes the
 *   atomicCAS unnecessary, as in the usual atomicMax for floats. The conflict is stored in the
 *   block's `reads` until the thread makes the atomicCAS or synchronizes. If any thread makes an
 *   atomicCAS at an address that it read before, no read by that instruction is reported.
 * - Volatile accesses of different warps, which implement flags. Volatile accesses within a warp,
 *   which code for GPUs before Volta used instead of __syncwarp, conflict, except for a flag that
 *   is written directly after a fence.
 *
 * The conflict of a plain read of a value that another thread wrote is also stored in `reads`. If
 * the reading thread writes to the same address before it synchronizes, both threads have updated
 * the value, and the report contains this explanation. */
#include "sim/check/race.h"

#include <string.h>
#include "base/mem.h"
#include "sim/check/shadow.h"
#include "sim/abi.h"
#include "sim/check/epochs.h"
#include "sim/check/flags.h"
#include "sim/check/happensbefore.h"
#include "sim/check/pairs.h"
#include "sim/check/phases.h"
#include "sim/check/uncertain.h"
#include "sim/check/visit.h"
#include "sim/engine/job.h"
#include "sim/engine/schedule.h"
#include "sim/engine/worker.h"

enum {
    GRANULE = NL_SIM_SHADOW_GRANULE,
    GUARDS = 32, /* maximum of guards */
    LATEST = 4,  /* number of plain reads of a thread that are stored to find updates */
    UPDATES = 32,
    WRITE = NL_SIM_MARK_WRITE,
    ATOMIC = NL_SIM_MARK_ATOMIC,
    VOLATILE = NL_SIM_MARK_VOLATILE,
    UPDATE = NL_SIM_MARK_UPDATE,
    NARROW = NL_SIM_MARK_NARROW,
    SPLIT = NL_SIM_MARK_SPLIT,
    MAX_BYTES = 16, /* maximum size of an access whose value is compared */
};

typedef nl_sim_mark mark;
typedef nl_sim_visit visit;

typedef struct cell {
    mark write; /* with SPLIT, write.block is the index of the four bytes in race->bytes */
    mark read[2];
} cell;

struct nl_sim_race {
    uintptr_t code;
    nl_sim_race_report *report;
    uint16_t era;
    int starved;           /* set if memory has run out: then no conflict is reported */
    nl_sim_epochs *epochs; /* for an exact search, which does not use `cells`; otherwise NULL */
    int depends;           /* exact search: set if the order of some atomics is not fixed */
    int has_narrow_fences; /* whether a thread has made a fence of block scope */
    nl_sim_uncertain uncertain; /* exact search */
    nl_sim_shadow cells;
    cell (*bytes)[GRANULE];
    uint32_t byte_count, byte_capacity;
    nl_sim_happensbefore_handover handover;
    nl_sim_phases *phases;
    nl_sim_pairs pairs; /* that were reported */
    unsigned guard_count;
    int32_t guards[GUARDS];
    unsigned update_count;
    nl_sim_pair updates[UPDATES]; /* pairs of a read, and a write by the same thread to the address
                                   * of the read */
    nl_sim_flags flags;
};

/* A plain read. */
typedef struct latest {
    uintptr_t granule;
    int32_t pc;
    uint32_t time;
} latest;

/* A possible conflict, which a later event may disprove. `plain`: no access is atomic. */
typedef struct waiting {
    int on, plain;
    uintptr_t granule;
    nl_sim_race_conflict conflict;
} waiting;

struct nl_sim_race_block {
    nl_sim_happensbefore order;
    waiting write;
    unsigned char before[MAX_BYTES]; /* the bytes before the write */
    unsigned reads_on;
    waiting reads[NL_SIM_ORDER_THREADS];
    latest latest[NL_SIM_ORDER_THREADS][LATEST];
    uint8_t latest_next[NL_SIM_ORDER_THREADS];
    /* The last compare-and-swap or exchange of each thread, and the time of the block's last
     * barrier before it, because these times differ between blocks of a worker. */
    struct {
        uint32_t barrier;
        uintptr_t granule;
    } swapped[NL_SIM_ORDER_THREADS];
    nl_sim_flag_thread flag_of[NL_SIM_ORDER_THREADS]; /* of each thread: flags.h */
    nl_sim_phase_questions questions;
};

nl_sim_race *nl_sim_race_open(const void *code, nl_sim_race_report *report, uint64_t exact_blocks) {
    nl_sim_race *race = nl_mem_zalloc(sizeof *race, NULL);
    if (!race)
        return NULL;
    if (exact_blocks && !(race->epochs = nl_sim_epochs_open(exact_blocks))) {
        nl_mem_free(race);
        return NULL;
    }
    race->code = (uintptr_t)code;
    race->report = report;
    race->era = 1;
    race->phases = nl_sim_phases_open();
    if (race->phases)
        return race;
    nl_sim_race_close(race);
    return NULL;
}

static void forget_pages(nl_sim_race *race) {
    nl_sim_shadow_clear(&race->cells);
    race->byte_count = 0;
}

void nl_sim_race_close(nl_sim_race *race) {
    if (!race)
        return;
    forget_pages(race);
    nl_sim_uncertain_clear(&race->uncertain);
    nl_sim_epochs_close(race->epochs);
    nl_sim_phases_close(race->phases);
    nl_mem_free(race->bytes);
    nl_sim_happensbefore_clear_handover(&race->handover);
    nl_mem_free(race);
}

int nl_sim_race_lacks_memory(const nl_sim_race *race) {
    return race->starved || nl_sim_phases_lack_memory(race->phases);
}

int nl_sim_race_depends_on_schedule(const nl_sim_race *race) {
    return race->depends;
}

/* Cells */

/* Returns the cell of four bytes, or NULL if memory runs out: then their races are not found. */
static cell *find_cell(nl_sim_race *race, uintptr_t address) {
    return nl_sim_shadow_find(&race->cells, address, sizeof(cell));
}

/* Splits a cell of four bytes into one cell per byte; returns NULL if memory runs out. */
static cell *split_cell(nl_sim_race *race, cell *c) {
    if (c->write.who & SPLIT)
        return race->bytes[c->write.block];
    if (race->byte_count == race->byte_capacity) {
        uint32_t capacity = race->byte_capacity ? race->byte_capacity * 2 : 256;
        cell(*more)[GRANULE] = nl_mem_resize(race->bytes, capacity * sizeof *more, NULL);
        if (!more)
            return NULL;
        race->bytes = more;
        race->byte_capacity = capacity;
    }
    uint32_t index = race->byte_count++;
    for (unsigned i = 0; i < GRANULE; i++)
        race->bytes[index][i] = *c;
    *c = (cell){.write = {.block = index, .who = SPLIT, .era = 1}};
    return race->bytes[index];
}

/* Dependence on the schedule */

/* Records that the order in which threads use this barrier depends on the schedule. */
static void record_dependence(nl_sim_worker *w, uintptr_t barrier) {
    w->race->depends = 1;
    if (w->job->schedule)
        nl_sim_schedule_add_contended(w->job->schedule, barrier);
}

/* Computes nl_sim_visit.operation. */
static unsigned operation_of_access(unsigned kind, size_t size) {
    unsigned operation =
        kind & NL_SIM_ACCESS_BLIND ? NL_SIM_OPERATION_PUT : kind >> NL_SIM_ACCESS_OPERATION;
    return operation ? operation | (unsigned)size << 4 : 0;
}

/* Records whether the schedule determines the order of this access and others to its memory. */
static void record_competition(nl_sim_worker *w, const visit *v) {
    nl_sim_competition found = nl_sim_epochs_find_competition(w->race->epochs, v);
    if (found == NL_SIM_COMPETES_FOR_VALUE)
        w->race->starved |= nl_sim_uncertain_mark(&w->race->uncertain, v->address, v->size, 1) < 0;
    if (found != NL_SIM_COMPETES)
        return;
    w->race->depends = 1;
    if (w->job->schedule)
        nl_sim_schedule_mark_competing(w->job->schedule);
}

/* Called for each event of the thread except a wait for a phase. */
static void end_phase_test(nl_sim_worker *w, unsigned thread) {
    uintptr_t barrier = nl_sim_phases_end_test(&w->race_block->questions, thread);
    if (barrier)
        record_dependence(w, barrier);
}

/* Reports */

nl_sim_race_scope nl_sim_race_conflict_scope(const nl_sim_race_conflict *c) {
    if (c->earlier.block != c->later.block)
        return c->shared ? NL_SIM_RACE_CLUSTER : NL_SIM_RACE_GRID;
    return c->earlier.thread / NL_SIM_LANES == c->later.thread / NL_SIM_LANES ? NL_SIM_RACE_WARP
                                                                              : NL_SIM_RACE_BLOCK;
}

/* Reports the first conflict of two instructions, and later conflicts of the pair with a larger
 * scope, because a larger scope needs stronger synchronization. */
static void report_conflict(nl_sim_worker *w, nl_sim_race_conflict *c) {
    nl_sim_race *race = w->race;
    if (race->starved)
        return;
    int32_t earlier = (int32_t)((uintptr_t)c->earlier.pc - race->code);
    int32_t later = (int32_t)((uintptr_t)c->later.pc - race->code);
    unsigned count_before = race->pairs.count;
    nl_sim_pair *p = nl_sim_pairs_find_or_add(&race->pairs, earlier, later);
    nl_sim_race_scope scope = nl_sim_race_conflict_scope(c);
    c->is_reported = p && race->pairs.count == count_before;
    if (c->is_reported && p->scope >= (int)scope)
        return;
    if (p)
        p->scope = (int)scope;
    race->report(w, c);
}

/* Reports the stored conflict of a write if the write changed the bytes; called after the write. */
static void report_pending_write(nl_sim_worker *w) {
    nl_sim_race_block *b = w->race_block;
    if (!b->write.on)
        return;
    b->write.on = 0;
    nl_sim_race_conflict *c = &b->write.conflict;
    if (memcmp((const void *)b->write.granule, b->before, c->size) != 0)
        report_conflict(w, c);
}

static int is_guard_instruction(const nl_sim_race *race, const void *pc) {
    for (unsigned i = 0; i < race->guard_count; i++) {
        if (race->guards[i] == (int32_t)((uintptr_t)pc - race->code))
            return 1;
    }
    return 0;
}

/* Returns the plain read of a conflict whose other access is atomic, or NULL. */
static const nl_sim_race_side *find_plain_read(const nl_sim_race_conflict *c) {
    return c->later.atomic ? &c->earlier : &c->later;
}

static void report_pending_read(nl_sim_worker *w, unsigned thread) {
    nl_sim_race_block *b = w->race_block;
    nl_sim_race_conflict *c = &b->reads[thread].conflict;
    if (!b->reads[thread].on)
        return;
    b->reads[thread].on = 0;
    b->reads_on--;
    if (b->reads[thread].plain || !is_guard_instruction(w->race, find_plain_read(c)->pc))
        report_conflict(w, c);
}

static void report_pending_reads(nl_sim_worker *w, unsigned first, unsigned end) {
    nl_sim_race_block *b = w->race_block;
    for (unsigned i = first; i < end && b->reads_on; i++)
        report_pending_read(w, i);
}

/* Reports a lost update: the thread writes to an address that was changed after its read. */
static void report_lost_update(nl_sim_worker *w, unsigned thread, uintptr_t address, size_t size) {
    waiting *wait = &w->race_block->reads[thread];
    if (!wait->on || !wait->plain || wait->granule + GRANULE <= address ||
        wait->granule >= address + size)
        return;
    wait->conflict.updates = 1;
    report_pending_read(w, thread);
}

/* Returns the thread's latest plain read of these four bytes, or NULL. */
static const latest *find_latest_read(const nl_sim_race_block *b, unsigned thread,
                                      uintptr_t granule) {
    for (unsigned i = 0; i < LATEST; i++) {
        const latest *l = &b->latest[thread][i];
        if (l->granule == granule)
            return l;
    }
    return NULL;
}

/* Drops the stored conflict of a read; called for an atomicCAS at the address of the read. */
static void drop_pending_read(nl_sim_race *race, nl_sim_race_block *b, unsigned thread,
                              uintptr_t granule) {
    for (unsigned i = 0; i < LATEST; i++) {
        const latest *l = &b->latest[thread][i];
        if (l->granule == granule && race->guard_count < GUARDS &&
            !is_guard_instruction(race, (const void *)(race->code + (uintptr_t)(intptr_t)l->pc)))
            race->guards[race->guard_count++] = l->pc;
    }
    if (b->reads[thread].on && b->reads[thread].granule == granule) {
        b->reads[thread].on = 0;
        b->reads_on--;
    }
}

/* Records that the instruction at `pc` writes to the address that `read` has read, if both belong
 * to one statement: the thread has not synchronized since the read, and the instruction of the read
 * has not read another element since, as it would in a loop over elements. */
static void store_read_and_write(nl_sim_race *race, const nl_sim_race_block *b, unsigned thread,
                                 const latest *read, int32_t pc) {
    if (read->time != nl_sim_happensbefore_current_time(&b->order, thread))
        return;
    for (unsigned i = 1; i <= LATEST; i++) {
        const latest *l = &b->latest[thread][(uint8_t)(b->latest_next[thread] - i) % LATEST];
        if (l->pc == read->pc && l->granule != read->granule)
            return;
        if (l->pc == read->pc)
            break;
    }
    for (unsigned i = 0; i < race->update_count; i++) {
        if (race->updates[i].earlier == read->pc && race->updates[i].later == pc)
            return;
    }
    if (race->update_count < UPDATES)
        race->updates[race->update_count++] = (nl_sim_pair){.earlier = read->pc, .later = pc};
}

/* Returns whether the read and the write are parts of one update, as in `if (x > *p) *p = x`. In
 * this case, both threads execute the update for the same element, which the report explains. */
static int are_parts_of_one_update(const nl_sim_race *race, mark read, mark write) {
    for (unsigned i = 0; i < race->update_count; i++) {
        if (race->updates[i].earlier == read.pc && race->updates[i].later == write.pc)
            return 1;
    }
    return 0;
}

/* Returns whether the thread holds a lock at another address. A lock has the value 1 while a thread
 * holds it. */
static int holds_lock(const nl_sim_race_block *b, unsigned thread, uintptr_t granule) {
    uintptr_t lock = b->swapped[thread].granule;
    return b->swapped[thread].barrier == b->order.barrier && lock != granule &&
           *(const volatile uint32_t *)lock == 1;
}

/* Returns whether the thread has read a flag that the thread of the access `m` wrote. */
static int has_read_flag(const nl_sim_race_block *b, unsigned thread, mark m) {
    return nl_sim_flag_is_of_thread(b->flag_of[thread], m.block, nl_sim_mark_get_thread(m));
}

/* Accesses */

static nl_sim_race_side make_race_side(const nl_sim_race *race, mark m) {
    return (nl_sim_race_side){.block = m.block,
                              .thread = nl_sim_mark_get_thread(m),
                              .pc = (const void *)(race->code + (uintptr_t)(intptr_t)m.pc),
                              .write = (m.who & WRITE) != 0,
                              .atomic = (m.who & ATOMIC) != 0,
                              .narrow = (m.who & NARROW) != 0,
                              .is_volatile = (m.who & VOLATILE) != 0};
}

static void add_conflict(visit *v, mark m, uintptr_t address) {
    nl_sim_race_block *b = v->b;
    nl_sim_race_conflict c = {.address = address,
                              .size = v->size,
                              .shared = v->shared,
                              .lock = holds_lock(b, v->thread, address / GRANULE * GRANULE),
                              .flag = has_read_flag(b, v->thread, m),
                              .narrow_fences = v->race->has_narrow_fences,
                              .has_phases = nl_sim_phases_is_any_tracked(v->race->phases),
                              .earlier = make_race_side(v->race, m),
                              .later = make_race_side(v->race, v->mark)};
    if (v->is_reported)
        return;
    uintptr_t granule = address / GRANULE * GRANULE;
    int plain_earlier = !(m.who & (ATOMIC | VOLATILE)), mine = m.block == v->mark.block;
    waiting *wait = NULL;
    int one_reads = !(m.who & v->mark.who & WRITE), one_atomic = (m.who ^ v->mark.who) & ATOMIC;
    if (one_reads && one_atomic && is_guard_instruction(v->race, find_plain_read(&c)->pc))
        return;
    v->is_reported = 1;
    if ((m.who & WRITE) && (v->mark.who & WRITE)) {
        c.updates = (m.who & v->mark.who & UPDATE) != 0;
        if (!(m.who & ATOMIC) && !(v->mark.who & ATOMIC) && v->size <= MAX_BYTES) {
            b->write = (waiting){.on = 1, .granule = v->address, .conflict = c};
            memcpy(b->before, (const void *)v->address, v->size);
            return;
        }
    } else if ((m.who & ATOMIC) && !(v->mark.who & (ATOMIC | WRITE))) {
        wait = &b->reads[v->thread];
        report_pending_read(v->w, v->thread);
    } else if ((v->mark.who & ATOMIC) && plain_earlier && mine && !(m.who & WRITE)) {
        wait = &b->reads[nl_sim_mark_get_thread(m)];
        report_pending_read(v->w, nl_sim_mark_get_thread(m));
    } else if ((m.who & UPDATE) || ((v->mark.who & UPDATE) && mine)) {
        wait = &b->reads[(m.who & WRITE) ? v->thread : nl_sim_mark_get_thread(m)];
        if (wait->on) /* the report needs only one stored conflict */
            return;
    }
    if (one_reads && !one_atomic)
        c.updates = (m.who & WRITE) ? are_parts_of_one_update(v->race, v->mark, m)
                                    : are_parts_of_one_update(v->race, m, v->mark);
    if (wait) {
        int plain = !((m.who | v->mark.who) & ATOMIC);
        *wait = (waiting){.on = 1, .plain = plain, .granule = granule, .conflict = c};
        b->reads_on++;
    } else {
        report_conflict(v->w, &c);
    }
}

/* Stores or reports the conflict of an unordered pair of accesses; called in an exact search. */
static void add_exact_conflict(visit *v, mark m, uintptr_t address) {
    int one_reads = !(m.who & v->mark.who & WRITE);
    nl_sim_race_conflict c = {.address = address,
                              .size = v->size,
                              .shared = v->shared,
                              .lock = holds_lock(v->b, v->thread, address / GRANULE * GRANULE),
                              .flag = has_read_flag(v->b, v->thread, m),
                              .narrow_fences = v->race->has_narrow_fences,
                              .has_phases = nl_sim_phases_is_any_tracked(v->race->phases),
                              .earlier = make_race_side(v->race, m),
                              .later = make_race_side(v->race, v->mark)};
    if (v->is_reported)
        return;
    v->is_reported = 1;
    if (!one_reads)
        c.updates = (m.who & v->mark.who & UPDATE) != 0;
    else if (!((m.who ^ v->mark.who) & ATOMIC))
        c.updates = (m.who & WRITE) ? are_parts_of_one_update(v->race, v->mark, m)
                                    : are_parts_of_one_update(v->race, m, v->mark);
    report_conflict(v->w, &c);
}

/* Stores a read, which replaces reads that happen before it. */
static void store_read(const visit *v, cell *c) {
    for (unsigned i = 0; i < 2; i++) {
        mark *m = &c->read[i];
        /* an atomic read is not stored if a plain read of the same thread is stored */
        if (m->block == v->mark.block && m->who == (v->mark.who & ~(ATOMIC | VOLATILE | NARROW)) &&
            m->time == v->mark.time && m->era == v->mark.era)
            return;
        if (nl_sim_visit_is_after(v, *m)) {
            *m = v->mark;
            return;
        }
    }
    if (!nl_sim_visit_is_same_warp(v, c->read[0]) && c->read[1].block == c->read[0].block &&
        nl_sim_mark_get_thread(c->read[1]) / NL_SIM_LANES ==
            nl_sim_mark_get_thread(c->read[0]) / NL_SIM_LANES)
        c->read[1] = v->mark;
}

static void record_access_in_cell(visit *v, cell *c, uintptr_t address) {
    mark old = c->write;
    int mine = !((old.who ^ v->mark.who) & ~UPDATE) && old.block == v->mark.block &&
               old.time == v->mark.time && old.era == v->mark.era;
    if (!mine && !nl_sim_visit_is_after(v, old) && !nl_sim_visit_is_compatible(v, old))
        add_conflict(v, old, address);
    if (!(v->mark.who & WRITE)) {
        store_read(v, c);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        mark *m = &c->read[i];
        if (!m->era)
            continue;
        if (m->block == v->mark.block && nl_sim_mark_get_thread(*m) == v->thread) {
            if ((v->kind & NL_SIM_ACCESS_COMPARE) && m->era == v->race->era) {
                m->who |= ATOMIC; /* the value of the read was used only for the atomicCAS */
                continue;
            }
        } else if (!nl_sim_visit_is_after(v, *m) && !nl_sim_visit_is_compatible(v, *m)) {
            add_conflict(v, *m, address);
        } else if (!nl_sim_visit_is_after(v, *m)) {
            continue;
        }
        m->era = 0;
    }
    c->write = v->mark;
    if (mine)
        c->write.who |= old.who & UPDATE;
}

static uint16_t pack_thread_and_kind(const nl_sim_race_block *b, unsigned thread, unsigned kind) {
    uint16_t result = (uint16_t)thread;
    if (kind & NL_SIM_ACCESS_WRITE)
        result |= WRITE;
    if (kind & NL_SIM_ACCESS_ATOMIC)
        result |= (kind & NL_SIM_ACCESS_NARROW) ? ATOMIC | NARROW : ATOMIC;
    else if (kind & NL_SIM_ACCESS_VOLATILE)
        /* a write directly after a fence counts as a write of a flag */
        result |= (kind & NL_SIM_ACCESS_WRITE) && nl_sim_happensbefore_is_fenced(&b->order, thread)
                      ? ATOMIC
                      : VOLATILE;
    return result;
}

static void record_access_in_cells(visit *v) {
    for (uintptr_t at = v->address, end = at + v->size; at < end;) {
        uintptr_t next = at / GRANULE * GRANULE + GRANULE;
        cell *c = find_cell(v->race, at);
        if (!c) {
            v->race->starved = 1;
            return;
        }
        if (next > end)
            next = end;
        if (!(c->write.who & SPLIT) && next - at == GRANULE) {
            record_access_in_cell(v, c, at);
            at = next;
            continue;
        }
        cell *bytes = split_cell(v->race, c);
        v->race->starved |= !bytes;
        for (; bytes && at < next; at++)
            record_access_in_cell(v, &bytes[at % GRANULE], at);
        at = next;
    }
}

/* Removes the clocks that an ended block has stored for its shared memory. */
static void drop_clocks_of_ended_block(const visit *v) {
    nl_sim_handed *handed =
        v->shared ? nl_sim_happensbefore_find_released(&v->race->handover, v->address) : NULL;
    if (handed && nl_sim_visit_is_earlier_block(v, handed->maker))
        nl_sim_happensbefore_drop_released(handed);
}

void nl_sim_race_check_access(nl_sim_worker *w, unsigned thread, uintptr_t address, size_t size,
                              unsigned kind, const void *pc, int shared) {
    nl_sim_race *race = w->race;
    nl_sim_race_block *b = w->race_block;
    int strong = (kind & (NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_VOLATILE)) != 0;
    int is_phase = (kind & NL_SIM_ACCESS_ATOMIC) && nl_sim_phases_is_tracked(race->phases, address);
    report_pending_write(w);
    if (!is_phase)
        end_phase_test(w, thread);
    visit v = {.w = w,
               .race = race,
               .b = b,
               .order = &b->order,
               .mark = {.block = b->order.block,
                        .time = nl_sim_happensbefore_current_time(&b->order, thread),
                        .pc = (int32_t)((uintptr_t)pc - race->code),
                        .who = pack_thread_and_kind(b, thread, kind),
                        .era = race->era},
               .thread = thread,
               .kind = kind,
               .operation = race->epochs ? operation_of_access(kind, size) : 0,
               .shared = shared,
               .address = address,
               .size = size,
               .pc = pc};
    if (strong && !is_phase && race->epochs)
        record_competition(w, &v);
    if (!v.operation && (strong || !(kind & NL_SIM_ACCESS_WRITE))) {
        uintptr_t found = nl_sim_uncertain_find(&race->uncertain, address, size);
        if (found)
            record_dependence(w, found);
    }
    if (is_phase) {
        ; /* the accesses of the barrier itself order phases, but not other accesses */
    } else if (strong) {
        drop_clocks_of_ended_block(&v);
        if (!race->epochs)
            nl_sim_happensbefore_acquire(&b->order, thread, &race->handover, address);
        else if (!v.operation) /* an atomic whose result is unused acquires nothing */
            nl_sim_happensbefore_observe_release(&b->order, thread, &race->handover, address);
        nl_sim_flags_record_access(&race->flags, &b->flag_of[thread],
                                   (nl_sim_flag_thread){b->order.block, thread, 1}, address,
                                   (kind & NL_SIM_ACCESS_WRITE) != 0);
        if (kind & NL_SIM_ACCESS_COMPARE)
            drop_pending_read(race, b, thread, address / GRANULE * GRANULE);
        if (kind & (NL_SIM_ACCESS_COMPARE | NL_SIM_ACCESS_EXCHANGE)) {
            b->swapped[thread].barrier = b->order.barrier;
            b->swapped[thread].granule = address / GRANULE * GRANULE;
        }
    } else if (!(kind & NL_SIM_ACCESS_WRITE)) {
        b->latest[thread][b->latest_next[thread]++ % LATEST] =
            (latest){address / GRANULE * GRANULE, (int32_t)((uintptr_t)pc - race->code),
                     nl_sim_happensbefore_current_time(&b->order, thread)};
    } else if (b->reads_on) {
        report_lost_update(w, thread, address, size);
    }
    const latest *own = !strong && (kind & NL_SIM_ACCESS_WRITE)
                            ? find_latest_read(b, thread, address / GRANULE * GRANULE)
                            : NULL;
    if (own) {
        v.mark.who |= UPDATE;
        store_read_and_write(race, b, thread, own, v.mark.pc);
    }
    if (race->epochs) {
        if (nl_sim_epochs_record_access(race->epochs, &v, add_exact_conflict) < 0)
            race->starved = 1;
    } else {
        record_access_in_cells(&v);
    }
    if ((kind & NL_SIM_ACCESS_WRITE) && !is_phase) {
        if (strong)
            nl_sim_happensbefore_release(&b->order, thread, &race->handover, address);
        else
            b->order.unfenced[thread] = NL_SIM_ORDER_WRITES | NL_SIM_ORDER_WRITES_WIDE;
    }
}
/* Events */

int nl_sim_race_begin_block(nl_sim_worker *w) {
    if (!w->race_block && !(w->race_block = nl_mem_alloc_permanent(sizeof *w->race_block)))
        return -1;
    uint64_t block = w->index.x + (uint64_t)w->job->launch.grid.x *
                                      (w->index.y + (uint64_t)w->job->launch.grid.y * w->index.z);
    w->race_block->write.on = 0;
    w->race_block->reads_on = 0;
    for (unsigned i = 0; i < w->threads; i++)
        w->race_block->reads[i].on = 0;
    w->race_block->questions.count = 0;
    for (unsigned i = 0; i < w->threads; i++)
        w->race_block->questions.of[i].barrier = 0;
    memset(w->race_block->latest, 0, w->threads * sizeof *w->race_block->latest);
    memset(w->race_block->flag_of, 0, w->threads * sizeof *w->race_block->flag_of);
    nl_sim_happensbefore_begin_block(&w->race_block->order, (uint32_t)block, w->threads,
                                     &w->race->starved);
    return 0;
}

/* Returns whether the access happens before the current access of any thread of the block. */
static int happens_before_any_thread(const nl_sim_worker *w, mark m) {
    for (unsigned i = 0; i < w->threads; i++) {
        if (nl_sim_happensbefore_happens_before(&w->race_block->order, i, m.block,
                                                nl_sim_mark_get_thread(m), m.time,
                                                !(m.who & WRITE)))
            return 1;
    }
    return 0;
}

static int is_after_block_end(const nl_sim_worker *w, mark m) {
    return m.era == w->race->era && !(m.who & SPLIT) && m.block != w->race_block->order.block &&
           nl_sim_visit_are_in_cluster(w, m.block, w->race_block->order.block) &&
           !happens_before_any_thread(w, m);
}

typedef struct late_search {
    const nl_sim_worker *w;
    mark found;
} late_search;

static int find_late_mark(void *data, mark m) {
    late_search *search = data;
    search->found = m;
    return is_after_block_end(search->w, m);
}

static int find_access_after_end_in_epochs(nl_sim_worker *w, uintptr_t low, size_t size,
                                           nl_sim_race_side *late, uintptr_t *address) {
    late_search search = {.w = w};
    for (uintptr_t at = low; at < low + size; at += GRANULE) {
        if (!nl_sim_epochs_search(w->race->epochs, at, find_late_mark, &search))
            continue;
        *late = make_race_side(w->race, search.found);
        *address = at;
        return 1;
    }
    return 0;
}

int nl_sim_race_find_access_after_end(nl_sim_worker *w, uintptr_t low, size_t size,
                                      nl_sim_race_side *late, uintptr_t *address) {
    if (w->race->epochs)
        return find_access_after_end_in_epochs(w, low, size, late, address);
    for (uintptr_t at = low; at < low + size; at += GRANULE) {
        const cell *c = find_cell(w->race, at);
        const mark marks[] = {c ? c->write : (mark){0}, c ? c->read[0] : (mark){0},
                              c ? c->read[1] : (mark){0}};
        for (unsigned i = 0; i < 3; i++) {
            if (!is_after_block_end(w, marks[i]))
                continue;
            *late = make_race_side(w->race, marks[i]);
            *address = at;
            return 1;
        }
    }
    return 0;
}

void nl_sim_race_end_block(nl_sim_worker *w) {
    if (!w->race_block)
        return;
    report_pending_write(w);
    report_pending_reads(w, 0, w->threads);
    if (w->race->epochs)
        nl_sim_epochs_mark_ended(w->race->epochs, w->race_block->order.block);
    nl_sim_happensbefore_end_block(&w->race_block->order);
}

static void record_fence(nl_sim_worker *w) {
    if (w->race->epochs)
        nl_sim_epochs_mark_fenced(w->race->epochs, w->race_block->order.block);
}

void nl_sim_race_make_fence(nl_sim_worker *w, unsigned thread, nl_sim_happensbefore_scope scope) {
    report_pending_write(w);
    end_phase_test(w, thread);
    record_fence(w);
    w->race->has_narrow_fences |= scope == NL_SIM_ORDER_NARROW;
    nl_sim_happensbefore_make_fence(&w->race_block->order, thread, scope);
}

void nl_sim_race_order_block(nl_sim_worker *w) {
    report_pending_write(w);
    report_pending_reads(w, 0, w->threads);
    for (unsigned i = 0; i < w->threads && w->race_block->questions.count; i++)
        end_phase_test(w, i);
    nl_sim_happensbefore_order_block(&w->race_block->order);
}

void nl_sim_race_order_warp(nl_sim_worker *w, unsigned warp, uint32_t lanes) {
    report_pending_write(w);
    for (uint32_t left = lanes; left && w->race_block->reads_on; left &= left - 1)
        report_pending_read(w, warp * NL_SIM_LANES + (unsigned)__builtin_ctz(left));
    for (uint32_t left = lanes; left && w->race_block->questions.count; left &= left - 1)
        end_phase_test(w, warp * NL_SIM_LANES + (unsigned)__builtin_ctz(left));
    nl_sim_happensbefore_order_warp(&w->race_block->order, warp, lanes);
}

void nl_sim_race_order_tile(nl_sim_worker *w, unsigned first, unsigned count) {
    report_pending_write(w);
    report_pending_reads(w, first, first + count);
    for (unsigned i = first; i < first + count && w->race_block->questions.count; i++)
        end_phase_test(w, i);
    nl_sim_happensbefore_order_tile(&w->race_block->order, first, count);
}

void nl_sim_race_order_grid(nl_sim_race *race) {
    nl_sim_happensbefore_clear_handover(&race->handover);
    if (++race->era == 0) {
        forget_pages(race);
        if (race->epochs)
            nl_sim_epochs_forget_all(race->epochs);
        race->era = 1;
    }
}

/* The barrier of a cluster */

/* Removes the clocks that an earlier cluster has released at these addresses. */
static void drop_release_of_other_cluster(nl_sim_worker *w, uintptr_t barrier) {
    nl_sim_handed *handed = nl_sim_happensbefore_find_released(&w->race->handover, barrier);
    if (handed && !nl_sim_visit_are_in_cluster(w, handed->maker, w->race_block->order.block))
        nl_sim_happensbefore_drop_released(handed);
}

void nl_sim_race_arrive_at_barrier(nl_sim_worker *w, unsigned thread, uintptr_t barrier) {
    report_pending_write(w);
    report_pending_read(w, thread);
    end_phase_test(w, thread);
    record_fence(w);
    drop_release_of_other_cluster(w, barrier);
    nl_sim_happensbefore_release_all(&w->race_block->order, thread, &w->race->handover, barrier);
}

void nl_sim_race_end_wait(nl_sim_worker *w, unsigned thread, uintptr_t barrier) {
    report_pending_write(w);
    end_phase_test(w, thread);
    drop_release_of_other_cluster(w, barrier);
    nl_sim_happensbefore_acquire(&w->race_block->order, thread, &w->race->handover, barrier);
}

/* Barriers with phases */

static nl_sim_phase_use make_phase_use(nl_sim_worker *w, const nl_sim_race_phase *barrier) {
    return (nl_sim_phase_use){.worker = w,
                              .order = &w->race_block->order,
                              .thread = w->current,
                              .era = w->race->era,
                              .barrier = barrier->address,
                              .phase = barrier->phase,
                              .shared = barrier->shared};
}

int nl_sim_race_has_barrier(const nl_sim_worker *w, uintptr_t address) {
    return nl_sim_phases_is_tracked(w->race->phases, address);
}

void nl_sim_race_make_barrier(nl_sim_worker *w, const nl_sim_race_phase *barrier) {
    nl_sim_phase_use use = make_phase_use(w, barrier);
    nl_sim_phases_make_barrier(w->race->phases, &use);
}

void nl_sim_race_forget_barrier(nl_sim_worker *w, uintptr_t address) {
    nl_sim_phases_forget_barrier(w->race->phases, address);
}

static void check_dependence(nl_sim_worker *w, uintptr_t barrier) {
    if (nl_sim_phases_pop_dependence(w->race->phases))
        record_dependence(w, barrier);
}

void nl_sim_race_arrive_in_phase(nl_sim_worker *w, const nl_sim_race_phase *barrier) {
    nl_sim_phase_use use = make_phase_use(w, barrier);
    report_pending_write(w);
    report_pending_read(w, w->current);
    end_phase_test(w, w->current);
    record_fence(w);
    nl_sim_phases_arrive(w->race->phases, &use);
    check_dependence(w, barrier->address);
}

void nl_sim_race_begin_completion(nl_sim_worker *w, const nl_sim_race_phase *barrier,
                                  nl_sim_vectorclock **begun) {
    nl_sim_phase_use use = make_phase_use(w, barrier);
    if (begun)
        *begun = nl_sim_vectorclock_retain(use.order->thread_clock[use.thread]);
    nl_sim_phases_acquire(w->race->phases, &use);
}

void nl_sim_race_end_completion(nl_sim_worker *w, const nl_sim_race_phase *barrier,
                                nl_sim_vectorclock **begun) {
    nl_sim_phase_use use = make_phase_use(w, barrier);
    report_pending_write(w);
    nl_sim_phases_release(w->race->phases, &use);
    if (begun)
        nl_sim_happensbefore_reset_clock(use.order, use.thread, *begun);
    else if (w->race->epochs)
        nl_sim_phases_begin_test(w->race->phases, &use, &w->race_block->questions);
}

void nl_sim_race_complete_phase(nl_sim_worker *w, const nl_sim_race_phase *barrier) {
    nl_sim_phase_use use = make_phase_use(w, barrier);
    nl_sim_phases_end_phase(w->race->phases, &use);
    check_dependence(w, barrier->address);
}

int nl_sim_race_test_phase(nl_sim_worker *w, const nl_sim_race_phase *barrier, int by_parity,
                           unsigned value, int blocks) {
    nl_sim_phase_use use = make_phase_use(w, barrier);
    nl_sim_phase_questions *questions = w->race->epochs ? &w->race_block->questions : NULL;
    report_pending_write(w);
    if (blocks && questions) { /* the result of the test does not affect the program's decisions */
        uintptr_t asked = nl_sim_phases_end_test(questions, use.thread);
        if (asked && asked != barrier->address)
            record_dependence(w, asked);
        questions = NULL;
    }
    int is_over = nl_sim_phases_test(w->race->phases, &use, questions, by_parity, value);
    check_dependence(w, barrier->address);
    return is_over;
}

void nl_sim_race_end_thread(nl_sim_worker *w, unsigned thread) {
    report_pending_write(w);
    report_pending_read(w, thread);
    end_phase_test(w, thread);
}

void nl_sim_race_finish_write(nl_sim_worker *w) {
    report_pending_write(w);
}

void nl_sim_race_forget_range(nl_sim_worker *w, uintptr_t address, size_t size) {
    if (w->race->epochs) {
        w->race->starved |= nl_sim_epochs_forget_range(w->race->epochs, address, size) < 0;
        w->race->starved |= nl_sim_uncertain_mark(&w->race->uncertain, address, size, 0) < 0;
        return;
    }
    for (uintptr_t at = address / GRANULE * GRANULE; at < address + size; at += GRANULE) {
        cell *c = find_cell(w->race, at);
        if (c)
            *c = (cell){.write = {.era = 0}};
        else
            w->race->starved = 1;
    }
}

void nl_sim_race_note_activemask(nl_sim_worker *w) {
    w->race->depends = 1;
}
