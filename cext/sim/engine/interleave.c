/* sim/engine/interleave: implemented by a ring of carrier threads, one of which holds the token and
 * runs. A new carrier first waits for the token; a carrier without blocks passes the token on and
 * ends. */
#include "sim/engine/interleave.h"

#include "base/mem.h"
#include "sim/engine/fault.h"
#include "sim/engine/job.h"
#include "sim/engine/observer.h"
#include "sim/engine/schedule.h"
#include "sim/engine/signal.h"

enum {
    MAX_CARRIERS = 64,
    /* number of carriers that is enough if no block needs another block to continue */
    DEFAULT_CARRIERS = 4,
    SHORT_SLICE = 24, /* accesses of memory */
    LONG_SLICE = 1024,
    AT_ATOMICS = 256, /* maximum number of times per launch that a block yields before an atomic
                       * access */
    ONE_IN = 4,       /* average number of atomic accesses between two yields */
};

typedef enum state { CAN_RUN, WAITS, HAS_ENDED } state;

typedef struct carrier {
    struct nl_sim_interleaver *interleaver;
    unsigned index;
    uint64_t block;        /* index of its block plus 1; 0: none yet */
    nl_sim_worker *worker; /* that runs the block */
    /* 1 + the value of `progress` at which the carrier's block could not continue, or 0 if it could
     * always continue */
    uint64_t stuck;
    state state;
    nl_thread thread;
} carrier;

struct nl_sim_interleaver {
    nl_sim_job *job;
    void (*run)(nl_sim_job *job, unsigned carrier);
    nl_mutex lock;
    nl_cond passed;
    /* `count` is the number of created carriers, `most` its maximum */
    unsigned holder, count, most;
    unsigned at_atomics;
    uint64_t random;         /* state of the pseudo-random sequence */
    uint64_t factor, offset; /* factor and offset of the order of the blocks (shuffle_blocks) */
    carrier carriers[];      /* the first carrier is the OS thread that made the launch */
};

/* The pseudo-random sequence: SplitMix64. */
static uint64_t next_random(nl_sim_interleaver *t) {
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t nl_sim_interleave_random(nl_sim_job *job, uint64_t end) {
    return next_random(job->interleaver) % end;
}

/* Returns the number of accesses in the next slice: most slices are short and some are long, so
 * that threads interleave in many different orders. */
unsigned nl_sim_interleave_slice_length(nl_sim_job *job) {
    uint64_t n = next_random(job->interleaver);
    return (unsigned)(n >> 8) % (n % 8 ? SHORT_SLICE : LONG_SLICE);
}

int nl_sim_interleave_is_due_at_atomic(nl_sim_job *job) {
    nl_sim_interleaver *t = job->interleaver;
    if (t->at_atomics == AT_ATOMICS || (next_random(t) >> 8) % ONE_IN)
        return 0;
    t->at_atomics++;
    return 1;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Chooses an order of the blocks or clusters: n * factor + offset modulo their number. The order
 * visits each block once, because the factor and the number of blocks have no common divisor. */
static void shuffle_blocks(nl_sim_interleaver *t, uint64_t blocks) {
    t->offset = next_random(t) % blocks;
    do {
        t->factor = next_random(t) % blocks;
    } while (common_divisor(t->factor, blocks) != 1);
}

uint64_t nl_sim_interleave_nth_block(const nl_sim_job *job, uint64_t n) {
    const nl_sim_interleaver *t = job->interleaver;
    if (!t || !job->shuffled)
        return n;
    uint64_t unit = job->clusters ? nl_sim_job_cluster_size(job) : 1;
    uint64_t place =
        (uint64_t)(((unsigned __int128)(n / unit) * t->factor + t->offset) % (job->blocks / unit));
    return place * unit + n % unit;
}

/* The token */

static void *carrier_thread(void *argument);

/* Creates a carrier if a block has not begun; otherwise returns NULL. */
static carrier *create_carrier_lock_held(nl_sim_interleaver *t, int needed) {
    nl_error err;
    if (t->count >= (needed || t->most < DEFAULT_CARRIERS ? t->most : DEFAULT_CARRIERS) ||
        nl_atomic_load(&t->job->next) >= t->job->blocks || nl_sim_job_is_stopped(t->job))
        return NULL;
    carrier *m = &t->carriers[t->count];
    *m = (carrier){.interleaver = t, .index = t->count, .state = CAN_RUN};
    if (nl_thread_start(&m->thread, carrier_thread, m, 0, &err) < 0) {
        t->most = t->count;
        return NULL;
    }
    t->count++;
    return m;
}

/* Returns the carrier of the block that the schedule requires, or a new carrier if the block has
 * not begun, or NULL if the block cannot run. */
static carrier *find_scheduled_carrier_lock_held(nl_sim_interleaver *t) {
    nl_sim_schedule *s = t->job->schedule;
    for (unsigned i = 0; i < t->count; i++) {
        if (t->carriers[i].block == s->wanted_block + 1 && t->carriers[i].state == CAN_RUN)
            return &t->carriers[i];
    }
    carrier *made =
        s->wanted_block >= nl_atomic_load(&t->job->next) ? create_carrier_lock_held(t, 1) : NULL;
    if (!made)
        s->is_wanted = 0;
    return made;
}

/* Chooses the carrier that runs after carrier `index`: the next carrier of the ring that can run,
 * or a new carrier at the end of the ring. */
static unsigned choose_next_carrier_lock_held(nl_sim_interleaver *t, unsigned index, int needed) {
    int stopped = nl_sim_job_is_stopped(t->job);
    if (t->job->schedule && t->job->schedule->is_wanted && !stopped) {
        const carrier *wanted = find_scheduled_carrier_lock_held(t);
        if (wanted)
            return wanted->index;
    }
    for (unsigned i = 1; i <= t->count; i++) {
        unsigned next = (index + i) % t->count;
        if (index + i == t->count) {
            carrier *made = create_carrier_lock_held(t, needed);
            if (made)
                return made->index;
        }
        state s = t->carriers[next].state;
        if (s == CAN_RUN || (s == WAITS && stopped))
            return next;
    }
    return index; /* no other carrier can run */
}

static void pass_token_lock_held(nl_sim_interleaver *t, unsigned index, int needed) {
    t->holder = choose_next_carrier_lock_held(t, index, needed);
    if (t->holder != index)
        nl_cond_broadcast(&t->passed);
}

static void wait_for_token_lock_held(nl_sim_interleaver *t, unsigned index) {
    while (t->holder != index)
        nl_cond_wait(&t->passed, &t->lock);
}

void nl_sim_interleave_pass_token(nl_sim_worker *w, int needed) {
    nl_sim_interleaver *t = w->job->interleaver;
    if (w->observer)
        w->observer->pass(w);
    nl_mutex_lock(&t->lock);
    pass_token_lock_held(t, w->carrier, needed);
    wait_for_token_lock_held(t, w->carrier);
    nl_mutex_unlock(&t->lock);
}

void nl_sim_interleave_begin_block(nl_sim_worker *w, uint64_t block) {
    nl_sim_interleaver *t = w->job->interleaver;
    const nl_sim_schedule *s = w->job->schedule;
    nl_mutex_lock(&t->lock);
    t->carriers[w->carrier].block = block + 1;
    t->carriers[w->carrier].worker = w;
    nl_mutex_unlock(&t->lock);
    if (s && s->is_wanted && s->wanted_block != block)
        nl_sim_interleave_pass_token(w, 1);
}

int nl_sim_interleave_is_stuck(nl_sim_worker *w, uint64_t progress) {
    nl_sim_interleaver *t = w->job->interleaver;
    int stuck = nl_atomic_load(&w->job->next) >= w->job->blocks;
    nl_mutex_lock(&t->lock);
    t->carriers[w->carrier].stuck = progress + 1;
    for (unsigned i = 0; i < t->count && stuck; i++) {
        const carrier *c = &t->carriers[i];
        stuck = c->state != CAN_RUN || c->stuck == progress + 1;
    }
    nl_mutex_unlock(&t->lock);
    return stuck;
}

nl_sim_worker *nl_sim_interleave_next_block(const nl_sim_worker *w, const nl_sim_worker *after) {
    nl_sim_interleaver *t = w->job->interleaver;
    nl_sim_worker *found = NULL;
    nl_mutex_lock(&t->lock);
    for (unsigned i = after ? after->carrier + 1 : 0; i < t->count && !found; i++) {
        const carrier *c = &t->carriers[i];
        if (c->state != HAS_ENDED && c->worker != w)
            found = c->worker;
    }
    nl_mutex_unlock(&t->lock);
    return found;
}

int nl_sim_interleave_wait(nl_sim_worker *w) {
    nl_sim_interleaver *t = w->job->interleaver;
    nl_mutex_lock(&t->lock);
    t->carriers[w->carrier].state = WAITS;
    pass_token_lock_held(t, w->carrier, 1);
    int handed_on = t->holder != w->carrier;
    wait_for_token_lock_held(t, w->carrier);
    t->carriers[w->carrier].state = CAN_RUN;
    nl_mutex_unlock(&t->lock);
    return handed_on ? 0 : -1;
}

void nl_sim_interleave_wake(nl_sim_job *job) {
    nl_sim_interleaver *t = job->interleaver;
    nl_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->count; i++) {
        if (t->carriers[i].state == WAITS)
            t->carriers[i].state = CAN_RUN;
    }
    nl_mutex_unlock(&t->lock);
}

/* Carriers */

static void run_carrier(carrier *m) {
    nl_sim_interleaver *t = m->interleaver;
    nl_mutex_lock(&t->lock);
    wait_for_token_lock_held(t, m->index);
    nl_mutex_unlock(&t->lock);
    t->run(t->job, m->index);
    nl_mutex_lock(&t->lock);
    m->state = HAS_ENDED;
    pass_token_lock_held(t, m->index, 0);
    nl_mutex_unlock(&t->lock);
}

static void *carrier_thread(void *argument) {
    nl_sim_signal_block_others();
    run_carrier(argument);
    return NULL;
}

/* Returns whether carrier `index` was created. Joins the carriers' threads. A carrier is created by
 * an earlier carrier in the list, whose thread must have ended before this call. */
static int join_carrier(nl_sim_interleaver *t, unsigned index) {
    nl_mutex_lock(&t->lock);
    int made = index < t->count;
    nl_mutex_unlock(&t->lock);
    return made;
}

uint64_t nl_sim_interleave_max_carriers(const nl_sim_job *job) {
    return job->launch.cooperative || job->blocks < MAX_CARRIERS ? job->blocks : MAX_CARRIERS;
}

void nl_sim_interleave_run(nl_sim_job *job, void (*run)(nl_sim_job *job, unsigned carrier)) {
    uint64_t most = nl_sim_interleave_max_carriers(job);
    nl_sim_interleaver *t = nl_mem_zalloc(sizeof *t + most * sizeof *t->carriers, NULL);
    if (!t) {
        nl_sim_fault_fail_job(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
        return;
    }
    t->job = job;
    t->run = run;
    t->most = (unsigned)most;
    t->count = 1;
    t->carriers[0] = (carrier){.interleaver = t, .state = CAN_RUN};
    t->random = job->seed;
    if (job->shuffled)
        shuffle_blocks(t, job->clusters ? job->blocks / nl_sim_job_cluster_size(job) : job->blocks);
    nl_mutex_init(&t->lock);
    nl_cond_init(&t->passed);
    job->interleaver = t;
    job->chunk = 1;
    run_carrier(&t->carriers[0]);
    for (unsigned i = 1; join_carrier(t, i); i++)
        nl_thread_join(t->carriers[i].thread);
    job->interleaver = NULL;
    nl_cond_destroy(&t->passed);
    nl_mutex_destroy(&t->lock);
    nl_mem_free(t);
}
