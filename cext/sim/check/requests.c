/* sim/check/requests: each warp has a list of open requests and a hash table that finds a request
 * by its site, loop iteration and sequence number, and a trace of its lanes.
 *
 * counting.next[thread] is the lane's position in the trace of its warp: the lane has made exactly
 * the events before that position. The lane is `deviated` if it has made other events. Only a lane
 * at the end of the trace can add an event. The state of a lane at its position (its loops, and the
 * bits of its requests) is computed when it is needed: see move_to_trace_position. */
#include "sim/check/requests.h"

#include <string.h>
#include "base/mem.h"
#include "sim/check/arena.h"
#include "sim/check/reuse.h"
#include "sim/check/widen.h"
#include "sim/engine/job.h"
#include "sim/engine/shadow.h"

enum {
    LANES = NL_SIM_REQUEST_LANES,
    WARPS = NL_SIM_REQUESTS_WARPS,
    MAX_OPEN = NL_SIM_WIDEN_MAX, /* open requests of a warp */
    SLOTS = 2 * MAX_OPEN,
    MAX_LOOPS = 16, /* maximum nesting depth of loops whose iteration numbers are used */
    SECTOR = NL_SIM_TRAFFIC_SECTOR,
    MAX_TRACE = 4 * MAX_OPEN, /* events of a trace */
};

typedef nl_sim_request request;

/* The number of accesses of a lane at a site in its current loop iteration. */
typedef struct visit {
    uint64_t iteration;
    uint32_t number;
} visit;

/* The accesses of a warp at a site. */
typedef struct visits {
    uint32_t epoch;   /* of the warp, for which `of` is valid */
    uint32_t counted; /* index of the last counted request of the site, plus one */
    uint32_t counted_epoch;
    visit of[LANES];
} visits;

typedef struct loop {
    unsigned id;
    uint64_t count;
} loop;

typedef struct lane {
    /* a hash of the lane's current loops and their iteration counts, or 0 outside of loops */
    uint64_t iteration;
    uint32_t epoch;  /* in which `next` was set */
    uint32_t next;   /* index of the request that follows the request of the lane's last access */
    uint32_t waited; /* epoch in which the lane last let other lanes run first */
    unsigned depth;  /* entries of `loops` in use */
    /* number of events of the trace that are contained in the lane's state */
    unsigned caught_up;
} lane;

typedef struct warp {
    uint32_t epoch; /* number that increases when the warp's requests are closed; never 0 */
    unsigned open;
    unsigned capacity;
    request *requests;
    uint32_t *slots; /* hash table with SLOTS entries: index of a request plus one, or 0 if free */
    unsigned visits_capacity;
    visits *visits; /* indexed by site */
    /* The trace; its last entry has no pc. */
    unsigned events, trace_capacity;
    nl_sim_expected *trace;
    /* is_kept: the trace and its requests are those of the previous epoch, and no lane has deviated
     * from them in this epoch. is_mixed: a lane has deviated in this epoch. */
    int is_kept, is_mixed;
    /* the loops at the end of the trace */
    uint64_t iteration;
    unsigned depth;
    loop loops[MAX_LOOPS];
} warp;

struct nl_sim_requests {
    const nl_sim_object *image;
    uintptr_t shared_low, shared_high; /* the worker's shared memory */
    nl_sim_widen *widen;
    nl_sim_reuse *reuse;
    nl_sim_traffic *traffic; /* of the launch */
    uint64_t loaded, stored;
    int starved;
    unsigned count, capacity;
    nl_sim_request_site *sites;
    unsigned table_size; /* a power of two */
    uint32_t *table;     /* hash table of sites: index of a site plus one, or 0 if free */
    warp warps[WARPS];
    lane lanes[WARPS * LANES];
    loop loops[WARPS * LANES][MAX_LOOPS]; /* the loops that each lane is in */
    nl_sim_counting counting;
};

static const nl_sim_expected deviated;

nl_sim_requests *nl_sim_requests_create(const nl_sim_worker *worker, nl_sim_traffic *traffic) {
    nl_sim_requests *r = nl_mem_zalloc(sizeof *r, NULL);
    if (!r)
        return NULL;
    r->image = worker->job->image;
    nl_sim_arena_address_range(worker, &r->shared_low, &r->shared_high);
    r->traffic = traffic;
    r->widen = nl_sim_widen_create();
    r->reuse = nl_sim_reuse_create();
    if (!r->widen || !r->reuse) {
        nl_sim_requests_destroy(r);
        return NULL;
    }
    for (unsigned i = 0; i < WARPS; i++)
        r->warps[i].epoch = 1;
    for (unsigned i = 0; i < WARPS * LANES; i++)
        r->counting.next[i] = &deviated;
    return r;
}

void nl_sim_requests_destroy(nl_sim_requests *r) {
    if (!r)
        return;
    for (unsigned i = 0; i < WARPS; i++) {
        nl_mem_free(r->warps[i].requests);
        nl_mem_free(r->warps[i].slots);
        nl_mem_free(r->warps[i].visits);
        nl_mem_free(r->warps[i].trace);
    }
    nl_sim_widen_destroy(r->widen);
    nl_sim_reuse_destroy(r->reuse);
    nl_mem_free(r->sites);
    nl_mem_free(r->table);
    nl_mem_free(r);
}

const nl_sim_request_site *nl_sim_requests_get_sites(const nl_sim_requests *r, unsigned *count) {
    *count = r->count;
    return r->sites;
}

const uint64_t *nl_sim_requests_reuse_histogram(const nl_sim_requests *r) {
    return nl_sim_reuse_get_histogram(r->reuse);
}

nl_sim_counting *nl_sim_requests_get_counting(nl_sim_requests *r) {
    return &r->counting;
}

uint64_t nl_sim_requests_loaded_sectors(const nl_sim_requests *r) {
    return r->loaded;
}

uint64_t nl_sim_requests_stored_sectors(const nl_sim_requests *r) {
    return r->stored;
}

int nl_sim_requests_lack_memory(const nl_sim_requests *r) {
    return r->starved;
}

static uint64_t mix_hash(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Counting */

/* Returns the bit mask of the sectors `first` to `last` of a cache line. */
static unsigned sectors_of_line(unsigned first, unsigned last) {
    return (2u << last) - (1u << first);
}

static void count_consecutive_load(nl_sim_requests *r, uintptr_t address, size_t bytes) {
    uintptr_t end = address + bytes - 1;
    for (uintptr_t line = address / NL_SIM_REUSE_LINE; line <= end / NL_SIM_REUSE_LINE; line++) {
        uintptr_t first = line * NL_SIM_REUSE_LINE, last = first + NL_SIM_REUSE_LINE - 1;
        first = first > address ? first : address;
        last = last < end ? last : end;
        nl_sim_reuse_record_load(
            r->reuse, line,
            sectors_of_line(first % NL_SIM_REUSE_LINE / SECTOR, last % NL_SIM_REUSE_LINE / SECTOR));
    }
}

/* The sectors of a lane's access in the cache line of its first byte, as bits. */
static unsigned sectors_of_lane(uintptr_t address, unsigned size) {
    unsigned first = address % NL_SIM_REUSE_LINE / SECTOR;
    unsigned last = (unsigned)(address + size - 1) / SECTOR % 4;
    return sectors_of_line(first, last < first ? 3 : last);
}

/* Does each lane access a later cache line than the lane before? */
static int has_increasing_lines(const request *q) {
    uintptr_t line = 0;
    for (uint32_t rest = q->mask; rest; rest &= rest - 1) {
        uintptr_t next = q->address[__builtin_ctz(rest)] / NL_SIM_REUSE_LINE;
        if (next <= line)
            return 0;
        line = next;
    }
    return 1;
}

/* Counts the loads of the sectors of a request, one cache line after another. */
static void count_sector_loads(nl_sim_requests *r, const request *q, unsigned size) {
    if (q->is_consecutive) {
        count_consecutive_load(r, q->address[0], (size_t)LANES * size);
        return;
    }
    if (has_increasing_lines(q)) {
        for (uint32_t rest = q->mask; rest; rest &= rest - 1) {
            uintptr_t at = q->address[__builtin_ctz(rest)];
            nl_sim_reuse_record_load(r->reuse, at / NL_SIM_REUSE_LINE, sectors_of_lane(at, size));
        }
        return;
    }
    uint32_t rest = q->mask;
    while (rest) {
        uintptr_t line = q->address[__builtin_ctz(rest)] / NL_SIM_REUSE_LINE;
        unsigned sectors = 0;
        for (uint32_t mask = rest; mask; mask &= mask - 1) {
            int i = __builtin_ctz(mask);
            if (q->address[i] / NL_SIM_REUSE_LINE != line)
                continue;
            rest &= ~(1u << i);
            sectors |= sectors_of_lane(q->address[i], size);
        }
        nl_sim_reuse_record_load(r->reuse, line, sectors);
    }
}

static void count_nth_load(nl_sim_requests *r, const warp *w, unsigned n) {
    const request *q = &w->requests[n];
    const nl_sim_request_site *s = &r->sites[q->site];
    if (s->space == NL_SIM_REQUEST_GLOBAL && s->kind == NL_SIM_REQUEST_LOAD)
        count_sector_loads(r, q, s->size);
}

/* Returns whether a load reads the same address as the site's previous load, so that a compiler may
 * move the load out of the loop. */
static int repeats_previous_load(const warp *w, const request *q) {
    const visits *v = &w->visits[q->site];
    const request *before = v->counted_epoch == w->epoch ? &w->requests[v->counted - 1] : NULL;
    if (!before || before->mask != q->mask)
        return 0;
    if (q->is_consecutive && before->is_consecutive)
        return before->address[0] == q->address[0];
    for (uint32_t mask = q->mask; mask; mask &= mask - 1) {
        int i = __builtin_ctz(mask);
        if (before->address[i] != q->address[i])
            return 0;
    }
    return 1;
}

static void count_repeated_load(nl_sim_request_site *s, const request *q) {
    uint64_t own[NL_PROFILE_COUNT] = {0}, *c = s->counters;
    nl_sim_request_add_counters(q->address, q->mask, s->size, s->space, s->kind, own);
    c[NL_PROFILE_global_repeated_requests] += own[NL_PROFILE_global_load_requests];
    c[NL_PROFILE_global_repeated_sectors] += own[NL_PROFILE_global_load_sectors];
    c[NL_PROFILE_global_repeated_lines] += own[NL_PROFILE_global_load_lines];
    c[NL_PROFILE_shared_repeated_requests] += own[NL_PROFILE_shared_load_requests];
    c[NL_PROFILE_shared_repeated_wavefronts] += own[NL_PROFILE_shared_load_wavefronts];
}

/* Counts the sectors that the launch transfers for the first time. */
static void count_new_sectors(nl_sim_requests *r, const request *q, const nl_sim_request_site *s) {
    int loads = s->kind != NL_SIM_REQUEST_STORE, stores = s->kind != NL_SIM_REQUEST_LOAD;
    uintptr_t size = s->size;
    uint32_t rest = q->mask;
    if (q->is_consecutive) {
        size *= LANES;
        rest = 1;
    }
    for (; rest; rest &= rest - 1) {
        uintptr_t first = q->address[__builtin_ctz(rest)], last = first + size - 1;
        if (loads)
            r->loaded += nl_sim_traffic_record_load(r->traffic, first, last);
        if (stores)
            r->stored += nl_sim_traffic_record_store(r->traffic, first, last);
    }
}

static void store_sample(nl_sim_request_site *s, const request *q) {
    if (s->sample.mask == UINT32_MAX ||
        nl_sim_request_count_bits(q->mask) <= nl_sim_request_count_bits(s->sample.mask))
        return;
    s->sample.size = s->size;
    s->sample.mask = q->mask;
    for (unsigned i = 0; i < LANES; i++)
        s->sample.address[i] = q->mask >> i & 1 ? q->address[i] : 0;
}

static uint64_t hash_request(uint64_t iteration, uint32_t site, uint32_t number) {
    return mix_hash(mix_hash(iteration, site), number) >> 20;
}

/* Removes the newest requests: `left` requests stay open. Most warps have few open requests; then
 * not all slots are written. */
static void remove_requests(warp *w, unsigned left) {
    if (left == 0 && w->open > SLOTS / 16) {
        memset(w->slots, 0, SLOTS * sizeof *w->slots);
        w->open = 0;
    }
    while (w->open > left) {
        const request *q = &w->requests[w->open - 1];
        uint64_t at = hash_request(q->iteration, q->site, q->number);
        while (w->slots[at % SLOTS] != w->open)
            at++;
        w->slots[at % SLOTS] = 0;
        w->open--;
    }
}

/* Traces */

/* Is this entry a request, not an event of a loop? */
static int is_request(const nl_sim_expected *e) {
    return e->pc != NL_SIM_EXPECTED_REPEAT && e->pc != NL_SIM_EXPECTED_LEAVE;
}

static void update_loop_hash(lane *l, const loop *loops) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < l->depth; i++)
        hash = mix_hash(mix_hash(hash, loops[i].id + 1), loops[i].count);
    l->iteration = hash;
}

/* Returns the index of the lane's innermost loop with this id, or the lane's depth if the lane is
 * in no loop with this id. */
static unsigned find_loop(const lane *l, const loop *loops, unsigned loop_id) {
    unsigned i = l->depth;
    while (i > 0 && loops[i - 1].id != loop_id)
        i--;
    return i ? i - 1 : l->depth;
}

static void count_iteration(lane *l, loop *loops, unsigned loop_id) {
    unsigned at = find_loop(l, loops, loop_id);
    if (at == MAX_LOOPS)
        return;
    if (at == l->depth)
        loops[at] = (loop){.id = loop_id};
    loops[at].count++;
    l->depth = at + 1;
    update_loop_hash(l, loops);
}

static void end_loop(lane *l, loop *loops, unsigned loop_id) {
    unsigned at = find_loop(l, loops, loop_id);
    if (at == l->depth)
        return;
    l->depth = at;
    update_loop_hash(l, loops);
}

/* Returns the accesses of the warp at a site in this epoch. */
static inline visits *get_visits(warp *w, uint32_t site) {
    visits *v = &w->visits[site];
    if (v->epoch != w->epoch) {
        memset(v->of, 0, sizeof v->of);
        v->epoch = w->epoch;
    }
    return v;
}

/* Notes that the lane has made an access of this request. */
static inline void add_access(warp *w, lane *l, uint32_t index, unsigned bit) {
    request *q = &w->requests[index];
    q->mask |= 1u << bit;
    get_visits(w, q->site)->of[bit] = (visit){.iteration = q->iteration, .number = q->number + 1};
    l->epoch = w->epoch;
    l->next = index + 1;
}

/* Shortens a kept trace, whose lanes began in no loop, to the events that a lane has made in this
 * epoch. */
static void shorten_trace(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    lane l = {.depth = 0};
    unsigned events = 0, requests = 0;
    for (unsigned i = index * LANES; i < (index + 1) * LANES; i++) {
        unsigned made = (unsigned)(r->counting.next[i] - w->trace);
        events = made > events ? made : events;
    }
    for (unsigned i = 0; i < events; i++) {
        const nl_sim_expected *e = &w->trace[i];
        if (is_request(e))
            requests = e->request + 1 > requests ? e->request + 1 : requests;
        else if (e->pc == NL_SIM_EXPECTED_REPEAT)
            count_iteration(&l, w->loops, e->key);
        else
            end_loop(&l, w->loops, e->key);
    }
    remove_requests(w, requests);
    w->events = events;
    w->trace[events] = (nl_sim_expected){.pc = NULL};
    w->iteration = l.iteration;
    w->depth = l.depth;
    w->is_kept = 0;
}

/* Gives the lane the state that it has at its position in the trace. */
static void move_to_trace_position(nl_sim_requests *r, unsigned thread) {
    warp *w = &r->warps[thread / LANES];
    lane *l = &r->lanes[thread];
    const nl_sim_expected *next = r->counting.next[thread];
    if (w->is_kept)
        shorten_trace(r, thread / LANES);
    if (next == &deviated)
        return;
    const nl_sim_expected *e = w->trace + l->caught_up;
    for (; e < next; e++) {
        if (is_request(e))
            add_access(w, l, e->request, thread % LANES);
        else if (e->pc == NL_SIM_EXPECTED_REPEAT)
            count_iteration(l, r->loops[thread], e->key);
        else
            end_loop(l, r->loops[thread], e->key);
    }
    l->caught_up = (unsigned)(next - w->trace);
}

/* Ensures capacity for another event. Returns -1 at the limit MAX_TRACE, or if memory runs out. */
static int grow_trace(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    unsigned capacity = w->trace_capacity ? 2 * w->trace_capacity : 64;
    if (w->events + 1 < w->trace_capacity)
        return 0;
    nl_sim_expected *before = w->trace, *made = NULL;
    if (capacity <= MAX_TRACE)
        made = nl_mem_resize(before, capacity * sizeof *made, NULL);
    if (!made)
        return -1;
    for (unsigned i = index * LANES; i < (index + 1) * LANES; i++) {
        const nl_sim_expected **next = &r->counting.next[i];
        if (*next != &deviated)
            *next = made + (*next - before);
    }
    w->trace = made;
    w->trace_capacity = capacity;
    return 0;
}

/* Adds an event of this lane, whose state contains the event, to the trace if the lane is at its
 * end. Otherwise the lane deviates. */
static void add_event(nl_sim_requests *r, unsigned thread, int is_at_end, nl_sim_expected event) {
    warp *w = &r->warps[thread / LANES];
    lane *l = &r->lanes[thread];
    if (!is_at_end || grow_trace(r, thread / LANES) < 0) {
        w->is_mixed = 1;
        r->counting.next[thread] = &deviated;
        return;
    }
    w->trace[w->events++] = event;
    w->trace[w->events] = (nl_sim_expected){.pc = NULL};
    r->counting.next[thread] = &w->trace[w->events];
    l->caught_up = w->events;
    if (is_request(&event))
        return;
    w->iteration = l->iteration;
    w->depth = l->depth;
    memcpy(w->loops, r->loops[thread], l->depth * sizeof *w->loops);
}

static int is_at_trace_end(const nl_sim_requests *r, unsigned thread) {
    const warp *w = &r->warps[thread / LANES];
    const nl_sim_expected *next = r->counting.next[thread];
    return next != &deviated && next == &w->trace[w->events];
}

/* Sets the bits of these lanes, which have made all events of the trace. */
static void include_lanes_in_events(nl_sim_requests *r, unsigned index, uint32_t lanes) {
    warp *w = &r->warps[index];
    for (unsigned i = 0; lanes && i < w->events; i++) {
        if (is_request(&w->trace[i]))
            w->requests[w->trace[i].request].mask |= lanes;
    }
    for (; lanes; lanes &= lanes - 1) {
        unsigned thread = index * LANES + (unsigned)__builtin_ctz(lanes);
        r->lanes[thread].iteration = w->iteration;
        r->lanes[thread].depth = w->depth;
        memcpy(r->loops[thread], w->loops, w->depth * sizeof *w->loops);
    }
}

/* Begins an empty trace with the lanes that are in the same iteration as the lane. Returns their
 * number. */
static unsigned begin_trace(nl_sim_requests *r, unsigned index, unsigned first) {
    warp *w = &r->warps[index];
    const lane *l = &r->lanes[first];
    unsigned count = 0;
    w->iteration = l->iteration;
    w->depth = l->depth;
    memcpy(w->loops, r->loops[first], l->depth * sizeof *w->loops);
    for (unsigned i = index * LANES; i < (index + 1) * LANES; i++) {
        int is_equal = r->lanes[i].iteration == l->iteration && r->lanes[i].depth == l->depth;
        r->lanes[i].caught_up = 0;
        r->counting.next[i] = is_equal && w->trace ? w->trace : &deviated;
        count += is_equal;
    }
    return count;
}

static int are_lanes_at_trace_end(const nl_sim_requests *r, unsigned index) {
    const warp *w = &r->warps[index];
    uintptr_t end = (uintptr_t)&w->trace[w->events], differences = 0;
    for (unsigned i = index * LANES; i < (index + 1) * LANES; i++)
        differences |= (uintptr_t)r->counting.next[i] ^ end;
    return differences == 0;
}

static void find_consecutive_requests(nl_sim_requests *r, warp *w) {
    for (unsigned i = 0; i < w->open; i++) {
        request *q = &w->requests[i];
        const nl_sim_request_site *s = &r->sites[q->site];
        q->is_consecutive = s->space != NL_SIM_REQUEST_LOOP &&
                            nl_sim_request_is_consecutive(q->address, q->mask, s->size);
    }
}

/* Ends the trace of a warp: afterwards, the open requests are complete. */
static void end_trace(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    uint32_t lanes = 0;
    if (w->is_kept && are_lanes_at_trace_end(r, index)) {
        for (unsigned i = 0; i < w->open; i++)
            w->requests[i].mask = UINT32_MAX;
        find_consecutive_requests(r, w);
        return;
    }
    for (unsigned bit = 0; bit < LANES; bit++) {
        unsigned thread = index * LANES + bit;
        if (r->lanes[thread].caught_up == 0 && is_at_trace_end(r, thread))
            lanes |= 1u << bit;
        else
            move_to_trace_position(r, thread);
    }
    include_lanes_in_events(r, index, lanes);
    find_consecutive_requests(r, w);
}

/* Begins the next epoch of a warp whose requests were counted. If no lane has deviated, the trace
 * is kept, because the next block will probably make the same requests. */
static void begin_epoch(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    w->epoch++;
    if (w->is_kept) {
        for (unsigned i = index * LANES; i < (index + 1) * LANES; i++)
            r->counting.next[i] = w->trace;
    } else {
        unsigned first = index * LANES, joined = begin_trace(r, index, first);
        w->is_kept = w->events && !w->is_mixed && joined == LANES && w->depth == 0;
        /* the first lane differs from most others if it has left a loop, for example */
        if (joined < LANES / 2)
            joined = begin_trace(r, index, first + LANES - 1);
        w->is_mixed = joined < LANES;
    }
    if (w->is_kept) {
        for (unsigned i = 0; i < w->open; i++)
            w->requests[i].mask = 0;
        return;
    }
    if (w->open)
        remove_requests(w, 0);
    w->events = 0;
    if (w->trace)
        w->trace[0] = (nl_sim_expected){.pc = NULL};
}

static void count_and_end_epoch(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    for (unsigned i = 0; i < w->open; i++) {
        const request *q = &w->requests[i];
        nl_sim_request_site *s = &r->sites[q->site];
        if (q->is_consecutive && s->space == NL_SIM_REQUEST_GLOBAL &&
            s->kind != NL_SIM_REQUEST_ATOMIC)
            nl_sim_request_add_consecutive(q->address[0], s->size, s->kind == NL_SIM_REQUEST_STORE,
                                           s->counters);
        else
            nl_sim_request_add_counters(q->address, q->mask, s->size, s->space, s->kind,
                                        s->counters);
        if (s->kind == NL_SIM_REQUEST_LOAD && s->space != NL_SIM_REQUEST_LOOP &&
            repeats_previous_load(w, q))
            count_repeated_load(s, q);
        if (s->space == NL_SIM_REQUEST_GLOBAL)
            count_new_sectors(r, q, s);
        w->visits[q->site].counted = i + 1;
        w->visits[q->site].counted_epoch = w->epoch;
        store_sample(s, q);
    }
    if (w->open)
        nl_sim_widen_count(r->widen, w->requests, w->open, r->sites);
    begin_epoch(r, index);
}

void nl_sim_requests_close(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    end_trace(r, index);
    for (unsigned i = 0; i < w->open; i++)
        count_nth_load(r, w, i);
    count_and_end_epoch(r, index);
}

void nl_sim_requests_close_all(nl_sim_requests *r, unsigned warps) {
    unsigned most = 0;
    for (unsigned i = 0; i < warps; i++)
        end_trace(r, i);
    for (unsigned i = 0; i < warps; i++)
        most = r->warps[i].open > most ? r->warps[i].open : most;
    for (unsigned n = 0; n < most; n++) {
        for (unsigned i = 0; i < warps; i++) {
            if (n < r->warps[i].open)
                count_nth_load(r, &r->warps[i], n);
        }
    }
    for (unsigned i = 0; i < warps; i++)
        count_and_end_epoch(r, i);
}

static void begin_warp(nl_sim_requests *r, unsigned index) {
    warp *w = &r->warps[index];
    for (unsigned i = index * LANES; i < (index + 1) * LANES; i++) {
        r->lanes[i].depth = 0;
        r->lanes[i].iteration = 0;
        r->lanes[i].waited = 0;
        r->lanes[i].epoch = 0;
    }
    w->events = 0;
    w->is_mixed = 0;
    if (grow_trace(r, index) < 0)
        return;
    w->trace[0] = (nl_sim_expected){.pc = NULL};
    (void)begin_trace(r, index, index * LANES);
}

void nl_sim_requests_begin_block(nl_sim_requests *r, unsigned warps) {
    nl_sim_reuse_begin_block(r->reuse);
    for (unsigned i = 0; i < warps; i++) {
        if (!r->warps[i].is_kept)
            begin_warp(r, i);
    }
}

/* Sites and requests */

static uint64_t hash_site(const void *pc, uint32_t traits) {
    return mix_hash((uintptr_t)pc, traits) >> 20;
}

static void insert_site(nl_sim_requests *r, uint32_t index) {
    const nl_sim_request_site *s = &r->sites[index];
    uint64_t at = hash_site(s->pc, nl_sim_request_traits(s->size, s->space, s->kind));
    while (r->table[at & (r->table_size - 1)])
        at++;
    r->table[at & (r->table_size - 1)] = index + 1;
}

static int grow_sites(nl_sim_requests *r) {
    unsigned capacity = r->capacity ? 2 * r->capacity : 64;
    nl_sim_request_site *sites = nl_mem_resize(r->sites, capacity * sizeof *sites, NULL);
    if (!sites)
        return -1;
    r->sites = sites;
    uint32_t *table = nl_mem_zalloc(4 * (size_t)capacity * sizeof *table, NULL);
    if (!table)
        return -1;
    nl_mem_free(r->table);
    r->table = table;
    r->table_size = 4 * capacity;
    r->capacity = capacity;
    for (unsigned i = 0; i < r->count; i++)
        insert_site(r, i);
    return 0;
}

/* Returns the index of the first site with this source line, or r->count if there is none. */
static uint32_t find_source_line(const nl_sim_requests *r, nl_sim_site line) {
    uint32_t i = 0;
    while (i < r->count && !nl_sim_same_site(r->sites[i].place, line))
        i++;
    return i;
}

/* Returns the index of a site, and adds the site if it is new. Returns -1 if memory runs out. */
static int64_t find_site(nl_sim_requests *r, const void *pc, unsigned size,
                         nl_sim_request_space space, nl_sim_request_kind kind) {
    uint64_t at = hash_site(pc, nl_sim_request_traits(size, space, kind));
    for (; r->table_size; at++) {
        uint32_t found = r->table[at & (r->table_size - 1)];
        if (!found)
            break;
        const nl_sim_request_site *s = &r->sites[found - 1];
        if (s->pc == pc && s->size == size && s->space == space && s->kind == kind)
            return found - 1;
    }
    if (r->count == r->capacity && grow_sites(r) < 0)
        return -1;
    nl_sim_request_site *made = &r->sites[r->count];
    *made = (nl_sim_request_site){.pc = pc, .size = size, .space = space, .kind = kind};
    (void)nl_sim_lines_find(r->image, pc, &made->place);
    made->line = find_source_line(r, made->place);
    insert_site(r, r->count);
    return r->count++;
}

/* Returns the counters of a warp's accesses at a site, or NULL if memory runs out. */
static visits *find_visits(nl_sim_requests *r, warp *w, uint32_t site) {
    if (site >= w->visits_capacity) {
        visits *all = nl_mem_resize(w->visits, r->capacity * sizeof *all, NULL);
        if (!all)
            return NULL;
        memset(all + w->visits_capacity, 0, (r->capacity - w->visits_capacity) * sizeof *all);
        w->visits = all;
        w->visits_capacity = r->capacity;
    }
    return get_visits(w, site);
}

static int reserve_requests(warp *w) {
    if (!w->slots && !(w->slots = nl_mem_zalloc(SLOTS * sizeof *w->slots, NULL)))
        return -1;
    if (w->open < w->capacity)
        return 0;
    unsigned capacity = w->capacity ? 2 * w->capacity : 64;
    request *all = nl_mem_resize(w->requests, capacity * sizeof *all, NULL);
    if (!all)
        return -1;
    w->requests = all;
    w->capacity = capacity;
    for (unsigned i = 0; i < w->events; i++) {
        if (is_request(&w->trace[i]))
            w->trace[i].address = (unsigned long long *)all[w->trace[i].request].address;
    }
    return 0;
}

/* Returns the number of accesses that the lane has made at the site in its current loop
 * iteration. */
static inline uint32_t count_visits(const visits *v, const lane *l, unsigned bit) {
    return v->of[bit].iteration == l->iteration ? v->of[bit].number : 0;
}

/* Sets the range of addresses around `address` that are in the same address space: of global
 * memory, the part before or after the worker's shared memory. */
static void set_space_range(const nl_sim_requests *r, nl_sim_expected *e, uintptr_t address,
                            nl_sim_request_space space) {
    uintptr_t low = nl_sim_shadow.low, high = low + nl_sim_shadow.span;
    if (space == NL_SIM_REQUEST_SHARED) {
        low = r->shared_low;
        high = r->shared_high;
    } else if (space != NL_SIM_REQUEST_GLOBAL || address - low >= high - low) {
        return;
    } else if (address < r->shared_low) {
        high = high < r->shared_low ? high : r->shared_low;
    } else {
        low = low > r->shared_high ? low : r->shared_high;
    }
    e->low = low;
    e->span = high - low;
}

static __attribute__((noinline)) int add(nl_sim_requests *r, unsigned thread, const void *pc,
                                         uintptr_t address, unsigned size,
                                         nl_sim_request_space space, nl_sim_request_kind kind) {
    unsigned index = thread / LANES, bit = thread % LANES;
    warp *w = &r->warps[index];
    lane *l = &r->lanes[thread];
    move_to_trace_position(r, thread);
    int extends = is_at_trace_end(r, thread);
    int64_t site = find_site(r, pc, size, space, kind);
    visits *v = site < 0 ? NULL : find_visits(r, w, (uint32_t)site);
    if (!v || reserve_requests(w) < 0) {
        r->starved = 1;
        return 0;
    }
    uint32_t number = count_visits(v, l, bit);
    uint64_t at = hash_request(l->iteration, (uint32_t)site, number);
    uint32_t found;
    for (; (found = w->slots[at % SLOTS]) != 0; at++) {
        request *q = &w->requests[found - 1];
        if (q->site == site && q->number == number && q->iteration == l->iteration)
            break;
    }
    if (!found && w->open == MAX_OPEN) {
        if (l->waited != w->epoch) {
            l->waited = w->epoch;
            return 1;
        }
        nl_sim_requests_close(r, index);
        return add(r, thread, pc, address, size, space, kind);
    }
    if (!found) {
        request *q = &w->requests[w->open++];
        q->iteration = l->iteration;
        q->pc = pc;
        q->traits = nl_sim_request_traits(size, space, kind);
        q->site = (uint32_t)site;
        q->number = number;
        q->mask = 0;
        w->slots[at % SLOTS] = found = w->open;
    }
    request *q = &w->requests[found - 1];
    q->address[bit] = address;
    add_access(w, l, found - 1, bit);
    nl_sim_expected event = {.pc = pc,
                             .key = q->traits,
                             .request = found - 1,
                             .address = (unsigned long long *)q->address};
    if (kind != NL_SIM_REQUEST_ATOMIC)
        set_space_range(r, &event, address, space);
    add_event(r, thread, extends, event);
    return 0;
}

/* Tries the trace, or for a lane that has deviated the request after that of its last access. */
int nl_sim_requests_add(nl_sim_requests *r, unsigned thread, const void *pc, uintptr_t address,
                        unsigned size, nl_sim_request_space space, nl_sim_request_kind kind) {
    warp *w = &r->warps[thread / LANES];
    lane *l = &r->lanes[thread];
    const nl_sim_expected *e = r->counting.next[thread];
    if (e->pc == pc && e->key == nl_sim_request_traits(size, space, kind)) {
        w->requests[e->request].address[thread % LANES] = address;
        r->counting.next[thread] = e + 1;
        return 0;
    }
    uint32_t next = l->epoch == w->epoch ? l->next : 0;
    if (e == &deviated && next < w->open) {
        request *q = &w->requests[next];
        if (q->pc == pc && q->traits == nl_sim_request_traits(size, space, kind) &&
            q->iteration == l->iteration &&
            q->number == count_visits(&w->visits[q->site], l, thread % LANES)) {
            q->address[thread % LANES] = address;
            add_access(w, l, next, thread % LANES);
            return 0;
        }
    }
    return add(r, thread, pc, address, size, space, kind);
}

/* Loops */

static int is_expected_event(const nl_sim_requests *r, unsigned thread, const void *pc,
                             unsigned loop_id) {
    const nl_sim_expected *e = r->counting.next[thread];
    return e->pc == pc && e->key == loop_id;
}

void nl_sim_requests_repeat_loop(nl_sim_requests *r, unsigned thread, unsigned loop_id) {
    if (is_expected_event(r, thread, NL_SIM_EXPECTED_REPEAT, loop_id)) {
        r->counting.next[thread]++;
        return;
    }
    move_to_trace_position(r, thread);
    count_iteration(&r->lanes[thread], r->loops[thread], loop_id);
    add_event(r, thread, is_at_trace_end(r, thread),
              (nl_sim_expected){.pc = NL_SIM_EXPECTED_REPEAT, .key = loop_id});
}

void nl_sim_requests_leave_loop(nl_sim_requests *r, unsigned thread, unsigned loop_id) {
    if (is_expected_event(r, thread, NL_SIM_EXPECTED_LEAVE, loop_id)) {
        r->counting.next[thread]++;
        return;
    }
    move_to_trace_position(r, thread);
    end_loop(&r->lanes[thread], r->loops[thread], loop_id);
    add_event(r, thread, is_at_trace_end(r, thread),
              (nl_sim_expected){.pc = NL_SIM_EXPECTED_LEAVE, .key = loop_id});
}
