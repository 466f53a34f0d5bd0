/* sim/engine/gridbarrier: counts the blocks that have arrived or ended; the job's lock protects the
 * counts. */
#include "sim/engine/gridbarrier.h"

#include "sim/engine/fault.h"
#include "sim/engine/interleave.h"
#include "sim/engine/job.h"
#include "sim/engine/observer.h"

void nl_sim_gridbarrier_lacks_threads(nl_sim_job *job) {
    nl_sim_fault_fail_job(job, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                          "a cooperative launch, or a launch with clusters, "
                          "needs one thread of the operating system for each block, "
                          "and no more threads can be created");
}

/* Records the fault that some blocks wait at the barrier while other blocks have ended. */
static void fail_uncrossable_lock_held(nl_sim_job *job, const nl_sim_worker *w) {
    nl_fault fault;
    const nl_sim_site *site = &job->grid_site;
    nl_sim_fault_begin(&fault, w, NL_CHECK_SYNC, NL_FAULT_HEAD_KERNEL);
    nl_fault_set_location(&fault.at, site->file, site->line);
    nl_fault_set_text(
        &fault,
        "the grid cannot go on: %u of its %llu blocks wait at the barrier over the grid at %s:%d, "
        "the others have ended (as has block (%u,%u,%u))",
        job->arrived, (unsigned long long)job->blocks, site->file ? site->file : "?", site->line,
        w->index.x, w->index.y, w->index.z);
    nl_sim_job_fault_lock_held(job, CUDA_ERROR_LAUNCH_TIMEOUT, &fault);
}

static void wait_in_turn_lock_held(nl_sim_job *job, nl_sim_worker *w) {
    nl_mutex_unlock(&job->lock);
    if (nl_sim_interleave_wait(w) < 0)
        nl_sim_gridbarrier_lacks_threads(job);
    nl_mutex_lock(&job->lock);
}

int nl_sim_gridbarrier_arrive(nl_sim_worker *w, nl_sim_site site) {
    nl_sim_job *job = w->job;
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
    while (job->crossings == crossing && !nl_sim_job_is_stopped(job)) {
        if (job->interleaver)
            wait_in_turn_lock_held(job, w);
        else
            nl_cond_wait(&job->crossed, &job->lock);
    }
    int crossed = job->crossings != crossing;
    nl_mutex_unlock(&job->lock);
    return crossed ? 0 : -1;
}

void nl_sim_gridbarrier_block_ended(nl_sim_worker *w) {
    nl_sim_job *job = w->job;
    if (!job->launch.cooperative)
        return;
    nl_mutex_lock(&job->lock);
    job->ended++;
    if (job->arrived && job->arrived + job->ended == job->blocks)
        fail_uncrossable_lock_held(job, w);
    nl_mutex_unlock(&job->lock);
}
