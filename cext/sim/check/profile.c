/* sim/check/profile: counts accesses; each worker has its own counters, which are added to those of
 * the launch when the worker has finished. */
#include "sim/check/profile.h"

#include <stdio.h>
#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "sim/check/arena.h"
#include "sim/check/launch.h"
#include "sim/check/requests.h"
#include "sim/check/traffic.h"
#include "sim/debuginfo/lines.h"
#include "sim/engine/fault.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/shadow.h"

enum { MAX_BARRIERS = 64, MAX_ACCESS = 16, PIECES = 4096 };

typedef struct barrier_line {
    nl_sim_site site;
    uint64_t waits;
} barrier_line;

/* The counters of one worker. */
struct nl_sim_profile_part {
    nl_sim_requests *requests;
    unsigned barrier_count;
    barrier_line barriers[MAX_BARRIERS];
    nl_sim_counting *counting;         /* of `requests` */
    uintptr_t shared_low, shared_high; /* the worker's shared memory */
    /* for each thread in a compare-and-swap loop, the address whose load was counted, but whose
     * compare-and-swap was not yet counted; 0 if there is no such address */
    uintptr_t updating[NL_SIM_MAX_THREADS];
    unsigned updates; /* number of nonzero entries of `updating` */
};

/* One launch. */
struct nl_sim_profile {
    nl_mutex lock;
    int incomplete;
    uint64_t loaded, stored;
    uint64_t reuse[NL_PROFILE_REUSE];
    nl_sim_traffic *traffic;
    unsigned count, capacity;
    nl_profile_line *lines;
};

_Thread_local nl_sim_counting *nl_sim_profile_counting;

long nl_sim_profile_counting_offset(void) {
#if defined(__x86_64__) && defined(NL_SIM_INITIAL_EXEC)
    char *pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return (char *)&nl_sim_profile_counting - pointer;
#else
    return 0; /* the offset depends on the OS thread */
#endif
}

/* While a compare-and-swap loop has counted its load but not the compare-and-swap, images count no
 * accesses. */
static void set_image_counting(struct nl_sim_profile_part *part) {
    nl_sim_profile_counting = part->updates ? NULL : part->counting;
}

/* Sessions */

typedef struct session {
    uint64_t token;
    nl_profile *first, **last;
    struct session *next;
} session;

static nl_mutex lock = NL_MUTEX_INIT;
static session *sessions;
static uint64_t last_token;

static session *find_session_lock_held(uint64_t token) {
    session *s = sessions;
    while (s && s->token != token)
        s = s->next;
    return s;
}

uint64_t nl_sim_profile_open(void) {
    session *s = nl_mem_zalloc(sizeof *s, NULL);
    if (!s)
        return 0;
    nl_mutex_lock(&lock);
    uint64_t token = s->token = ++last_token;
    s->last = &s->first;
    s->next = sessions;
    sessions = s;
    nl_mutex_unlock(&lock);
    return token;
}

nl_profile *nl_sim_profile_take(uint64_t token) {
    nl_mutex_lock(&lock);
    session *s = find_session_lock_held(token);
    nl_profile *p = s ? s->first : NULL;
    if (p) {
        s->first = p->next;
        if (!s->first)
            s->last = &s->first;
    }
    nl_mutex_unlock(&lock);
    return p;
}

void nl_sim_profile_close(uint64_t token) {
    nl_profile *p;
    while ((p = nl_sim_profile_take(token)))
        nl_mem_free(p);
    nl_mutex_lock(&lock);
    session **at = &sessions;
    while (*at && (*at)->token != token)
        at = &(*at)->next;
    session *s = *at;
    if (s)
        *at = s->next;
    nl_mutex_unlock(&lock);
    nl_mem_free(s);
}

/* Launches */

static void destroy_profile(struct nl_sim_profile *p) {
    nl_sim_traffic_destroy(p->traffic);
    nl_mutex_destroy(&p->lock);
    nl_mem_free(p->lines);
    nl_mem_free(p);
}

int nl_sim_profile_begin(nl_sim_job *job) {
    struct nl_sim_profile *p = nl_mem_zalloc(sizeof *p, NULL);
    if (!p)
        return -1;
    nl_mutex_init(&p->lock);
    p->traffic = nl_sim_traffic_create();
    if (!p->traffic) {
        destroy_profile(p);
        return -1;
    }
    job->check->profile = p;
    nl_sim_shadow_set_every_access(1);
    return 0;
}

/* Computes a checksum of the image, which equals that of numbalite/compilers/image.py. */
static uint64_t image_checksum(const nl_sim_object *image) {
    const char *bytes = image->bytes;
    uint64_t total = 0, totals = 0;
    for (size_t at = 0; at <= image->size; at += sizeof total) {
        uint64_t word = 0;
        size_t rest = image->size - at;
        memcpy(&word, bytes + at, rest < sizeof word ? rest : sizeof word);
        total += word;
        totals += total;
    }
    return total ^ (totals << 32 | totals >> 32);
}

static void fill_profile(nl_profile *out, const nl_sim_job *job, const struct nl_sim_profile *p) {
    const nl_sim_dim *g = &job->launch.grid, *b = &job->launch.block;
    snprintf(out->kernel, sizeof out->kernel, "%s", nl_sim_fault_kernel_name(job->kernel));
    snprintf(out->symbol, sizeof out->symbol, "%s", job->kernel->name);
    out->image = image_checksum(job->image);
    unsigned sizes[] = {g->x, g->y, g->z, b->x, b->y, b->z};
    memcpy(out->grid, sizes, sizeof out->grid);
    memcpy(out->block, sizes + 3, sizeof out->block);
    out->shared_bytes = job->launch.shared_bytes;
    out->loaded_sectors = p->loaded;
    out->stored_sectors = p->stored;
    memcpy(out->reuse, p->reuse, sizeof out->reuse);
    out->incomplete = p->incomplete;
    out->count = p->count;
    if (p->count)
        memcpy(out->lines, p->lines, p->count * sizeof *p->lines);
}

void nl_sim_profile_end(nl_sim_job *job, CUresult status) {
    struct nl_sim_profile *p = job->check->profile;
    if (!p)
        return;
    nl_sim_shadow_set_every_access(-1);
    job->check->profile = NULL;
    p->incomplete |= status != CUDA_SUCCESS;
    uint64_t token = job->check->wanted.profile;
    nl_profile *out = nl_mem_zalloc(sizeof *out + p->count * sizeof *p->lines, NULL);
    if (out)
        fill_profile(out, job, p);
    destroy_profile(p);
    nl_mutex_lock(&lock);
    session *s = out ? find_session_lock_held(token) : NULL;
    if (s) {
        out->token = token;
        *s->last = out;
        s->last = &out->next;
    }
    nl_mutex_unlock(&lock);
    if (!s)
        nl_mem_free(out);
}

/* Workers */

void nl_sim_profile_begin_worker(nl_sim_worker *w) {
    struct nl_sim_profile_part *part = nl_mem_zalloc(sizeof *part, NULL);
    nl_sim_traffic *traffic = w->job->check->profile->traffic;
    if (part && !(part->requests = nl_sim_requests_create(w, traffic))) {
        nl_mem_free(part);
        part = NULL;
    }
    w->profile = part;
    if (!part) {
        w->job->check->profile->incomplete = 1;
        return;
    }
    nl_sim_arena_address_range(w, &part->shared_low, &part->shared_high);
    part->counting = nl_sim_requests_get_counting(part->requests);
    part->counting->current = &w->current;
    set_image_counting(part);
}

static nl_profile_line *find_line(struct nl_sim_profile *p, nl_sim_site site) {
    const char *file = site.file ? site.file : "";
    for (unsigned i = 0; i < p->count; i++) {
        nl_profile_line *line = &p->lines[i];
        if (line->line == site.line && strcmp(line->file, file) == 0)
            return line;
    }
    if (p->count == p->capacity) {
        unsigned capacity = p->capacity ? 2 * p->capacity : 32;
        nl_profile_line *lines = nl_mem_resize(p->lines, capacity * sizeof *lines, NULL);
        if (!lines)
            return NULL;
        p->lines = lines;
        p->capacity = capacity;
    }
    nl_profile_line *line = &p->lines[p->count++];
    *line = (nl_profile_line){.file = file, .line = site.line};
    return line;
}

/* Returns the index of a site's sample in its source line, or -1. */
static int sample_index(const nl_sim_request_site *site) {
    if (site->kind == NL_SIM_REQUEST_ATOMIC || !site->sample.mask)
        return -1;
    int is_store = site->kind == NL_SIM_REQUEST_STORE;
    if (site->space == NL_SIM_REQUEST_GLOBAL)
        return is_store;
    return site->space == NL_SIM_REQUEST_SHARED ? 2 + is_store : -1;
}

static uint64_t first_address(const nl_profile_sample *sample) {
    return sample->address[__builtin_ctz(sample->mask)];
}

/* Stores the sample with the most lanes; of samples with equally many lanes, it stores the one with
 * the lowest address, so that the result does not depend on the order of the workers. */
static void add_sample(nl_profile_line *line, const nl_sim_request_site *site) {
    int index = sample_index(site);
    if (index < 0)
        return;
    nl_profile_sample *kept = &line->samples[index];
    int more = __builtin_popcount(site->sample.mask) - __builtin_popcount(kept->mask);
    if (more > 0 || (more == 0 && first_address(&site->sample) < first_address(kept)))
        *kept = site->sample;
}

static void add_site(struct nl_sim_profile *p, const nl_sim_request_site *site) {
    nl_profile_line *line = find_line(p, site->place);
    p->incomplete |= line == NULL;
    for (unsigned i = 0; line && i < NL_PROFILE_COUNT; i++) {
        line->counters[i] += site->counters[i];
        for (unsigned k = 0; k < NL_PROFILE_WIDTHS; k++)
            line->widened[k][i] += site->counters[i] + site->widened[k][i];
    }
    if (line)
        add_sample(line, site);
}

static void add_waits(struct nl_sim_profile *p, const barrier_line *barrier) {
    nl_sim_request_site site = {.place = barrier->site};
    if (site.place.file) /* a copy, because the string is part of the image, which may be unloaded
                          * before the record is read */
        site.place.file = nl_sim_lines_keep_file_name(site.place.file);
    site.counters[NL_PROFILE_barrier_waits] = barrier->waits;
    add_site(p, &site);
}

void nl_sim_profile_end_worker(nl_sim_worker *w) {
    struct nl_sim_profile *p = w->job->check->profile;
    struct nl_sim_profile_part *part = w->profile;
    w->profile = NULL;
    nl_sim_profile_counting = NULL;
    if (!part)
        return;
    unsigned count;
    const nl_sim_request_site *sites = nl_sim_requests_get_sites(part->requests, &count);
    nl_mutex_lock(&p->lock);
    for (unsigned i = 0; i < count; i++)
        add_site(p, &sites[i]);
    for (unsigned i = 0; i < part->barrier_count; i++)
        add_waits(p, &part->barriers[i]);
    const uint64_t *reuse = nl_sim_requests_reuse_histogram(part->requests);
    for (unsigned i = 0; i < NL_PROFILE_REUSE; i++)
        p->reuse[i] += reuse[i];
    p->loaded += nl_sim_requests_loaded_sectors(part->requests);
    p->stored += nl_sim_requests_stored_sectors(part->requests);
    p->incomplete |= nl_sim_requests_lack_memory(part->requests);
    nl_mutex_unlock(&p->lock);
    nl_sim_requests_destroy(part->requests);
    nl_mem_free(part);
}

void nl_sim_profile_begin_block(nl_sim_worker *w) {
    if (w->profile)
        nl_sim_requests_begin_block(w->profile->requests, w->warps);
}

void nl_sim_profile_end_block(nl_sim_worker *w) {
    if (w->profile)
        nl_sim_requests_close_all(w->profile->requests, w->warps);
}

static void count_waits(nl_sim_worker *w) {
    struct nl_sim_profile_part *part = w->profile;
    unsigned waits = 0, i = 0;
    for (unsigned warp = 0; warp < w->warps; warp++)
        waits += w->warp[warp].barrier != 0;
    while (i < part->barrier_count && !nl_sim_same_site(part->barriers[i].site, w->barrier.site))
        i++;
    if (i == MAX_BARRIERS)
        i--; /* all further barriers share the last entry */
    else if (i == part->barrier_count)
        part->barriers[part->barrier_count++] = (barrier_line){.site = w->barrier.site};
    part->barriers[i].waits += waits;
}

void nl_sim_profile_count_barrier(nl_sim_worker *w, int is_barrier) {
    if (!w->profile)
        return;
    if (is_barrier)
        count_waits(w);
    nl_sim_profile_end_block(w);
}

void nl_sim_profile_count_exchange(nl_sim_worker *w, unsigned warp, uint32_t lanes) {
    if (w->profile && lanes == w->warp[warp].live)
        nl_sim_requests_close(w->profile->requests, warp);
}

/* Accesses */

/* Returns the address space that is counted for an address. Returns 0 for memory that is not
 * counted: parameters, and local variables, which a GPU compiler keeps in registers. */
static int find_address_space(const nl_sim_worker *w, uintptr_t address, unsigned kind,
                              nl_sim_request_space *space) {
    int writes = (kind & NL_SIM_ACCESS_WRITE) != 0;
    if (address - w->profile->shared_low < w->profile->shared_high - w->profile->shared_low)
        *space = NL_SIM_REQUEST_SHARED;
    else if (address - nl_sim_shadow.low < nl_sim_shadow.span)
        *space = NL_SIM_REQUEST_GLOBAL;
    else if (address - w->image_low < w->image_high - w->image_low)
        *space = writes ? NL_SIM_REQUEST_GLOBAL : NL_SIM_REQUEST_VARIABLE;
    else
        return 0;
    return 1;
}

/* Counts an access that a GPU makes with one instruction. Returns 1 if other lanes must run before
 * the access. */
static int count_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                        const void *pc, nl_sim_request_space space) {
    int writes = (kind & NL_SIM_ACCESS_WRITE) != 0;
    nl_sim_request_kind is = writes ? NL_SIM_REQUEST_STORE : NL_SIM_REQUEST_LOAD;
    if (kind & NL_SIM_ACCESS_UPDATE || (writes && kind & NL_SIM_ACCESS_ATOMIC))
        is = NL_SIM_REQUEST_ATOMIC;
    return nl_sim_requests_add(w->profile->requests, w->current, pc, address, (unsigned)size, space,
                               is);
}

/* Returns the size of the largest GPU access that is possible at the address, at most `size`
 * bytes. */
static size_t max_access_size(uintptr_t address, size_t size) {
    size_t piece = MAX_ACCESS;
    while (piece > 1 && (address % piece || piece > size))
        piece /= 2;
    return piece;
}

static void count_range_accesses(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                 const void *pc, nl_sim_request_space space) {
    for (unsigned i = 0; size && i < PIECES; i++) {
        size_t piece = max_access_size(address, size);
        while (count_access(w, address, piece, kind, pc, space))
            nl_sim_scheduler_preempt(w);
        address += piece;
        size -= piece;
    }
}

static __attribute__((noinline)) int access_in_general(nl_sim_worker *w, uintptr_t address,
                                                       size_t size, unsigned kind, const void *pc) {
    nl_sim_request_space space;
    if (kind & NL_SIM_ACCESS_UNTOLD || !find_address_space(w, address, kind, &space))
        return 0;
    uintptr_t *updating = &w->profile->updating[w->current];
    int is_second_half = kind & NL_SIM_ACCESS_COMPARE && *updating == address;
    if (*updating) {
        *updating = 0;
        w->profile->updates--;
        set_image_counting(w->profile);
    }
    if (is_second_half)
        return 0;
    if (kind & NL_SIM_ACCESS_RANGE) {
        count_range_accesses(w, address, size, kind, pc, space);
        return 0;
    }
    if (count_access(w, address, size, kind, pc, space))
        return 1;
    if (kind & NL_SIM_ACCESS_UPDATE) {
        *updating = address;
        w->profile->updates++;
        set_image_counting(w->profile);
    }
    return 0;
}

int nl_sim_profile_count_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                const void *pc) {
    struct nl_sim_profile_part *part = w->profile;
    int is_plain = (kind & ~(unsigned)NL_SIM_ACCESS_WRITE) == 0 && !part->updates;
    nl_sim_request_space space = NL_SIM_REQUEST_SHARED;
    if (address - part->shared_low >= part->shared_high - part->shared_low) {
        space = NL_SIM_REQUEST_GLOBAL;
        is_plain &= address - nl_sim_shadow.low < nl_sim_shadow.span;
    }
    if (!is_plain)
        return access_in_general(w, address, size, kind, pc);
    return nl_sim_requests_add(part->requests, w->current, pc, address, (unsigned)size, space,
                               kind ? NL_SIM_REQUEST_STORE : NL_SIM_REQUEST_LOAD);
}

/* Counts the copy of a struct. Copies of local variables are not counted, because a GPU keeps them
 * in registers. */
void nl_sim_profile_count_copy(nl_sim_worker *w, uintptr_t to, uintptr_t from, size_t size,
                               const void *pc) {
    nl_sim_request_space space;
    if (!w->profile)
        return;
    if (find_address_space(w, from, 0, &space))
        count_range_accesses(w, from, size, 0, pc, space);
    if (find_address_space(w, to, NL_SIM_ACCESS_WRITE, &space))
        count_range_accesses(w, to, size, NL_SIM_ACCESS_WRITE, pc, space);
}

void nl_sim_profile_count_loop(unsigned number, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->profile)
        return;
    nl_sim_requests *requests = w->profile->requests;
    if (!pc) {
        nl_sim_requests_leave_loop(requests, w->current, number);
        return;
    }
    nl_sim_requests_repeat_loop(requests, w->current, number);
    while (nl_sim_requests_add(requests, w->current, pc, 0, 1, NL_SIM_REQUEST_LOOP,
                               NL_SIM_REQUEST_LOAD))
        nl_sim_scheduler_preempt(w);
}
