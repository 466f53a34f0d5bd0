/* sim/check/overlap: implemented by shadow memory: 8 bytes for every 4 bytes of memory, in chunks
 * that are allocated at their first access. The gaps between allocations are larger than a chunk,
 * so that each chunk belongs to one allocation. */
#include "sim/check/overlap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "sim/engine/memory.h"

enum { CHUNK = 65536, NOTES = 16384, ATOMIC = 16, ID_SHIFT = 5, ID_LIMIT = 1 << 27 };

const char nl_sim_overlap_remedy[] =
    ", with nothing that orders the two: "
    "let one stream wait for an event that the other records, or give both operations one stream";

struct nl_sim_overlap {
    uint32_t id;
    nl_sim_streamclock clock;
    char where[NL_SIM_OVERLAP_WHERE];
};

/* Description of a watched copy or launch, which remains available after the operation has ended. A
 * later operation reuses the entry. */
typedef struct note {
    uint32_t id;
    unsigned place;
    uint64_t ticket;
    char who[NL_SIM_OVERLAP_TEXT];
} note;

/* The last write and one read of 4 bytes. Each entry contains the operation's id, whether the
 * access was atomic, and which of the bytes it accessed. */
typedef struct granule {
    uint32_t writer, reader;
} granule;

/* Protects all variables below. No other lock may be acquired while this lock is held. */
static nl_mutex lock = NL_MUTEX_INIT;
static uintptr_t low, span;
/* marks a chunk of host or shared memory, which is not watched */
static granule **chunks, untold;
static note *notes;
static uint32_t kept;

int nl_sim_overlap_is_recorded(void) {
    return (int)nl_atomic_load32_relaxed(&kept);
}

static int open_table_lock_held(void) {
    uintptr_t high;
    if (kept)
        return 0;
    nl_sim_memory_address_range(&low, &high);
    span = high - low;
    notes = notes ? notes : nl_mem_alloc_permanent(NOTES * sizeof *notes);
    chunks = chunks ? chunks : nl_mem_alloc_permanent((span / CHUNK + 2) * sizeof(granule *));
    if (!notes || !chunks || !span)
        return -1;
    nl_atomic_store32_relaxed(&kept, 1);
    return 0;
}

int nl_sim_overlap_enable(void) {
    /* called without the lock, because the memory's lock must be acquired first */
    nl_sim_memory_set_listener(nl_sim_overlap_forget_range);
    nl_mutex_lock(&lock);
    int status = open_table_lock_held();
    nl_mutex_unlock(&lock);
    return status;
}

nl_sim_overlap *nl_sim_overlap_new_operation(uint32_t id, const nl_sim_streamclock *clock,
                                             unsigned place, const char *what, const char *where) {
    nl_sim_overlap *o = malloc(sizeof *o);
    if (!o)
        return NULL;
    o->id = id % (ID_LIMIT - 1) + 1;
    o->clock = *clock;
    snprintf(o->where, sizeof o->where, "%s", where);
    nl_mutex_lock(&lock);
    note *n = &notes[o->id % NOTES];
    n->id = o->id;
    n->place = place;
    n->ticket = clock->ticket[place];
    snprintf(n->who, sizeof n->who, "%.72s %s", what, where);
    nl_mutex_unlock(&lock);
    return o;
}

const nl_sim_streamclock *nl_sim_overlap_get_clock(const nl_sim_overlap *o) {
    return &o->clock;
}

/* Memory */

static granule *find_chunk(uintptr_t address) {
    nl_sim_memory_info info;
    granule **place = &chunks[(address - low) / CHUNK];
    if (*place)
        return *place == &untold ? NULL : *place;
    nl_mutex_unlock(&lock); /* the memory's lock must be acquired before `lock` */
    int found = nl_sim_memory_find_allocation(address, &info);
    nl_mutex_lock(&lock);
    if (!found)
        return NULL;
    if (!*place && (info.kind == NL_SIM_MEMORY_HOST || info.kind == NL_SIM_MEMORY_SHARED))
        *place = &untold;
    else if (!*place)
        *place = calloc(CHUNK / 4, sizeof **place);
    return *place == &untold ? NULL : *place;
}

void nl_sim_overlap_forget_range(uintptr_t address, size_t size) {
    if (!nl_sim_overlap_is_recorded() || address - low >= span || !size)
        return;
    nl_mutex_lock(&lock);
    for (size_t i = (address - low) / CHUNK; i <= (address - low + size - 1) / CHUNK; i++) {
        if (chunks[i] != &untold)
            free(chunks[i]);
        chunks[i] = NULL;
    }
    nl_mutex_unlock(&lock);
}

/* Returns whether the access happens before the operation, or was made by the operation itself.
 * Also returns 1 if the data about the access are no longer stored. */
static int is_access_before(const nl_sim_overlap *o, uint32_t touched) {
    uint32_t id = touched >> ID_SHIFT;
    const note *n = &notes[id % NOTES];
    return !id || id == o->id || n->id != id || n->ticket <= o->clock.ticket[n->place];
}

static int conflicts_with_access(const nl_sim_overlap *o, uint32_t touched, uint32_t bytes) {
    if ((bytes & touched & ATOMIC) || !(bytes & touched))
        return 0;
    return !is_access_before(o, touched);
}

static uint32_t merge_touch(const nl_sim_overlap *o, uint32_t before, uint32_t bytes) {
    if (before >> ID_SHIFT != o->id)
        return o->id << ID_SHIFT | bytes;
    uint32_t atomic = before & bytes & ATOMIC;
    return ((before | bytes) & ~(uint32_t)ATOMIC) | atomic;
}

/* Records an access to some of four bytes. Returns the conflicting access, or 0. */
static uint32_t record_access(const nl_sim_overlap *o, granule *g, uint32_t bytes, int writes) {
    uint32_t other = 0;
    if (conflicts_with_access(o, g->writer, bytes))
        other = g->writer;
    else if (writes && conflicts_with_access(o, g->reader, bytes))
        other = g->reader;
    if (writes)
        g->writer = merge_touch(o, g->writer, bytes);
    else if (is_access_before(o, g->reader))
        g->reader = merge_touch(o, g->reader, bytes);
    return other;
}

static void describe_conflict(uint32_t other, int is_writer, uintptr_t address,
                              nl_sim_overlap_clash *clash) {
    const note *n = &notes[(other >> ID_SHIFT) % NOTES];
    snprintf(clash->who, sizeof clash->who, "%s", n->who);
    clash->verb = is_writer ? "writes" : "reads";
    clash->number = n->id;
    clash->address = address;
}

int nl_sim_overlap_record_access(const nl_sim_overlap *o, uintptr_t address, size_t size,
                                 int writes, int atomic, nl_sim_overlap_clash *clash) {
    int found = 0;
    if (address - low >= span)
        return 0;
    nl_mutex_lock(&lock);
    for (uintptr_t at = address, end = address + size, next; at < end; at = next) {
        next = (at / 4 + 1) * 4 < end ? (at / 4 + 1) * 4 : end;
        granule *chunk = find_chunk(at);
        if (!chunk) {
            next = (at - low) / CHUNK * CHUNK + low + CHUNK;
            continue;
        }
        granule *g = &chunk[(at - low) % CHUNK / 4];
        uint32_t bytes = ((1u << (next - at)) - 1) << at % 4 | (atomic ? ATOMIC : 0);
        uint32_t writer = g->writer, other = record_access(o, g, bytes, writes);
        if (other && !found)
            describe_conflict(other, other == writer, at, clash);
        found |= other != 0;
    }
    nl_mutex_unlock(&lock);
    return found;
}

const char *nl_sim_overlap_stream_name(const nl_sim_overlap *o) {
    return o->where;
}
