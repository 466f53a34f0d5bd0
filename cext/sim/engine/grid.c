/* sim/engine/grid: runs a grid; the thread that launches a grid is always its first worker, and
 * other workers may join it (job.h). All blocks of a cooperative grid must be alive at the same
 * time, so each block has its own OS thread for the launch. In launches with clusters, the number
 * of clusters that run concurrently depends on the number of processors. */
#include "sim/engine/grid.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sim/engine/block.h"
#include "sim/engine/cluster.h"
#include "sim/engine/fault.h"
#include "sim/engine/gridbarrier.h"
#include "sim/engine/interleave.h"
#include "sim/engine/progress.h"
#include "sim/engine/report.h"
#include "sim/engine/signal.h"
#include "sim/engine/watch.h"

static int run_worker(nl_sim_job *job, int owner, unsigned carrier) {
    nl_sim_worker *w = nl_sim_worker_acquire(job);
    if (!w)
        return -1;
    w->owner = owner;
    w->carrier = carrier;
    nl_sim_block_run(w, job);
    nl_sim_worker_release(w);
    return 0;
}

static void run_worker_or_fail_job(nl_sim_job *job, int owner, unsigned carrier) {
    if (run_worker(job, owner, carrier) < 0)
        nl_sim_fault_fail_job(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
}

static void run_helper(void *argument) {
    static _Thread_local int has_blocked;
    if (!has_blocked)
        nl_sim_signal_block_others();
    has_blocked = 1;
    (void)run_worker(argument, 0, 0); /* if memory for this worker runs out, the other workers run
                                       * its blocks */
}

static void run_independent_blocks(nl_sim_job *job) {
    nl_sim_job_start_helpers(job, run_helper);
    run_worker_or_fail_job(job, 1, 0);
    nl_sim_job_end_helpers(job);
}

static void run_carrier(nl_sim_job *job, unsigned carrier) {
    run_worker_or_fail_job(job, 0, carrier);
}

/* Returns the number of blocks that must run concurrently because they wait for one another. */

static unsigned count_resident_blocks(const nl_sim_job *job) {
    unsigned blocks = nl_sim_job_cluster_size(job), size = blocks ? blocks : 1;
    unsigned clusters = nl_sim_worker_limit() / size;
    uint64_t at_once = (uint64_t)size * (clusters ? clusters : 1);
    return (unsigned)(job->launch.cooperative || job->blocks < at_once ? job->blocks : at_once);
}

typedef struct resident_start {
    nl_sim_job *job;
    nl_mutex lock;
    nl_cond start;
    int ready; /* 1 if all threads exist; -1 if a thread could not be created */
} resident_start;

static void *run_resident_thread(void *argument) {
    resident_start *c = argument;
    nl_sim_signal_block_others();
    nl_mutex_lock(&c->lock);
    while (!c->ready)
        nl_cond_wait(&c->start, &c->lock);
    int ready = c->ready;
    nl_mutex_unlock(&c->lock);
    if (ready > 0)
        run_worker_or_fail_job(c->job, 0, 0);
    return NULL;
}

static void run_resident_blocks(nl_sim_job *job) {
    resident_start c = {.job = job, .lock = NL_MUTEX_INIT, .start = NL_COND_INIT};
    nl_error err;
    unsigned wanted = count_resident_blocks(job) - 1, made = 0;
    nl_thread *threads = wanted ? nl_mem_alloc(wanted * sizeof *threads, NULL) : NULL;
    job->chunk = 1;
    while (threads && made < wanted &&
           nl_thread_start(&threads[made], run_resident_thread, &c, 0, &err) == 0)
        made++;
    if (made < wanted)
        nl_sim_gridbarrier_lacks_threads(job);
    nl_mutex_lock(&c.lock);
    c.ready = made < wanted ? -1 : 1;
    nl_cond_broadcast(&c.start);
    nl_mutex_unlock(&c.lock);
    if (made == wanted)
        run_worker_or_fail_job(job, 0, 0);
    while (made)
        nl_thread_join(threads[--made]);
    nl_mem_free(threads);
}

static uint64_t last_blocks; /* 0: all blocks run */

void nl_sim_grid_run_only_last_blocks(uint64_t count) {
    nl_atomic_store(&last_blocks, count);
}

static void skip_blocks(nl_sim_job *job) {
    uint64_t count = nl_atomic_load(&last_blocks);
    if (count != 0 && count < job->blocks)
        job->next = job->blocks - count;
}

static void run_grid(nl_sim_job *job) {
    if (job->interleaved)
        nl_sim_interleave_run(job, run_carrier);
    else if (job->launch.cooperative || job->clusters)
        run_resident_blocks(job);
    else {
        skip_blocks(job);
        run_independent_blocks(job);
    }
}

static void run_clusters(nl_sim_job *job) {
    uint64_t most =
        job->interleaved ? nl_sim_interleave_max_carriers(job) : count_resident_blocks(job);
    if (nl_sim_cluster_open(job, most) < 0)
        return;
    run_grid(job);
    nl_sim_cluster_close(job);
}

CUresult nl_sim_grid_run(nl_sim_job *job) {
    const nl_sim_dim *grid = &job->launch.grid;
    job->blocks = (uint64_t)grid->x * grid->y * grid->z;
    job->started = nl_clock_ns();
    nl_sim_signal_install();
    nl_sim_progress_begin(job);
    if (job->limit_ms)
        nl_sim_watch_begin(job, job->limit_ms);
    if (nl_sim_job_cluster_size(job) > 1)
        run_clusters(job);
    else
        run_grid(job);
    if (job->limit_ms)
        nl_sim_watch_end(job);
    nl_sim_progress_end(job);
    if (nl_atomic_load32(&job->watch.stopped) && job->status == CUDA_SUCCESS)
        nl_sim_report_overdue_job(job);
    return job->status;
}
