/* sim/engine/grid: running one grid: its blocks over several threads. */
#ifndef NL_SIM_ENGINE_GRID_H
#define NL_SIM_ENGINE_GRID_H

#include <stdint.h>
#include "base/fault.h"
#include "base/lock.h"
#include "base/threads.h"
#include "sim/abi.h"
#include "sim/engine/fault.h"
#include "sim/engine/watch.h"

struct nl_sim_worker;

/* What is remembered of a kernel from launch to launch; hints, written without a lock. */
typedef struct nl_sim_habits {
    uint32_t synchronises; /* its threads wait for one another: start them as fibers */
    uint32_t cost;         /* of a block in nanoseconds; 0: not known yet */
} nl_sim_habits;

/* One launch. The caller fills the first part (the rest zero) and keeps it until nl_sim_grid_run
 * has returned. */
typedef struct nl_sim_job {
    nl_sim_launch launch;
    const nl_sim_kernel *kernel;
    const struct nl_sim_object *image; /* what the kernel is of; NULL: not known */
    nl_sim_habits *habits;
    size_t stack_size; /* of each thread */
    int interleaved;   /* blocks run one at a time (interleave.h) */
    int shuffled;      /* in the order that `seed` gives; interleaved, too */
    uint64_t seed;
    struct nl_sim_interleaver *interleaver;
    const struct nl_sim_overlap *overlap; /* NULL: not watched (check/overlap.h) */
    uint64_t limit_ms;                    /* how long it may run; 0: for ever */
    nl_sim_watch watch;
    const struct nl_sim_observer *observer; /* NULL: nobody watches (observer.h) */
    struct nl_sim_check *check;             /* the observer's */

    uint64_t blocks, next; /* next: taken by the workers in chunks */
    uint32_t chunk;        /* the largest */
    uint32_t stop;         /* a block has faulted: take no more */
    uint64_t started;      /* when, in nanoseconds */
    unsigned guests, most; /* other threads that were invited, and that can be */
    nl_threads_job shared; /* what they join */

    nl_mutex lock;
    nl_cond crossed;
    unsigned arrived, ended; /* blocks at the grid barrier, and those that have ended */
    uint64_t crossings;
    nl_sim_site grid_site; /* where the last to arrive at it waits */
    int status;
    nl_fault fault; /* the first, if status is not CUDA_SUCCESS */
} nl_sim_job;

/* How many blocks run at once: NUMBALITE_NUM_THREADS, or the processors that we may use. */
unsigned nl_sim_grid_workers(void);
/* Around nl_sim_grid_run; in between nl_sim_job_fail may be called from anywhere. */
void nl_sim_grid_open(nl_sim_job *job);
void nl_sim_grid_close(nl_sim_job *job);
/* Runs the grid to its end on the calling thread and others. Returns CUDA_SUCCESS, or the status of
 * the first fault, which is then in job->fault. */
CUresult nl_sim_grid_run(nl_sim_job *job);

/* For the workers. */
/* The next blocks to run: worker->next to worker->end. 0 if there are none. */
int nl_sim_job_take(nl_sim_job *job, struct nl_sim_worker *worker);
/* Records a fault, unless there is one already, and stops the grid. */
void nl_sim_job_fault(nl_sim_job *job, CUresult status, const nl_fault *fault);
/* The same for what is nobody's mistake: something is not to be had. */
void nl_sim_job_fail(nl_sim_job *job, CUresult status, const char *text);
/* Takes no more blocks; those that run are to leave. */
void nl_sim_job_stop(nl_sim_job *job);
/* All threads of a block are at the grid barrier. Returns 0 when all blocks are, -1 if the grid
 * stops. */
int nl_sim_job_arrive(nl_sim_job *job, struct nl_sim_worker *worker, nl_sim_site site);
/* A cooperative block has ended: those that wait for it will never cross. */
void nl_sim_job_block_ended(nl_sim_job *job, struct nl_sim_worker *worker);

static inline int nl_sim_job_stopped(const nl_sim_job *job) {
    return (int)nl_atomic_peek32(&job->stop);
}
static inline int nl_sim_job_synchronises(const nl_sim_job *job) {
    return (int)nl_atomic_peek32(&job->habits->synchronises) || job->observer != NULL;
}
static inline void nl_sim_job_set_synchronises(nl_sim_job *job) {
    nl_atomic_poke32(&job->habits->synchronises, 1);
}

#endif
