/* sim/engine/grid: the thread that runs a grid is always its first worker; others join it
 * (base/threads) only if the kernel's blocks are known to take long enough, or nothing is known
 * yet. Workers take blocks in order, in chunks, from one atomic counter. Cooperative grids are
 * different: all their blocks must be alive at once, so each gets an OS thread of its own for the
 * launch. */
#include "sim/engine/grid.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "sim/engine/block.h"
#include "sim/engine/observer.h"
#include "sim/engine/interleave.h"

enum {
    WAKE_NS = 20000,        /* more work than this is worth another thread */
    MAX_CHUNK = 1024,       /* blocks */
    CHUNKS_PER_WORKER = 16, /* at least, so that all end at about the same time */
    MAX_WORKERS = 1024,
};

static const char no_threads[] =
    "a cooperative launch needs one thread of the operating system for each block, and there are "
    "not that many";

unsigned nl_sim_grid_workers(void) {
    static uint32_t known;
    uint32_t count = nl_atomic_peek32(&known);
    if (count)
        return count;
    const char *text = getenv("NUMBALITE_NUM_THREADS");
    long wanted = text ? strtol(text, NULL, 10) : 0;
    if (wanted <= 0)
        wanted = nl_threads_processors();
    count = wanted < 1 ? 1 : wanted > MAX_WORKERS ? MAX_WORKERS : (uint32_t)wanted;
    nl_atomic_poke32(&known, count);
    return count;
}

/* Jobs */

static void invite(nl_sim_job *job, unsigned count);

/* From time to time: is what is left worth more threads than thought? */
static void reconsider(nl_sim_job *job) {
    uint64_t taken = nl_atomic_load(&job->next), elapsed = nl_clock_ns() - job->started;
    if (!taken || taken >= job->blocks)
        return;
    uint64_t left = job->blocks - taken, worth = elapsed / taken * left / WAKE_NS;
    unsigned wanted = worth < job->most ? (unsigned)worth : job->most;
    if (wanted > left)
        wanted = (unsigned)left;
    if (wanted > job->guests)
        invite(job, wanted - job->guests);
}

/* A worker begins with one block and takes twice as many each time: what blocks cost is not known
 * beforehand. */
int nl_sim_job_take(nl_sim_job *job, nl_sim_worker *w) {
    if (nl_sim_job_stopped(job))
        return 0;
    if (w->owner && job->guests < job->most)
        reconsider(job);
    uint32_t chunk = w->chunk < job->chunk ? w->chunk : job->chunk;
    uint64_t first = nl_atomic_add(&job->next, chunk);
    if (first >= job->blocks)
        return 0;
    w->chunk = chunk * 2;
    w->next = first;
    w->end = first + chunk < job->blocks ? first + chunk : job->blocks;
    return 1;
}

static void fault_lock_held(nl_sim_job *job, CUresult status, const nl_fault *fault) {
    if (job->status == CUDA_SUCCESS) {
        job->status = status;
        job->fault = *fault;
        job->fault.is_shuffled = job->shuffled && status != CUDA_ERROR_OUT_OF_MEMORY;
        job->fault.seed = job->seed;
    }
    nl_atomic_store32(&job->stop, 1);
    nl_cond_broadcast(&job->crossed);
}

void nl_sim_job_stop(nl_sim_job *job) {
    nl_mutex_lock(&job->lock);
    nl_atomic_store32(&job->stop, 1);
    nl_cond_broadcast(&job->crossed);
    nl_mutex_unlock(&job->lock);
}

void nl_sim_job_fault(nl_sim_job *job, CUresult status, const nl_fault *fault) {
    nl_mutex_lock(&job->lock);
    fault_lock_held(job, status, fault);
    nl_mutex_unlock(&job->lock);
}

void nl_sim_job_fail(nl_sim_job *job, CUresult status, const char *text) {
    nl_fault fault;
    nl_fault_init(&fault, 0, NL_FAULT_HEAD_NONE, nl_sim_fault_kernel_name(job->kernel));
    nl_fault_say(&fault, "%s", text);
    nl_sim_job_fault(job, status, &fault);
}

/* Blocks wait at the grid barrier for some that have ended. */
static void fail_uncrossable_lock_held(nl_sim_job *job, const nl_sim_worker *w) {
    nl_fault fault;
    const nl_sim_site *site = &job->grid_site;
    nl_sim_fault_begin(&fault, w, NL_CHECK_SYNC, NL_FAULT_HEAD_KERNEL);
    nl_fault_locate(&fault.at, site->file, site->line);
    nl_fault_say(&fault,
                 "the grid cannot go on: %u of its %llu blocks wait at the barrier over the grid "
                 "at %s:%d, the others have ended (as has block (%u,%u,%u))",
                 job->arrived, (unsigned long long)job->blocks, site->file ? site->file : "?",
                 site->line, w->index.x, w->index.y, w->index.z);
    fault_lock_held(job, CUDA_ERROR_LAUNCH_TIMEOUT, &fault);
}

static void wait_in_turn_lock_held(nl_sim_job *job, nl_sim_worker *w) {
    nl_mutex_unlock(&job->lock);
    if (nl_sim_interleave_wait(w) < 0)
        nl_sim_job_fail(job, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, no_threads);
    nl_mutex_lock(&job->lock);
}

int nl_sim_job_arrive(nl_sim_job *job, nl_sim_worker *w, nl_sim_site site) {
    nl_mutex_lock(&job->lock);
    uint64_t crossing = job->crossings;
    job->grid_site = site;
    if (++job->arrived == job->blocks) {
        job->arrived = 0;
        job->crossings++;
        nl_cond_broadcast(&job->crossed);
        if (job->observer)
            job->observer->cross_grid(job);
        if (job->interleaver)
            nl_sim_interleave_wake(job);
    } else if (job->ended && job->arrived + job->ended == job->blocks) {
        fail_uncrossable_lock_held(job, w);
    }
    while (job->crossings == crossing && !nl_sim_job_stopped(job)) {
        if (job->interleaver)
            wait_in_turn_lock_held(job, w);
        else
            nl_cond_wait(&job->crossed, &job->lock);
    }
    int crossed = job->crossings != crossing;
    nl_mutex_unlock(&job->lock);
    return crossed ? 0 : -1;
}

void nl_sim_job_block_ended(nl_sim_job *job, nl_sim_worker *w) {
    if (!job->launch.cooperative)
        return;
    nl_mutex_lock(&job->lock);
    job->ended++;
    if (job->arrived && job->arrived + job->ended == job->blocks)
        fail_uncrossable_lock_held(job, w);
    nl_mutex_unlock(&job->lock);
}

/* Workers */

static int run_worker(nl_sim_job *job, int owner) {
    nl_sim_worker *w = nl_sim_worker_acquire(job);
    if (!w)
        return -1;
    w->owner = owner;
    nl_sim_block_run(w, job);
    nl_sim_worker_release(w);
    return 0;
}

static void run_guest(void *argument) {
    static _Thread_local int has_blocked;
    if (!has_blocked)
        nl_sim_fault_block_signals();
    has_blocked = 1;
    (void)run_worker(argument, 0); /* without memory the others do it */
}

/* Lets up to `count` other threads join. */
static void invite(nl_sim_job *job, unsigned count) {
    job->guests += count;
    nl_threads_invite(&job->shared, count, nl_sim_grid_workers() - 1);
}

/* How many other threads a grid seems to be worth. */
static unsigned guests(const nl_sim_job *job) {
    uint64_t cost = nl_atomic_peek32(&job->habits->cost);
    if (cost == 0)
        return job->most;
    uint64_t worth = cost * job->blocks / WAKE_NS;
    return worth < job->most ? (unsigned)worth : job->most;
}

static void remember_cost(nl_sim_job *job) {
    uint64_t cost = (nl_clock_ns() - job->started) * (job->guests + 1) / job->blocks;
    nl_atomic_poke32(&job->habits->cost, cost < 1            ? 1
                                         : cost > UINT32_MAX ? UINT32_MAX
                                                             : (uint32_t)cost);
}

static void run_ordinary(nl_sim_job *job) {
    uint64_t most = nl_sim_grid_workers() - 1;
    job->most = (unsigned)(most < job->blocks ? most : job->blocks - 1);
    uint64_t chunk = job->blocks / ((uint64_t)(job->most + 1) * CHUNKS_PER_WORKER);
    job->chunk = chunk < 1 ? 1 : chunk > MAX_CHUNK ? MAX_CHUNK : (uint32_t)chunk;
    job->shared = (nl_threads_job){.run = run_guest, .data = job};
    unsigned count = guests(job);
    if (count)
        invite(job, count);
    if (run_worker(job, 1) < 0)
        nl_sim_job_fail(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
    if (job->guests)
        nl_threads_close(&job->shared);
    remember_cost(job);
}

/* Cooperative launches */

typedef struct crew {
    nl_sim_job *job;
    nl_mutex lock;
    nl_cond start;
    int ready; /* 1: all threads exist; -1: they do not */
} crew;

static void *crew_thread(void *argument) {
    crew *c = argument;
    nl_sim_fault_block_signals();
    nl_mutex_lock(&c->lock);
    while (!c->ready)
        nl_cond_wait(&c->start, &c->lock);
    int ready = c->ready;
    nl_mutex_unlock(&c->lock);
    if (ready > 0 && run_worker(c->job, 0) < 0)
        nl_sim_job_fail(c->job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
    return NULL;
}

static void run_cooperative(nl_sim_job *job) {
    crew c = {.job = job, .lock = NL_MUTEX_INIT, .start = NL_COND_INIT};
    nl_error err;
    unsigned wanted = (unsigned)job->blocks - 1, made = 0;
    nl_thread *threads = wanted ? nl_mem_alloc(wanted * sizeof *threads, NULL) : NULL;
    job->chunk = 1;
    while (threads && made < wanted &&
           nl_thread_start(&threads[made], crew_thread, &c, 0, &err) == 0)
        made++;
    if (made < wanted)
        nl_sim_job_fail(job, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, no_threads);
    nl_mutex_lock(&c.lock);
    c.ready = made < wanted ? -1 : 1;
    nl_cond_broadcast(&c.start);
    nl_mutex_unlock(&c.lock);
    if (made == wanted && run_worker(job, 0) < 0)
        nl_sim_job_fail(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
    while (made)
        nl_thread_join(threads[--made]);
    nl_mem_free(threads);
}

void nl_sim_grid_open(nl_sim_job *job) {
    nl_mutex_init(&job->lock);
    nl_cond_init(&job->crossed);
}

void nl_sim_grid_close(nl_sim_job *job) {
    nl_cond_destroy(&job->crossed);
    nl_mutex_destroy(&job->lock);
}

CUresult nl_sim_grid_run(nl_sim_job *job) {
    const nl_sim_dim *grid = &job->launch.grid;
    job->blocks = (uint64_t)grid->x * grid->y * grid->z;
    job->started = nl_clock_ns();
    nl_sim_fault_install();
    if (job->limit_ms)
        nl_sim_watch_begin(job, job->limit_ms);
    if (job->interleaved)
        nl_sim_interleave_run(job);
    else if (job->launch.cooperative)
        run_cooperative(job);
    else
        run_ordinary(job);
    if (job->limit_ms)
        nl_sim_watch_end(job);
    if (nl_atomic_load32(&job->watch.stopped) && job->status == CUDA_SUCCESS)
        nl_sim_fault_overdue(job);
    return job->status;
}
