/* sim/engine/worker: the state of a simulated multiprocessor, which an OS thread needs while it
 * runs blocks of a grid: the current block, its threads and warps, and their stacks.
 *
 * Every thread of the block is in one of these states:
 *   running   it is worker->current
 *   ready     its bit is in warp.ready; it has not started (fiber.sp is NULL) or waits for its turn
 *   waiting   its bit is in warp.barrier, .grid or .active, or in `arrived` of one of the warp's
 *             groups, or it is counted in tile_arrived; thread.wait and thread.site are the
 *             operation and its source line, for reports
 *   exited    its bit is not in warp.live
 *
 * While worker->fibers is 0, the block is a plain loop and this state is not maintained. */
#ifndef NL_SIM_ENGINE_WORKER_H
#define NL_SIM_ENGINE_WORKER_H

#include <stdint.h>
#include <string.h>
#include "base/lock.h"
#include "sim/abi.h"
#include "sim/engine/stack.h"

enum { NL_SIM_MAX_THREADS = 1024, NL_SIM_LANES = 32, NL_SIM_WARPS = 32 };

/* Values of nl_sim_thread.wait: the operation in which a thread waits. */
enum {
    NL_SIM_WAIT_NONE = 0,
    NL_SIM_WAIT_BLOCK = 1, /* + nl_sim_block_op */
    NL_SIM_WAIT_WARP = 8,  /* + nl_sim_warp_op */
    NL_SIM_WAIT_TILE = 57, /* + 1 for two warps, 2 for four, ... 5 for 32 */
    NL_SIM_WAIT_CLUSTER = 63,
    NL_SIM_WAIT_GRID = 64,
    NL_SIM_WAIT_SPIN, /* the thread waits for its next turn, in a loop that polls */
    NL_SIM_WAIT_TURN, /* the thread waits for its next turn, after it was interrupted at the address
                       * pc */
};

typedef struct nl_sim_thread {
    nl_sim_fiber fiber;
    nl_sim_site site;
    uint64_t value;    /* input value of the lane in a warp operation, then its result */
    const void *pc;    /* source position of the thread's last access, if accesses are checked */
    uintptr_t touched; /* address of the thread's last access to device or shared memory */
    const nl_sim_named *named; /* its named arrays (check/named.h) */
    uint32_t argument;
    uint32_t mask;
    uint16_t stack;
    uint8_t wait;
    uint8_t worked; /* in a checked launch, set if the thread has written, or synchronized */
    /* set if the thread has arrived at the cluster's barrier: 1 + parity of the crossing, or 0 if
     * it has not arrived */
    uint8_t at_cluster;
} nl_sim_thread;

/* The lanes that have arrived at one warp operation. */
typedef struct nl_sim_group {
    uint32_t mask, arrived;
    uint16_t op, mixed; /* `mixed` is set if lanes have arrived from different source lines */
    int line;
} nl_sim_group;

typedef struct nl_sim_warp {
    _Alignas(32) uint32_t live, ready, barrier, grid, active;
    uint32_t yielded;     /* mask of the ready lanes that yielded because they wait for another
                           * thread */
    uint32_t group_count; /* used entries of worker.groups */
    /* number of consecutive reads by lanes that were not at the same position as the other lanes */
    uint32_t alone;
} nl_sim_warp;

typedef struct nl_sim_barrier {
    /* must remain the first member, and this struct the first member of the worker
     * (trampoline.c) */
    int result;
    int op;
    unsigned arrived, count;
    int mixed; /* set if threads arrived at different positions or in different operations */
    nl_sim_site site;
} nl_sim_barrier;

/* The reason why control returned to the worker's own stack. */
typedef enum nl_sim_leave {
    NL_SIM_DONE,     /* the block has ended; in a loop, all reserved blocks have ended */
    NL_SIM_EXIT,     /* a thread of the loop ended before its function returned */
    NL_SIM_FAULT,    /* a fault was recorded, and the grid is abandoned */
    NL_SIM_TRAP,     /* a signal was received, which worker->trap describes, and was not recorded
                      * yet */
    NL_SIM_STOPPED,  /* the grid was stopped by a fault of another block */
    NL_SIM_REPLAYED, /* a replayed thread reached an operation that ends the replay */
} nl_sim_leave;

typedef struct nl_sim_trap {
    int signal, code;
    uintptr_t address, instruction, stack;
} nl_sim_trap;

enum { NL_SIM_SIGNAL_STACK = 65536 }; /* bytes */

struct nl_sim_job;

typedef struct nl_sim_worker {
    nl_sim_barrier barrier;
    struct nl_sim_job *job;
    const nl_sim_kernel *kernel;
    int fibers;       /* set if the block was converted to fibers */
    unsigned current; /* the running thread, if fibers is set */
    unsigned live;    /* number of threads that have not exited */
    uint32_t ready_warps;
    unsigned grid_waiting;
    uint16_t tile_arrived[NL_SIM_WARPS]; /* counters of tile.c */
    unsigned active_waiting; /* number of lanes in __activemask, plus 1 if the order is shuffled */
    nl_sim_site grid_site;   /* position of the last thread to arrive at the grid barrier */
    unsigned threads, warps;

    /* For launches with clusters (cluster.h): */
    struct nl_sim_cluster *cluster; /* NULL: no clusters */
    unsigned cluster_rank;
    /* number of live threads that have arrived at the cluster's barrier */
    unsigned cluster_arrived;
    unsigned cluster_waiting;      /* number of threads that wait at the cluster's barrier */
    int at_cluster, cluster_ended; /* set when the block has arrived at the cluster's barrier, and
                                    * when the block has ended */
    uint64_t cluster_phase;        /* number of crossings of the cluster's barrier that the block
                                    * has processed */
    uintptr_t locals, locals_end;  /* address range of the thread-local variables of the image */

    nl_sim_dim index; /* index of the block */
    /* blocks that this worker has reserved: index of the current block, and the end */
    uint64_t next, end;
    uint32_t chunk; /* number of blocks in the next chunk */
    uint64_t taken; /* size of its last chunk */
    /* set for the worker of the launching thread, which decides whether more threads join the
     * launch */
    int owner;
    unsigned first; /* first thread of the loop over the threads */
    nl_sim_leave leave;
    void (*thread_entry)(void *);
    /* For interleaved blocks (interleave.h): */
    unsigned carrier, shuffled;
    unsigned slice;            /* number of accesses after which other threads may run */
    unsigned at_atomic;        /* set if other blocks run before the next atomic access */
    struct nl_sim_spin *spins; /* state of deadlock.h; NULL until it is needed */
    unsigned yields, slices;   /* turns since other blocks ran */
    const struct nl_sim_observer *observer; /* same as job->observer */
    /* State of the observer: */
    int reals;                /* set if floating-point exceptions are enabled (reals.h) */
    unsigned modes;           /* their state before that */
    int stepping;             /* set while the next instruction is single-stepped */
    struct nl_sim_race *race; /* NULL: no race check */
    struct nl_sim_race_block *race_block;
    struct nl_sim_profile_part *profile; /* NULL: no profile */
    struct nl_sim_doubts *doubts;        /* state of check/shuffle.h; NULL until it is needed */
    int inside;    /* set while a fiber runs: a signal then comes from the kernel */
    int replaying; /* set while the engine searches for the thread that trapped */
    nl_sim_trap trap;

    nl_sim_fiber main; /* the OS thread's own stack */
    /* fiber that runs the loop over threads; when the loop is converted to fibers, it becomes a
     * thread's fiber */
    nl_sim_fiber root;
    uint16_t root_stack;
    unsigned id;
    void *shared;
    char *shared_end; /* end of dynamic shared memory, followed by a guard */
    char *signal_stack;
    /* links of the list of busy workers; idle workers use only `later` */
    struct nl_sim_worker *later, *earlier;
    nl_thread os_thread; /* the OS thread that uses the worker */
    /* For checked launches: */
    uintptr_t image_low, image_high;
    struct nl_sim_arena *arena; /* the block's shared memory (sim/check/arena.h); allocated once */

    _Alignas(64) nl_sim_warp warp[NL_SIM_WARPS];
    nl_sim_group groups[NL_SIM_WARPS][NL_SIM_LANES];
    /* Each of the following members has its own cache line. */
    /* the last entry is unused and only makes prefetching safe */
    _Alignas(64) nl_sim_thread thread[NL_SIM_MAX_THREADS + 1];
    nl_sim_stacks stacks;
} nl_sim_worker;

/* Fibers stay on their OS thread, so this thread-local variable is safe; every operation reads it,
 * so access must be fast. */
#if defined(__GLIBC__) && !defined(NL_SIM_TSAN)
#define NL_SIM_FAST_TLS __attribute__((tls_model("initial-exec"), visibility("hidden")))
#define NL_SIM_INITIAL_EXEC 1
#else
#define NL_SIM_FAST_TLS __attribute__((visibility("hidden")))
#endif
/* NL_SIM_TRAMPOLINES: barriers and thread starts use trampoline.c. */
#if defined(__x86_64__) && defined(__LP64__) && defined(NL_SIM_INITIAL_EXEC) && \
    !defined(NL_SIM_UCONTEXT) && !defined(NL_SIM_ASAN) && !defined(NL_SIM_TSAN)
#define NL_SIM_TRAMPOLINES 1
#define NL_SIM_LOCAL __attribute__((visibility("hidden")))
#endif
/* The worker that runs kernel code on this OS thread, or NULL. */
extern _Thread_local nl_sim_worker *nl_sim_worker_current NL_SIM_FAST_TLS;

/* Returns the maximum number of blocks that run concurrently: either NUMBALITE_NUM_THREADS, or the
 * number of processors that this process may use. */
unsigned nl_sim_worker_limit(void);
/* Returns a worker for the blocks of a job that the calling thread will run. Returns NULL if memory
 * runs out. A worker is never destroyed. */
nl_sim_worker *nl_sim_worker_acquire(struct nl_sim_job *job);
void nl_sim_worker_release(nl_sim_worker *worker);
/* Switches from a fiber to the worker's own stack, and does not return. */
_Noreturn void nl_sim_worker_leave_block(nl_sim_worker *worker, nl_sim_leave reason);
/* Sends a signal to all threads that run blocks of the job. */
void nl_sim_worker_signal_threads(const struct nl_sim_job *job, int number);
/* Removes all workers of the parent process; call this function in a forked child. */
void nl_sim_worker_remove_all_in_child(void);

/* Returns whether both sites are the same position in the source. */
static inline int nl_sim_same_site(nl_sim_site a, nl_sim_site b) {
    return a.line == b.line && a.column == b.column &&
           (a.file == b.file || strcmp(a.file, b.file) == 0);
}

#endif
