/* sim/engine/job: distributes blocks: workers reserve chunks of blocks in order, by an atomic
 * counter. Threads of the pool (base/threads) join the launching thread only if the measured cost
 * of the kernel's blocks justifies it, or if the cost was not measured yet. */
#include "sim/engine/job.h"

#include "base/clock.h"
#include "sim/engine/worker.h"

enum {
    WAKE_NS = 20000,  /* estimated work in nanoseconds that justifies an additional thread */
    MAX_CHUNK = 1024, /* blocks */
    /* minimum number of chunks per worker, so that all workers end at about the same time */
    CHUNKS_PER_WORKER = 16,
};

void nl_sim_job_open(nl_sim_job *job) {
    nl_mutex_init(&job->lock);
    nl_cond_init(&job->crossed);
}

void nl_sim_job_close(nl_sim_job *job) {
    nl_cond_destroy(&job->crossed);
    nl_mutex_destroy(&job->lock);
}

/* Distribution of blocks */

/* Allows `count` more pool threads to join the launch. */
static void add_helpers(nl_sim_job *job, unsigned count) {
    job->helpers += count;
    nl_threads_offer_job(&job->shared, count, nl_sim_worker_limit() - 1);
}

/* Returns the number of additional threads that the grid's estimated cost justifies. */
static unsigned worthwhile_helpers(const nl_sim_job *job) {
    uint64_t cost = nl_atomic_load32_relaxed(&job->history->cost);
    if (cost == 0)
        return job->most;
    uint64_t worth = cost * job->blocks / WAKE_NS;
    return worth < job->most ? (unsigned)worth : job->most;
}

static void remember_cost(nl_sim_job *job) {
    uint64_t cost = (nl_clock_ns() - job->started) * (job->helpers + 1) / job->blocks;
    nl_atomic_store32_relaxed(&job->history->cost, cost < 1            ? 1
                                                   : cost > UINT32_MAX ? UINT32_MAX
                                                                       : (uint32_t)cost);
}

void nl_sim_job_start_helpers(nl_sim_job *job, void (*run)(void *job)) {
    uint64_t most = nl_sim_worker_limit() - 1;
    job->most = (unsigned)(most < job->blocks ? most : job->blocks - 1);
    uint64_t chunk = job->blocks / ((uint64_t)(job->most + 1) * CHUNKS_PER_WORKER);
    job->chunk = chunk < 1 ? 1 : chunk > MAX_CHUNK ? MAX_CHUNK : (uint32_t)chunk;
    job->shared = (nl_threads_job){.run = run, .data = job};
    unsigned count = worthwhile_helpers(job);
    if (count)
        add_helpers(job, count);
}

void nl_sim_job_end_helpers(nl_sim_job *job) {
    if (job->helpers)
        nl_threads_close(&job->shared);
    remember_cost(job);
}

/* Called repeatedly during a launch: adds threads if the measured cost of the remaining blocks
 * justifies more threads. */
static void adjust_threads(nl_sim_job *job) {
    uint64_t taken = nl_atomic_load(&job->next), elapsed = nl_clock_ns() - job->started;
    if (!taken || taken >= job->blocks)
        return;
    uint64_t left = job->blocks - taken, worth = elapsed / taken * left / WAKE_NS;
    unsigned wanted = worth < job->most ? (unsigned)worth : job->most;
    if (wanted > left)
        wanted = (unsigned)left;
    if (wanted > job->helpers)
        add_helpers(job, wanted - job->helpers);
}

/* Takes a chunk of blocks. The first chunk of a worker is one block, and each further chunk is
 * twice as large, because the cost of a block is unknown at first. */
int nl_sim_job_next_blocks(nl_sim_job *job, nl_sim_worker *w) {
    nl_atomic_add(&job->done, w->taken);
    w->taken = 0;
    if (nl_sim_job_is_stopped(job))
        return 0;
    if (w->owner && job->helpers < job->most)
        adjust_threads(job);
    uint32_t chunk = w->chunk < job->chunk ? w->chunk : job->chunk;
    uint64_t first = nl_atomic_add(&job->next, chunk);
    if (first >= job->blocks)
        return 0;
    w->chunk = chunk * 2;
    w->next = first;
    w->end = first + chunk < job->blocks ? first + chunk : job->blocks;
    w->taken = w->end - first;
    return 1;
}

/* Faults */

void nl_sim_job_fault_lock_held(nl_sim_job *job, CUresult status, const nl_fault *fault) {
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

void nl_sim_job_record_fault(nl_sim_job *job, CUresult status, const nl_fault *fault) {
    nl_mutex_lock(&job->lock);
    nl_sim_job_fault_lock_held(job, status, fault);
    nl_mutex_unlock(&job->lock);
}
