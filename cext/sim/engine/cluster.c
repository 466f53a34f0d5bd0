/* sim/engine/cluster: implements clusters; the blocks of a cluster share a slot of the job, which
 * the job's lock protects.
 *
 * At the cluster's barrier, arrival and wait are separate steps. A block has arrived when all of
 * its live threads have arrived. The barrier is crossed when all blocks have arrived or ended. A
 * thread stores the parity of the crossing for which it waits. */
#include "sim/engine/cluster.h"

#include <stdio.h>
#include "base/mem.h"
#include "sim/debuginfo/object.h"
#include "sim/engine/fault.h"
#include "sim/engine/interleave.h"
#include "sim/engine/job.h"
#include "sim/engine/observer.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"

static const uint64_t NOBODY = UINT64_MAX;

/* Block indices */

static nl_sim_dim dim_of_index(uint64_t n, unsigned x, unsigned y) {
    return (nl_sim_dim){(unsigned)(n % x), (unsigned)(n / x % y), (unsigned)(n / x / y)};
}

nl_sim_dim nl_sim_cluster_block_index(const nl_sim_launch *launch, uint64_t n) {
    const nl_sim_dim *size = &launch->cluster;
    unsigned blocks = size->x * size->y * size->z;
    nl_sim_dim at = dim_of_index(n / blocks, launch->grid.x / size->x, launch->grid.y / size->y);
    nl_sim_dim in = dim_of_index(n % blocks, size->x, size->y);
    return (nl_sim_dim){at.x * size->x + in.x, at.y * size->y + in.y, at.z * size->z + in.z};
}

int nl_sim_cluster_is_shared(const nl_sim_launch *launch, uint64_t a, uint64_t b) {
    const nl_sim_dim *size = &launch->cluster;
    nl_sim_dim p = dim_of_index(a, launch->grid.x, launch->grid.y);
    nl_sim_dim q = dim_of_index(b, launch->grid.x, launch->grid.y);
    return p.x / size->x == q.x / size->x && p.y / size->y == q.y / size->y &&
           p.z / size->z == q.z / size->z;
}

/* A launch */

int nl_sim_cluster_open(nl_sim_job *job, uint64_t blocks) {
    job->clusters = nl_mem_zalloc((size_t)blocks * sizeof *job->clusters, NULL);
    if (!job->clusters) {
        nl_sim_fault_fail_job(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory to run a block");
        return -1;
    }
    job->cluster_count = blocks;
    for (uint64_t i = 0; i < blocks; i++)
        job->clusters[i].number = NOBODY;
    return 0;
}

void nl_sim_cluster_close(nl_sim_job *job) {
    nl_mem_free(job->clusters);
    job->clusters = NULL;
}

/* Wakes the blocks that wait for other blocks; called with the job's lock held. */

static void wake_blocks(nl_sim_job *job) {
    nl_cond_broadcast(&job->crossed);
    if (job->interleaver)
        nl_sim_interleave_wake(job);
}

/* Waits until another block has made progress, or the grid was stopped. */
static void wait_for_other_blocks(nl_sim_worker *w) {
    nl_sim_job *job = w->job;
    if (!job->interleaver) {
        nl_cond_wait(&job->crossed, &job->lock);
        return;
    }
    nl_mutex_unlock(&job->lock);
    if (nl_sim_interleave_wait(w) < 0)
        nl_sim_fault_fail_job(job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                              "each block of a cluster needs a thread of the operating system, "
                              "and no more threads can be created");
    nl_mutex_lock(&job->lock);
}

/* Returns the slot of a cluster; the cluster's first block allocates it. The number of slots is the
 * number of blocks that run concurrently. */
static nl_sim_cluster *find_slot(nl_sim_job *job, uint64_t number) {
    nl_sim_cluster *unused = NULL;
    for (uint64_t i = 0; i < job->cluster_count; i++) {
        nl_sim_cluster *c = &job->clusters[i];
        if (c->number == number)
            return c;
        if (c->number == NOBODY && !unused)
            unused = c;
    }
    *unused = (nl_sim_cluster){.number = number};
    return unused;
}

int nl_sim_cluster_begin_block(nl_sim_worker *w, uint64_t n) {
    nl_sim_job *job = w->job;
    unsigned size = nl_sim_job_cluster_size(job);
    if (w->kernel->enter_block) /* makes the OS thread allocate its thread-local variables */
        w->kernel->enter_block(&job->launch, w->index);
    if (job->image)
        nl_sim_object_find_locals(job->image, &w->locals, &w->locals_end);
    w->cluster_arrived = w->cluster_waiting = w->at_cluster = 0;
    w->cluster_phase = 0;
    for (unsigned i = 0; i < w->threads; i++)
        w->thread[i].at_cluster = 0;
    nl_mutex_lock(&job->lock);
    nl_sim_cluster *c = find_slot(job, n / size);
    w->cluster = c;
    w->cluster_rank = (unsigned)(n % size);
    c->member[w->cluster_rank] = w;
    if (++c->present == size)
        wake_blocks(job);
    while (c->present < size && !nl_sim_job_is_stopped(job))
        wait_for_other_blocks(w);
    int complete = c->present == size;
    nl_mutex_unlock(&job->lock);
    return complete ? 0 : -1;
}

/* Crosses the barrier if all blocks that have not ended have arrived. */
static void cross_barrier_if_complete(nl_sim_worker *w) {
    nl_sim_cluster *c = w->cluster;
    if (!c->arrived || c->arrived + c->ended < nl_sim_job_cluster_size(w->job))
        return;
    for (unsigned i = 0; i < nl_sim_job_cluster_size(w->job); i++)
        c->member[i]->at_cluster = 0;
    c->arrived = c->asleep = 0;
    nl_atomic_store(&c->crossings, c->crossings + 1);
    if (w->job->schedule)
        nl_sim_schedule_count_progress(w->job->schedule);
    wake_blocks(w->job);
}

/* Returns whether the cluster's barrier can never be crossed: all blocks wait for the barrier or
 * have ended, and at least one block waits without having arrived. */
static int is_barrier_uncrossable(const nl_sim_worker *w) {
    const nl_sim_cluster *c = w->cluster;
    return c->asleep && c->asleep + c->ended == nl_sim_job_cluster_size(w->job);
}

void nl_sim_cluster_end_block(nl_sim_worker *w) {
    nl_sim_job *job = w->job;
    nl_sim_cluster *c = w->cluster;
    unsigned size = nl_sim_job_cluster_size(job);
    nl_mutex_lock(&job->lock);
    c->ended++;
    c->arrived -= w->at_cluster != 0;
    w->at_cluster = 0;
    w->cluster_ended = 1;
    if (!nl_sim_job_is_stopped(job))
        cross_barrier_if_complete(w);
    wake_blocks(job);
    while (c->ended < size && !nl_sim_job_is_stopped(job))
        wait_for_other_blocks(w);
    if (++c->left == size)
        c->number = NOBODY;
    w->cluster = NULL;
    w->cluster_ended = 0;
    nl_mutex_unlock(&job->lock);
}

/* The barrier */

/* If the barrier was crossed since the block's arrival, resets the block's arrivals for the next
 * crossing. */
static void reset_arrivals_if_crossed(nl_sim_worker *w) {
    uint64_t crossings = nl_atomic_load(&w->cluster->crossings);
    if (crossings != w->cluster_phase) {
        w->cluster_phase = crossings;
        w->cluster_arrived = 0;
    }
}

static int has_thread_crossed(const nl_sim_worker *w, unsigned thread) {
    return (nl_atomic_load(&w->cluster->crossings) & 1) != w->thread[thread].at_cluster - 1u;
}

static void arrive_at_cluster_if_complete(nl_sim_worker *w) {
    if (!w->cluster_arrived || w->cluster_arrived < w->live)
        return;
    nl_mutex_lock(&w->job->lock);
    w->cluster->arrived += !w->at_cluster;
    w->at_cluster = 1;
    cross_barrier_if_complete(w);
    nl_mutex_unlock(&w->job->lock);
    nl_sim_cluster_wake_crossed(w);
}

void nl_sim_cluster_arrive(unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->cluster) /* in a cluster of a single block, the cluster's barrier is the block's
                      * barrier */
        return;
    nl_sim_thread *t = &w->thread[thread];
    if (t->at_cluster)
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, NL_CHECK_SYNC,
                           "a thread arrives at the barrier of its cluster again "
                           "before it has waited at the barrier",
                           thread, site);
    reset_arrivals_if_crossed(w);
    if (w->observer)
        w->observer->cluster_arrive(w, thread, (unsigned)w->cluster_phase & 1);
    t->site = site;
    t->at_cluster = (uint8_t)(1 + (w->cluster_phase & 1));
    w->cluster_arrived++;
    arrive_at_cluster_if_complete(w);
}

void nl_sim_cluster_wait(unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_worker_current;
    nl_sim_thread *t = &w->thread[thread];
    if (!t->at_cluster)
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, NL_CHECK_SYNC,
                           "a thread waits at the barrier of its cluster without having arrived",
                           thread, site);
    if (!has_thread_crossed(w, thread)) {
        t->site = site;
        t->wait = NL_SIM_WAIT_CLUSTER;
        w->cluster_waiting++;
        nl_sim_suspend(w, thread);
        t->wait = NL_SIM_WAIT_NONE;
    }
    unsigned parity = t->at_cluster - 1u;
    t->at_cluster = 0;
    if (w->observer)
        w->observer->cluster_wait(w, thread, parity);
}

void nl_sim_cluster_wake_crossed(nl_sim_worker *w) {
    for (unsigned i = 0; i < w->threads && w->cluster_waiting; i++) {
        nl_sim_thread *t = &w->thread[i];
        if (t->wait != NL_SIM_WAIT_CLUSTER || !has_thread_crossed(w, i))
            continue;
        t->wait = NL_SIM_WAIT_NONE;
        w->cluster_waiting--;
        nl_sim_wake_thread(w, i / NL_SIM_LANES, nl_sim_lane_bit(i));
    }
}

void nl_sim_cluster_wait_for_blocks(nl_sim_worker *w) {
    nl_sim_job *job = w->job;
    nl_sim_cluster *c = w->cluster;
    uint64_t crossings = nl_atomic_load(&c->crossings);
    nl_sim_cluster_wake_crossed(w);
    if (w->ready_warps)
        return;
    nl_mutex_lock(&job->lock);
    c->asleep += c->crossings == crossings;
    if (is_barrier_uncrossable(w)) /* the block that did not arrive reports the error */
        wake_blocks(job);
    while (c->crossings == crossings && !nl_sim_job_is_stopped(job)) {
        if (is_barrier_uncrossable(w) && !w->at_cluster) {
            nl_mutex_unlock(&job->lock);
            nl_sim_report_stuck_block(w);
        }
        wait_for_other_blocks(w);
    }
    int crossed = c->crossings != crossings;
    nl_mutex_unlock(&job->lock);
    if (!crossed)
        nl_sim_report_stopped_grid(w);
    nl_sim_cluster_wake_crossed(w);
    if (!w->ready_warps)
        nl_sim_report_stuck_block(w);
}

unsigned nl_sim_cluster_next_parity(const nl_sim_worker *w, unsigned thread) {
    unsigned parity = nl_atomic_load(&w->cluster->crossings) & 1;
    return parity ^ (w->thread[thread].at_cluster == 1 + parity);
}

void nl_sim_cluster_thread_ended(nl_sim_worker *w, unsigned thread) {
    nl_sim_thread *t = &w->thread[thread];
    reset_arrivals_if_crossed(w);
    if (t->at_cluster && !has_thread_crossed(w, thread))
        w->cluster_arrived--;
    t->at_cluster = 0;
    if (w->live)
        arrive_at_cluster_if_complete(w);
}

/* Distributed shared memory */

nl_sim_dim nl_sim_cluster_dim(void) {
    const nl_sim_dim *size = &nl_sim_worker_current->job->launch.cluster;
    return size->x ? *size : (nl_sim_dim){1, 1, 1};
}

/* Returns whether the address is in shared memory of `w`, a block of `asking`'s cluster. After the
 * end of w's block, w->job is NULL, so asking->job is used. */
static int has_shared_address(const nl_sim_worker *w, uintptr_t address,
                              const nl_sim_worker *asking) {
    return address - w->locals < w->locals_end - w->locals ||
           address - (uintptr_t)w->shared <= asking->job->launch.shared_bytes ||
           (w->observer && w->observer->is_shared(w, address));
}

nl_sim_worker *nl_sim_cluster_find_owner(const nl_sim_worker *w, uintptr_t address) {
    const nl_sim_cluster *c = w->cluster;
    for (unsigned i = 0; c && i < nl_sim_job_cluster_size(w->job); i++) {
        if (has_shared_address(c->member[i], address, w))
            return c->member[i];
    }
    return NULL;
}

int nl_sim_cluster_rank_of_address(const void *address) {
    nl_sim_worker *w = nl_sim_worker_current;
    /* a cluster of one block, whose thread-local variables have not been located yet */
    if (!w->cluster) {
        w->locals = w->locals_end = 0;
        if (w->job->image)
            nl_sim_object_find_locals(w->job->image, &w->locals, &w->locals_end);
        return has_shared_address(w, (uintptr_t)address, w) ? 0 : -1;
    }
    const nl_sim_worker *owner = nl_sim_cluster_find_owner(w, (uintptr_t)address);
    return owner ? (int)owner->cluster_rank : -1;
}

static uintptr_t map_shared_address(nl_sim_worker *from, uintptr_t address, nl_sim_worker *to) {
    if (address - from->locals < from->locals_end - from->locals)
        return address - from->locals + to->locals;
    if (from->observer && from->observer->is_shared(from, address))
        return from->observer->map_shared(from, address, to);
    return address - (uintptr_t)from->shared + (uintptr_t)to->shared;
}

void *nl_sim_cluster_map_address(const void *pointer, unsigned rank, unsigned thread,
                                 nl_sim_site site) {
    nl_sim_worker *w = nl_sim_worker_current;
    uintptr_t address = (uintptr_t)pointer;
    unsigned size = w->cluster ? nl_sim_job_cluster_size(w->job) : 1;
    char text[160];
    if (rank >= size) {
        snprintf(text, sizeof text, "the rank %u is outside of the cluster, which has %u blocks",
                 rank, size);
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, NL_CHECK_MEMORY, text, thread, site);
    }
    if (!w->cluster)
        return (void *)address;
    nl_sim_worker *owner = nl_sim_cluster_find_owner(w, address);
    if (!owner)
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, NL_CHECK_MEMORY,
                           "an address that is not in shared memory has no counterpart "
                           "in another block of the cluster",
                           thread, site);
    return (void *)map_shared_address(owner, address, w->cluster->member[rank]);
}

/* Returns the address with these lower 32 bits that is nearest to `address`. */
static uintptr_t nearest_address(unsigned low, uintptr_t address) {
    return address + (uintptr_t)(intptr_t)(int)(low - (unsigned)address);
}

unsigned long long nl_sim_cluster_complete_address(unsigned low) {
    const nl_sim_worker *w = nl_sim_worker_current;
    const nl_sim_cluster *c = w->cluster;
    for (unsigned n = 0; c && n < nl_sim_job_cluster_size(w->job); n++) {
        const nl_sim_worker *m = c->member[n];
        uintptr_t of_locals = nearest_address(low, m->locals),
                  of_shared = nearest_address(low, (uintptr_t)m->shared);
        if (has_shared_address(m, of_shared, w))
            return of_shared;
        if (has_shared_address(m, of_locals, w))
            return of_locals;
    }
    return 0;
}
