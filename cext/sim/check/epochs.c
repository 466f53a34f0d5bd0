/* sim/check/epochs: stores, for each four bytes, the last plain write, one plain read, and a list
 * of all other accesses since that write. The list has a segment for each block and kind of access;
 * a segment contains the last access of each thread. After an access to fewer than four bytes, each
 * byte has its own record.
 *
 * A plain write deletes all older records: those that conflict with the write were reported, and
 * all others are ordered before it. A plain read replaces earlier plain reads that are ordered
 * before it. Atomic and volatile accesses do not replace plain accesses, because a plain access
 * conflicts with more kinds of access.
 *
 * For blocks that ended without a fence, one stored access of each kind is enough: no access can
 * become ordered after these blocks before the next barrier of the grid, so a later access
 * conflicts either with all accesses of these blocks or with none. If a block has passed a barrier
 * since its segment was filled, its next access empties the segment, because all accesses in the
 * segment are ordered before this access. */
#include "sim/check/epochs.h"

#include <string.h>
#include "base/mem.h"
#include "sim/abi.h"
#include "sim/check/shadow.h"

enum {
    GRANULE = NL_SIM_SHADOW_GRANULE,
    FEW = 4, /* threads of a new segment */
    /* capacity of the largest segment that is searched linearly; a larger segment has an item for
     * each thread */
    MANY = 16,
    STRONG = NL_SIM_MARK_ATOMIC | NL_SIM_MARK_VOLATILE,
    /* bits of nl_sim_mark.who; each combination has its own segment */
    KIND = STRONG | NL_SIM_MARK_WRITE | NL_SIM_MARK_NARROW,
    HAS_FENCED = 1, /* flag of a block */
    HAS_ENDED = 2,
    OPERATION = 15, /* bits of nl_sim_visit.operation without the size */
};

typedef struct item {
    uint32_t time; /* 0: empty */
    int32_t pc;
    uint32_t thread;
} item;

typedef struct segment {
    struct segment *next;
    uint32_t block, barrier; /* number of the block's last barrier when the first item was stored */
    uint16_t era, kind;
    /* count: number of stored items; equal to `capacity` if there is one item per thread */
    uint16_t count, capacity;
    unsigned operation; /* of nl_sim_visit */
    item items[];
} segment;

typedef struct cell {
    nl_sim_mark write; /* if SPLIT is set, write.block is the index of the four bytes in
                        * epochs->bytes */
    nl_sim_mark read;
    segment *more;
} cell;

struct nl_sim_epochs {
    nl_sim_shadow cells;
    cell (*bytes)[GRANULE];
    uint32_t byte_count, byte_capacity;
    segment *spare; /* free segments of FEW items */
    uint64_t blocks;
    unsigned char *block; /* flags of each block: HAS_FENCED, HAS_ENDED */
};

nl_sim_epochs *nl_sim_epochs_open(uint64_t blocks) {
    nl_sim_epochs *e = nl_mem_zalloc(sizeof *e, NULL);
    if (!e)
        return NULL;
    e->blocks = blocks;
    e->block = nl_mem_zalloc(blocks, NULL);
    if (e->block)
        return e;
    nl_mem_free(e);
    return NULL;
}

static void free_segments(segment *first) {
    for (segment *s = first, *next; s; s = next) {
        next = s->next;
        nl_mem_free(s);
    }
}

void nl_sim_epochs_forget_all(nl_sim_epochs *e) {
    for (size_t i = 0; i < e->cells.capacity; i++) {
        cell *cells = e->cells.pages[i] ? e->cells.pages[i]->cells : NULL;
        for (unsigned k = 0; cells && k < NL_SIM_SHADOW_CELLS; k++)
            free_segments(cells[k].more);
    }
    for (uint32_t i = 0; i < e->byte_count; i++) {
        for (unsigned k = 0; k < GRANULE; k++)
            free_segments(e->bytes[i][k].more);
    }
    nl_sim_shadow_clear(&e->cells);
    e->byte_count = 0;
}

void nl_sim_epochs_close(nl_sim_epochs *e) {
    if (!e)
        return;
    nl_sim_epochs_forget_all(e);
    free_segments(e->spare);
    nl_mem_free(e->bytes);
    nl_mem_free(e->block);
    nl_mem_free(e);
}

void nl_sim_epochs_mark_fenced(nl_sim_epochs *e, uint32_t block) {
    e->block[block] |= HAS_FENCED;
}

void nl_sim_epochs_mark_ended(nl_sim_epochs *e, uint32_t block) {
    e->block[block] |= HAS_ENDED;
}

/* Cells */

/* Returns the cell of the four bytes at `address`, or NULL without memory. */
static cell *find_cell(nl_sim_epochs *e, uintptr_t address) {
    return nl_sim_shadow_find(&e->cells, address, sizeof(cell));
}

static int is_split_cell(const cell *c) {
    return (c->write.who & NL_SIM_MARK_SPLIT) != 0;
}

static segment *copy_segments(const segment *first, int *failed) {
    segment *made = NULL, **at = &made;
    for (const segment *s = first; s; s = s->next) {
        segment *copy = nl_mem_alloc(sizeof *copy + s->capacity * sizeof *copy->items, NULL);
        if (!copy) {
            *failed = 1;
            break;
        }
        memcpy(copy, s, sizeof *s + s->capacity * sizeof *s->items);
        copy->next = NULL;
        *at = copy;
        at = &copy->next;
    }
    return made;
}

/* Creates a cell for each of the four bytes of a cell; returns NULL if memory runs out. */
static cell *split_cell(nl_sim_epochs *e, cell *c) {
    int failed = 0;
    if (is_split_cell(c))
        return e->bytes[c->write.block];
    if (e->byte_count == e->byte_capacity) {
        uint32_t capacity = e->byte_capacity ? e->byte_capacity * 2 : 256;
        cell(*more)[GRANULE] = nl_mem_resize(e->bytes, capacity * sizeof *more, NULL);
        if (!more)
            return NULL;
        e->bytes = more;
        e->byte_capacity = capacity;
    }
    uint32_t index = e->byte_count++;
    for (unsigned i = 0; i < GRANULE; i++) {
        e->bytes[index][i] = *c;
        if (i > 0)
            e->bytes[index][i].more = copy_segments(c->more, &failed);
    }
    *c = (cell){.write = {.block = index, .who = NL_SIM_MARK_SPLIT, .era = 1}};
    return failed ? NULL : e->bytes[index];
}

/* Segments */

static void drop_segment(nl_sim_epochs *e, segment **at) {
    segment *s = *at;
    *at = s->next;
    if (s->capacity > FEW) {
        nl_mem_free(s);
        return;
    }
    s->next = e->spare;
    e->spare = s;
}

static nl_sim_mark make_mark(const segment *s, const item *i) {
    return (nl_sim_mark){.block = s->block,
                         .time = i->time,
                         .pc = i->pc,
                         .who = (uint16_t)(s->kind | i->thread),
                         .era = s->era};
}

/* Returns whether the running block has passed a barrier since all accesses of the segment, which
 * must be accesses of the running block. */
static int has_passed_barrier_since(const nl_sim_visit *v, const segment *s) {
    return s->block == v->mark.block && s->barrier < v->order->barrier;
}

/* Returns whether no later access can become ordered after the block's accesses. */
static int is_block_order_final(const nl_sim_epochs *e, uint32_t block) {
    return e->block[block] == HAS_ENDED;
}

/* Returns whether an access of the segment can conflict with this access if they are unordered. */
static int may_conflict_with_segment(const nl_sim_visit *v, const segment *s) {
    uint16_t both = s->kind & v->mark.who, any = s->kind | v->mark.who;
    if (!(any & NL_SIM_MARK_WRITE))
        return 0;
    if (!(s->kind & STRONG) || !(v->mark.who & STRONG))
        return 1;
    if ((any & NL_SIM_MARK_NARROW) && s->block != v->mark.block)
        return 1;
    return (both & NL_SIM_MARK_VOLATILE) && s->block == v->mark.block;
}

/* Returns the first item that does not happen before the access and is not compatible with it; if
 * `strong` is set, compatible items are also returned. Returns NULL if all items happen before the
 * access or are compatible with it. */
static const item *find_first_unordered(const nl_sim_visit *v, const segment *s, int strong) {
    if (has_passed_barrier_since(v, s))
        return NULL;
    for (unsigned n = 0; n < s->count; n++) {
        const item *i = &s->items[n];
        if (!i->time || (i->thread == v->thread && s->block == v->mark.block))
            continue;
        nl_sim_mark m = make_mark(s, i);
        if (!nl_sim_visit_is_after(v, m) && (strong || !nl_sim_visit_is_compatible(v, m)))
            return i;
    }
    return NULL;
}

/* Returns a segment of this capacity; reuses a free segment if possible. Returns NULL if memory
 * runs out. */
static segment *create_segment(nl_sim_epochs *e, unsigned capacity) {
    segment *s = capacity == FEW ? e->spare : NULL;
    if (s) {
        e->spare = s->next;
        return s;
    }
    return nl_mem_alloc(sizeof *s + capacity * sizeof *s->items, NULL);
}

/* Enlarges the segment at *at; returns -1 if memory runs out. */
static int enlarge_segment(nl_sim_epochs *e, segment **at, unsigned threads) {
    segment *old = *at;
    unsigned capacity = old->capacity < MANY ? MANY : threads;
    segment *s = create_segment(e, capacity);
    if (!s)
        return -1;
    *s = *old;
    s->capacity = (uint16_t)capacity;
    if (capacity == MANY) {
        memcpy(s->items, old->items, old->count * sizeof *s->items);
    } else {
        memset(s->items, 0, capacity * sizeof *s->items);
        for (unsigned n = 0; n < old->count; n++)
            s->items[old->items[n].thread] = old->items[n];
        s->count = (uint16_t)capacity;
    }
    drop_segment(e, at);
    s->next = *at;
    *at = s;
    return 0;
}

/* Stores the access in the segment of its block and kind of access; returns -1 if memory runs
 * out. */
static int store_access(nl_sim_epochs *e, const nl_sim_visit *v, segment **at) {
    item made = {v->mark.time, v->mark.pc, v->thread};
    segment *s = *at;
    if (s->barrier < v->order->barrier) {
        s->barrier = v->order->barrier;
        if (s->capacity > MANY)
            memset(s->items, 0, s->capacity * sizeof *s->items);
        else
            s->count = 0;
    }
    if (s->capacity > MANY) {
        s->items[v->thread] = made;
        return 0;
    }
    for (unsigned n = 0; n < s->count; n++) {
        if (s->items[n].thread == v->thread) {
            s->items[n] = made;
            return 0;
        }
    }
    if (s->count == s->capacity) {
        if (enlarge_segment(e, at, v->order->threads) < 0)
            return -1;
        return store_access(e, v, at);
    }
    s->items[s->count++] = made;
    return 0;
}

/* Deletes segments of this kind of access that are no longer needed: segments whose accesses all
 * happen before this access, and all but one of the segments of blocks that ended without a
 * fence. */
static void prune_segments(nl_sim_epochs *e, const nl_sim_visit *v, cell *c, uint16_t kind) {
    int has_fixed =
        kind == 0 && c->read.era == v->mark.era && is_block_order_final(e, c->read.block);
    for (segment **at = &c->more; *at;) {
        segment *s = *at;
        int same = s->kind == kind && s->operation == v->operation && s->block != v->mark.block;
        int drops = same && ((is_block_order_final(e, s->block) && has_fixed) ||
                             !find_first_unordered(v, s, 1));
        if (same && is_block_order_final(e, s->block))
            has_fixed = 1;
        if (drops)
            drop_segment(e, at);
        else
            at = &s->next;
    }
}

static int record_access(nl_sim_epochs *e, const nl_sim_visit *v, cell *c) {
    uint16_t kind = v->mark.who & KIND;
    for (segment **at = &c->more; *at; at = &(*at)->next) {
        segment *s = *at;
        if (s->kind != kind || s->operation != v->operation || s->block != v->mark.block)
            continue;
        if (at != &c->more) { /* to the front */
            *at = s->next;
            s->next = c->more;
            c->more = s;
        }
        return store_access(e, v, &c->more);
    }
    if (c->more)
        prune_segments(e, v, c, kind);
    segment *s = create_segment(e, FEW);
    if (!s)
        return -1;
    *s = (segment){.next = c->more,
                   .block = v->mark.block,
                   .barrier = v->order->barrier,
                   .era = v->mark.era,
                   .kind = kind,
                   .operation = v->operation,
                   .capacity = FEW};
    c->more = s;
    return store_access(e, v, &c->more);
}

/* Accesses */

static int is_same_access_time(nl_sim_mark a, nl_sim_mark b) {
    return a.time == b.time && a.block == b.block && a.era == b.era &&
           !((a.who ^ b.who) & NL_SIM_MARK_THREAD);
}

static void compare_segments(nl_sim_epochs *e, nl_sim_visit *v, cell *c, uintptr_t address,
                             nl_sim_epochs_conflict *conflict) {
    for (segment **at = &c->more; *at;) {
        segment *s = *at;
        if (s->era != v->mark.era || nl_sim_visit_is_earlier_block(v, s->block)) {
            drop_segment(e, at);
            continue;
        }
        const item *i = may_conflict_with_segment(v, s) ? find_first_unordered(v, s, 0) : NULL;
        if (i)
            conflict(v, make_mark(s, i), address);
        at = &s->next;
    }
}

static int record_access_in_cell(nl_sim_epochs *e, nl_sim_visit *v, cell *c, uintptr_t address,
                                 nl_sim_epochs_conflict *conflict) {
    int writes = v->mark.who & NL_SIM_MARK_WRITE, plain = !(v->mark.who & STRONG);
    int mine = is_same_access_time(c->write, v->mark);
    if (mine && plain) {
        if (!writes)
            return 0; /* an access that conflicts with the read also conflicts with the write */
        c->write.who |= v->mark.who & NL_SIM_MARK_UPDATE;
        if (!c->read.era && !c->more)
            return 0;
    }
    if (!writes && plain && is_same_access_time(c->read, v->mark))
        return 0;
    if (c->write.era && !mine && !nl_sim_visit_is_after(v, c->write))
        conflict(v, c->write, address);
    if (writes && c->read.era && !nl_sim_visit_is_after(v, c->read))
        conflict(v, c->read, address);
    if (c->more)
        compare_segments(e, v, c, address, conflict);
    if (!plain)
        return record_access(e, v, c);
    if (writes) {
        if (!mine)
            c->write = v->mark;
        c->read.era = 0;
        while (c->more)
            drop_segment(e, &c->more);
        return 0;
    }
    if (c->read.era && !nl_sim_visit_is_after(v, c->read))
        return record_access(e, v, c);
    c->read = v->mark;
    return 0;
}

int nl_sim_epochs_record_access(nl_sim_epochs *e, nl_sim_visit *v,
                                nl_sim_epochs_conflict *conflict) {
    for (uintptr_t at = v->address, end = at + v->size; at < end;) {
        uintptr_t next = at / GRANULE * GRANULE + GRANULE;
        cell *c = find_cell(e, at);
        if (!c)
            return -1;
        if (next > end)
            next = end;
        if (!is_split_cell(c) && next - at == GRANULE) {
            if (record_access_in_cell(e, v, c, at, conflict) < 0)
                return -1;
            at = next;
            continue;
        }
        cell *bytes = split_cell(e, c);
        if (!bytes)
            return -1;
        for (; at < next; at++) {
            if (record_access_in_cell(e, v, &bytes[at % GRANULE], at, conflict) < 0)
                return -1;
        }
    }
    return 0;
}

static nl_sim_competition find_competition_in_cell(const nl_sim_visit *v, const cell *c) {
    nl_sim_competition found = NL_SIM_COMPETES_WITH_NONE;
    for (const segment *s = c->more; s; s = s->next) {
        int same = v->operation && s->operation == v->operation;
        if (same && (v->operation & OPERATION) <= NL_SIM_OPERATION_EXACT)
            continue;
        if (!(s->kind & STRONG) || !((s->kind | v->mark.who) & NL_SIM_MARK_WRITE) ||
            s->era != v->mark.era || !find_first_unordered(v, s, 1))
            continue;
        if (!same)
            return NL_SIM_COMPETES;
        found = NL_SIM_COMPETES_FOR_VALUE;
    }
    return found;
}

nl_sim_competition nl_sim_epochs_find_competition(nl_sim_epochs *e, const nl_sim_visit *v) {
    nl_sim_competition most = NL_SIM_COMPETES_WITH_NONE;
    for (uintptr_t at = v->address; at < v->address + v->size; at++) {
        const cell *c = find_cell(e, at);
        if (!c)
            break;
        nl_sim_competition one = find_competition_in_cell(
            v, is_split_cell(c) ? &e->bytes[c->write.block][at % GRANULE] : c);
        if (one > most)
            most = one;
        if (!is_split_cell(c))
            at |= GRANULE - 1;
    }
    return most;
}

int nl_sim_epochs_forget_range(nl_sim_epochs *e, uintptr_t address, size_t size) {
    for (uintptr_t at = address / GRANULE * GRANULE; at < address + size; at += GRANULE) {
        cell *c = find_cell(e, at);
        if (!c)
            return -1;
        for (unsigned i = 0; is_split_cell(c) && i < GRANULE; i++) {
            cell *byte = &e->bytes[c->write.block][i];
            free_segments(byte->more);
            *byte = (cell){.more = NULL};
        }
        if (is_split_cell(c))
            continue;
        free_segments(c->more);
        *c = (cell){.more = NULL};
    }
    return 0;
}

static int search_cell(const cell *c, nl_sim_epochs_find *find, void *data) {
    if ((c->write.era && find(data, c->write)) || (c->read.era && find(data, c->read)))
        return 1;
    for (const segment *s = c->more; s; s = s->next) {
        for (unsigned n = 0; n < s->count; n++) {
            if (s->items[n].time && find(data, make_mark(s, &s->items[n])))
                return 1;
        }
    }
    return 0;
}

int nl_sim_epochs_search(nl_sim_epochs *e, uintptr_t address, nl_sim_epochs_find *find,
                         void *data) {
    const cell *c = find_cell(e, address);
    if (!c || !is_split_cell(c))
        return c && search_cell(c, find, data);
    for (unsigned i = 0; i < GRANULE; i++) {
        if (search_cell(&e->bytes[c->write.block][i], find, data))
            return 1;
    }
    return 0;
}
