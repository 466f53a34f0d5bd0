/* sim/engine/job: describes one launch: its parameters, the distribution of its blocks, and its
 * result. */
#ifndef NL_SIM_ENGINE_JOB_H
#define NL_SIM_ENGINE_JOB_H

#include <stdint.h>
#include "base/fault.h"
#include "base/lock.h"
#include "base/threads.h"
#include "driver/cuda_abi.h"
#include "sim/abi.h"

struct nl_sim_worker;

/* Measurements of a kernel that are kept between launches. The measurements are only hints, and are
 * written without a lock. */
typedef struct nl_sim_history {
    /* set if the kernel's threads wait for each other, so that they start as fibers */
    uint32_t synchronises;
    uint32_t cost; /* of one block, in nanoseconds; 0: not measured yet */
} nl_sim_history;

typedef enum nl_sim_stop { NL_SIM_GOES_ON, NL_SIM_OVERDUE, NL_SIM_INTERRUPTED } nl_sim_stop;

/* A time limit for a launch (watch.h). */
typedef struct nl_sim_watch {
    uint64_t deadline;        /* a time of nl_clock_ns */
    uint32_t stopped;         /* an nl_sim_stop */
    uintptr_t code, code_end; /* address range of the image's code */
    struct nl_sim_job *next;
} nl_sim_watch;

/* One launch. The caller sets the first group of members, sets all other members to zero, and must
 * keep the job until nl_sim_grid_run has returned. */
typedef struct nl_sim_job {
    nl_sim_launch launch;
    const nl_sim_kernel *kernel;
    const struct nl_sim_object *image; /* the image that contains the kernel, or NULL if not
                                        * available */
    /* whether the kernel's body is Python, so that messages use Python names */
    int is_python;
    nl_sim_history *history;
    size_t stack_size; /* of each thread */
    int interleaved;   /* whether blocks run one at a time (interleave.h) */
    int shuffled;      /* whether `seed` determines the order of blocks; requires `interleaved` */
    uint64_t seed;
    struct nl_sim_interleaver *interleaver;
    struct nl_sim_schedule *schedule; /* chosen thread switches (schedule.h); NULL: none */
    /* set if no thread can continue, in this schedule and in all later schedules */
    int is_deadlocked;
    int is_silent;                   /* printf prints nothing */
    struct nl_sim_cluster *clusters; /* clusters that run (cluster.h); NULL: no clusters */
    uint64_t cluster_count;
    const struct nl_sim_overlap *overlap; /* NULL: not checked (check/overlap.h) */
    uint64_t limit_ms;                    /* time limit; 0: none */
    nl_sim_watch watch;
    const struct nl_sim_observer *observer; /* hooks (observer.h); NULL: none */
    struct nl_sim_check *check;             /* owned by the observer */
    /* nesting depth of launches inside kernels (nested.h) */
    unsigned depth;
    /* launches that the kernels of this grid have made, newest first */
    struct nl_sim_child *children;

    uint64_t blocks, next; /* `next` is the first block that no worker has reserved */
    uint64_t done; /* number of ended blocks, except those in the current chunks of the workers */
    struct nl_sim_job *running; /* next in the list of running grids (progress.h) */
    uint32_t chunk;             /* maximum size of a chunk */
    uint32_t stop;              /* set if the grid was stopped: workers then reserve no more
                                 * blocks */
    uint64_t started;           /* a time of nl_clock_ns */
    unsigned helpers, most;     /* number of other threads that may still join, and its maximum */
    nl_threads_job shared;      /* the job of the thread pool by which other threads join */

    nl_mutex lock;
    nl_cond crossed;
    unsigned arrived, ended; /* number of blocks that have arrived at the grid barrier, and of ended
                              * blocks */
    uint64_t crossings;
    nl_sim_site grid_site; /* position of the last block to arrive at the grid barrier */
    int status;
    nl_fault fault; /* the first fault, if status is not CUDA_SUCCESS */
} nl_sim_job;

/* Call nl_sim_job_open before and nl_sim_job_close after nl_sim_grid_run; while the job is open,
 * any thread may record a fault. */
void nl_sim_job_open(nl_sim_job *job);
void nl_sim_job_close(nl_sim_job *job);
/* nl_sim_job_start_helpers starts to distribute blocks to the caller and to as many threads of the
 * pool as the kernel's cost justifies; each thread calls run(job) once. nl_sim_job_end_helpers
 * returns when the last of these threads has finished. */
void nl_sim_job_start_helpers(nl_sim_job *job, void (*run)(void *job));
void nl_sim_job_end_helpers(nl_sim_job *job);
/* Reserves the next blocks, worker->next to worker->end - 1. Returns 0 if there are no more
 * blocks. */
int nl_sim_job_next_blocks(nl_sim_job *job, struct nl_sim_worker *worker);
/* Records a fault, unless a fault was already recorded, and stops the grid. */
void nl_sim_job_record_fault(nl_sim_job *job, CUresult status, const nl_fault *fault);
void nl_sim_job_fault_lock_held(nl_sim_job *job, CUresult status, const nl_fault *fault);
/* Stops the grid: workers reserve no more blocks, and running blocks should end. */
void nl_sim_job_stop(nl_sim_job *job);

/* Returns the number of blocks per cluster, which is 0 or 1 for a launch without clusters. */
static inline unsigned nl_sim_job_cluster_size(const nl_sim_job *job) {
    const nl_sim_dim *size = &job->launch.cluster;
    return size->x * size->y * size->z;
}
static inline int nl_sim_job_is_stopped(const nl_sim_job *job) {
    return (int)nl_atomic_load32_relaxed(&job->stop);
}
static inline int nl_sim_job_synchronises(const nl_sim_job *job) {
    return (int)nl_atomic_load32_relaxed(&job->history->synchronises) || job->observer != NULL;
}
static inline void nl_sim_job_set_synchronises(nl_sim_job *job) {
    nl_atomic_store32_relaxed(&job->history->synchronises, 1);
}

#endif
