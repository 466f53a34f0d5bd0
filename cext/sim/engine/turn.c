/* sim/engine/turn: a ring of mates, one of whom holds the turn. A mate that is made begins by
 * waiting for it; one that has no blocks left hands it on for good. */
#include "sim/engine/turn.h"

#include "base/mem.h"
#include "sim/engine/block.h"
#include "sim/engine/grid.h"
#include "sim/engine/observer.h"
#include "sim/engine/worker.h"

enum {
    MOST_MATES = 64,
    FEW_MATES = 4,    /* enough where nobody needs them */
    SHORT_SLICE = 24, /* accesses of memory */
    LONG_SLICE = 1024,
    AT_ATOMICS = 256, /* so often in a launch others run before an atomic access, */
    ONE_IN = 4,       /* before one of so many */
};

typedef enum state { CAN_RUN, WAITS, HAS_ENDED } state;

typedef struct mate {
    struct nl_sim_turns *turns;
    unsigned index;
    state state;
    nl_thread thread;
} mate;

struct nl_sim_turns {
    nl_sim_job *job;
    nl_mutex lock;
    nl_cond passed;
    unsigned holder, count, most; /* count: mates that have been made */
    unsigned at_atomics;
    uint64_t random;         /* the state of the sequence */
    uint64_t factor, offset; /* of the order of the blocks */
    mate mates[];            /* the first is the thread that launched */
};

/* The sequence: SplitMix64. */
static uint64_t next_random(nl_sim_turns *t) {
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t nl_sim_turn_random(nl_sim_job *job, uint64_t end) {
    return next_random(job->turns) % end;
}

/* Short ones and long ones, so that threads meet in many ways; the same for each run. */
unsigned nl_sim_turn_slice(nl_sim_job *job) {
    uint64_t n = next_random(job->turns);
    return (unsigned)(n >> 8) % (n % 8 ? SHORT_SLICE : LONG_SLICE);
}

int nl_sim_turn_is_due_at_atomic(nl_sim_job *job) {
    nl_sim_turns *t = job->turns;
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

/* Blocks in an order that visits each once: n * factor + offset, where the factor has no divisor in
 * common with how many there are. */
static void shuffle_blocks(nl_sim_turns *t, uint64_t blocks) {
    t->offset = next_random(t) % blocks;
    do {
        t->factor = next_random(t) % blocks;
    } while (common_divisor(t->factor, blocks) != 1);
}

uint64_t nl_sim_turn_block(const nl_sim_job *job, uint64_t n) {
    const nl_sim_turns *t = job->turns;
    return t && job->shuffled
               ? (uint64_t)(((unsigned __int128)n * t->factor + t->offset) % job->blocks)
               : n;
}

/* Turns */

static void *mate_thread(void *argument);

/* A new mate, if there are blocks for it; NULL if not. */
static mate *enlist_lock_held(nl_sim_turns *t, int needed) {
    nl_error err;
    if (t->count >= (needed || t->most < FEW_MATES ? t->most : FEW_MATES) ||
        nl_atomic_load(&t->job->next) >= t->job->blocks || nl_sim_job_stopped(t->job))
        return NULL;
    mate *m = &t->mates[t->count];
    *m = (mate){.turns = t, .index = t->count, .state = CAN_RUN};
    if (nl_thread_start(&m->thread, mate_thread, m, 0, &err) < 0) {
        t->most = t->count;
        return NULL;
    }
    t->count++;
    return m;
}

/* Who runs after mate `index`: the next in the ring who can; before it begins anew, a new one. */
static unsigned choose_lock_held(nl_sim_turns *t, unsigned index, int needed) {
    int stopped = nl_sim_job_stopped(t->job);
    for (unsigned i = 1; i <= t->count; i++) {
        unsigned next = (index + i) % t->count;
        if (index + i == t->count) {
            mate *made = enlist_lock_held(t, needed);
            if (made)
                return made->index;
        }
        state s = t->mates[next].state;
        if (s == CAN_RUN || (s == WAITS && stopped))
            return next;
    }
    return index; /* nobody else */
}

static void hand_on_lock_held(nl_sim_turns *t, unsigned index, int needed) {
    t->holder = choose_lock_held(t, index, needed);
    if (t->holder != index)
        nl_cond_broadcast(&t->passed);
}

static void await_turn_lock_held(nl_sim_turns *t, unsigned index) {
    while (t->holder != index)
        nl_cond_wait(&t->passed, &t->lock);
}

void nl_sim_turn_pass(nl_sim_worker *w, int needed) {
    nl_sim_turns *t = w->job->turns;
    if (w->observer)
        w->observer->pass(w);
    nl_mutex_lock(&t->lock);
    hand_on_lock_held(t, w->mate, needed);
    await_turn_lock_held(t, w->mate);
    nl_mutex_unlock(&t->lock);
}

int nl_sim_turn_wait(nl_sim_worker *w) {
    nl_sim_turns *t = w->job->turns;
    nl_mutex_lock(&t->lock);
    t->mates[w->mate].state = WAITS;
    hand_on_lock_held(t, w->mate, 1);
    int handed_on = t->holder != w->mate;
    await_turn_lock_held(t, w->mate);
    t->mates[w->mate].state = CAN_RUN;
    nl_mutex_unlock(&t->lock);
    return handed_on ? 0 : -1;
}

void nl_sim_turn_wake(nl_sim_job *job) {
    nl_sim_turns *t = job->turns;
    nl_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->count; i++) {
        if (t->mates[i].state == WAITS)
            t->mates[i].state = CAN_RUN;
    }
    nl_mutex_unlock(&t->lock);
}

/* Mates */

static void run_mate(mate *m) {
    nl_sim_turns *t = m->turns;
    nl_mutex_lock(&t->lock);
    await_turn_lock_held(t, m->index);
    nl_mutex_unlock(&t->lock);
    nl_sim_worker *w = nl_sim_worker_acquire(t->job);
    if (w) {
        w->owner = 0;
        w->mate = m->index;
        nl_sim_block_run(w, t->job);
        nl_sim_worker_release(w);
    } else {
        nl_sim_job_fail(t->job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
    }
    nl_mutex_lock(&t->lock);
    m->state = HAS_ENDED;
    hand_on_lock_held(t, m->index, 0);
    nl_mutex_unlock(&t->lock);
}

static void *mate_thread(void *argument) {
    nl_sim_fault_block_signals();
    run_mate(argument);
    return NULL;
}

/* A mate is made by one before it in the list, which has ended when this is asked. */
static int is_made(nl_sim_turns *t, unsigned index) {
    nl_mutex_lock(&t->lock);
    int made = index < t->count;
    nl_mutex_unlock(&t->lock);
    return made;
}

void nl_sim_turn_run(nl_sim_job *job) {
    uint64_t most = job->launch.cooperative || job->blocks < MOST_MATES ? job->blocks : MOST_MATES;
    nl_sim_turns *t = nl_mem_zalloc(sizeof *t + most * sizeof *t->mates, NULL);
    if (!t) {
        nl_sim_job_fail(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
        return;
    }
    t->job = job;
    t->most = (unsigned)most;
    t->count = 1;
    t->mates[0] = (mate){.turns = t, .state = CAN_RUN};
    t->random = job->seed;
    if (job->shuffled)
        shuffle_blocks(t, job->blocks);
    nl_mutex_init(&t->lock);
    nl_cond_init(&t->passed);
    job->turns = t;
    job->chunk = 1;
    run_mate(&t->mates[0]);
    for (unsigned i = 1; is_made(t, i); i++)
        nl_thread_join(t->mates[i].thread);
    job->turns = NULL;
    nl_cond_destroy(&t->passed);
    nl_mutex_destroy(&t->lock);
    nl_mem_free(t);
}
