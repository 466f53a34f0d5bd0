/* sim/engine/job: one launch: what is to run, which blocks have been taken, and how it ended. */
#ifndef NL_SIM_ENGINE_JOB_H
#define NL_SIM_ENGINE_JOB_H

#include <stdint.h>
#include "base/fault.h"
#include "base/lock.h"
#include "base/threads.h"
#include "driver/cuda_abi.h"
#include "sim/abi.h"

struct nl_sim_worker;

/* What is remembered of a kernel from launch to launch; hints, written without a lock. */
typedef struct nl_sim_history {
    uint32_t synchronises; /* its threads wait for one another: start them as fibers */
    uint32_t cost;         /* of a block in nanoseconds; 0: not known yet */
} nl_sim_history;

typedef enum nl_sim_stop { NL_SIM_GOES_ON, NL_SIM_OVERDUE, NL_SIM_INTERRUPTED } nl_sim_stop;

/* An end for a launch that has none (watch.h). */
typedef struct nl_sim_watch {
    uint64_t deadline;        /* when, in nanoseconds */
    uint32_t stopped;         /* an nl_sim_stop */
    uintptr_t code, code_end; /* of the image */
    struct nl_sim_job *next;
} nl_sim_watch;

/* One launch. The caller fills the first part (the rest zero) and keeps it until nl_sim_grid_run
 * has returned. */
typedef struct nl_sim_job {
    nl_sim_launch launch;
    const nl_sim_kernel *kernel;
    const struct nl_sim_object *image; /* what the kernel is of; NULL: not known */
    int is_python;                     /* the kernel's body is Python: messages are in its words */
    nl_sim_history *history;
    size_t stack_size; /* of each thread */
    int interleaved;   /* blocks run one at a time (interleave.h) */
    int shuffled;      /* in the order that `seed` gives; interleaved, too */
    uint64_t seed;
    struct nl_sim_interleaver *interleaver;
    struct nl_sim_schedule *schedule; /* the switches of threads (schedule.h); NULL: not */
    int is_deadlocked;               /* no thread can go on, in this schedule and all that follow */
    int is_silent;                   /* printf prints nothing */
    struct nl_sim_cluster *clusters; /* those that run (cluster.h); NULL: there are none */
    uint64_t cluster_count;
    const struct nl_sim_overlap *overlap; /* NULL: not watched (check/overlap.h) */
    uint64_t limit_ms;                    /* how long it may run; 0: for ever */
    nl_sim_watch watch;
    const struct nl_sim_observer *observer; /* NULL: nobody watches (observer.h) */
    struct nl_sim_check *check;             /* the observer's */
    unsigned depth;                         /* of launches inside of kernels (nested.h) */
    struct nl_sim_child *children;          /* what it has launched, the newest first */

    uint64_t blocks, next;      /* next: taken by the workers in chunks */
    uint64_t done;              /* blocks that have ended, up to the last chunk of each worker */
    struct nl_sim_job *running; /* the next one that runs (progress.h) */
    uint32_t chunk;             /* the largest */
    uint32_t stop;              /* a block has faulted: take no more */
    uint64_t started;           /* when, in nanoseconds */
    unsigned helpers, most;     /* other threads that may join, and the most that can */
    nl_threads_job shared;      /* what they join */

    nl_mutex lock;
    nl_cond crossed;
    unsigned arrived, ended; /* blocks at the grid barrier, and those that have ended */
    uint64_t crossings;
    nl_sim_site grid_site; /* where the last to arrive at it waits */
    int status;
    nl_fault fault; /* the first, if status is not CUDA_SUCCESS */
} nl_sim_job;

/* Around nl_sim_grid_run; in between a fault may be recorded from anywhere. */
void nl_sim_job_open(nl_sim_job *job);
void nl_sim_job_close(nl_sim_job *job);
/* Begins to hand out blocks, to the caller and to as many threads of the pool as the kernel seems
 * to be worth: each calls run(job) once. Returns when the last of them has left. */
void nl_sim_job_share(nl_sim_job *job, void (*run)(void *job));
void nl_sim_job_unshare(nl_sim_job *job);
/* The next blocks to run: worker->next to worker->end. 0 if there are none. */
int nl_sim_job_take(nl_sim_job *job, struct nl_sim_worker *worker);
/* Records a fault, unless there is one already, and stops the grid. */
void nl_sim_job_fault(nl_sim_job *job, CUresult status, const nl_fault *fault);
void nl_sim_job_fault_lock_held(nl_sim_job *job, CUresult status, const nl_fault *fault);
/* Takes no more blocks; those that run are to leave. */
void nl_sim_job_stop(nl_sim_job *job);

/* How many blocks a cluster has; 0 or 1: there are no clusters. */
static inline unsigned nl_sim_job_cluster_size(const nl_sim_job *job) {
    const nl_sim_dim *size = &job->launch.cluster;
    return size->x * size->y * size->z;
}
static inline int nl_sim_job_stopped(const nl_sim_job *job) {
    return (int)nl_atomic_load32_relaxed(&job->stop);
}
static inline int nl_sim_job_synchronises(const nl_sim_job *job) {
    return (int)nl_atomic_load32_relaxed(&job->history->synchronises) || job->observer != NULL;
}
static inline void nl_sim_job_set_synchronises(nl_sim_job *job) {
    nl_atomic_store32_relaxed(&job->history->synchronises, 1);
}

#endif
