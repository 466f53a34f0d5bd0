/* sim/engine/worker: one simulated multiprocessor: what an OS thread needs while it runs blocks of
 * a grid. The block that it is running, the state of its threads and warps, their stacks.
 *
 * Every thread of the block is in one of these states:
 *   running   it is worker->current
 *   ready     its bit is in warp.ready; it has not started (fiber.sp is NULL) or waits its turn
 *   waiting   its bit is in warp.barrier, .grid or .active, or in the `arrived` of one of its
 *             groups, or it is counted in tile_arrived; thread.wait and thread.site say for what,
 *             for reports
 *   exited    its bit is not in warp.live
 *
 * As long as worker->fibers is 0 the block is still a plain loop and none of this is kept. */
#ifndef NL_SIM_ENGINE_WORKER_H
#define NL_SIM_ENGINE_WORKER_H

#include <stdint.h>
#include <string.h>
#include "base/lock.h"
#include "sim/abi.h"
#include "sim/engine/stack.h"

enum { NL_SIM_MAX_THREADS = 1024, NL_SIM_LANES = 32, NL_SIM_WARPS = 32 };

/* nl_sim_thread.wait */
enum {
    NL_SIM_WAIT_NONE = 0,
    NL_SIM_WAIT_BLOCK = 1, /* + nl_sim_block_op */
    NL_SIM_WAIT_WARP = 8,  /* + nl_sim_warp_op */
    NL_SIM_WAIT_TILE = 57, /* + 1 for two warps, 2 for four, ... 5 for 32 */
    NL_SIM_WAIT_CLUSTER = 63,
    NL_SIM_WAIT_GRID = 64,
    NL_SIM_WAIT_SPIN, /* for its next turn, in a loop that tries again and again */
    NL_SIM_WAIT_TURN, /* for its next turn, having been interrupted at pc */
};

typedef struct nl_sim_thread {
    nl_fiber fiber;
    nl_sim_site site;
    uint64_t value;            /* what the lane brings to a warp operation, then what it gets */
    const void *pc;            /* of its last access, where accesses are checked */
    uintptr_t touched;         /* by the last of device or shared memory */
    const nl_sim_named *named; /* arrays that it has (names.h) */
    uint32_t argument;
    uint32_t mask;
    uint16_t stack;
    uint8_t wait;
    uint8_t worked;     /* in a checked launch: it has written, or synchronised */
    uint8_t at_cluster; /* it has arrived at the barrier of its cluster, 1 or 2 by its parity */
} nl_sim_thread;

/* Lanes that have arrived at one warp operation. */
typedef struct nl_sim_group {
    uint32_t mask, arrived;
    uint16_t op, mixed; /* mixed: lanes came from different lines */
    int line;
} nl_sim_group;

typedef struct nl_sim_warp {
    _Alignas(32) uint32_t live, ready, barrier, grid, active;
    uint32_t yielded; /* of the ready lanes, those that gave up their turn waiting for something */
    uint32_t group_count; /* of worker.groups */
    uint32_t alone; /* so often lanes have gone on that others were not in step with, for reading */
} nl_sim_warp;

typedef struct nl_sim_barrier {
    int result; /* stays first in here, and this in the worker: trampoline.c */
    int op;
    unsigned arrived, count;
    int mixed; /* threads arrived at different places, or in different operations */
    nl_sim_site site;
} nl_sim_barrier;

/* Why control came back to the worker's own stack. */
typedef enum nl_sim_leave {
    NL_SIM_DONE,     /* the block, or in a loop all blocks taken, are done */
    NL_SIM_EXIT,     /* a thread of the loop ended before its function returned */
    NL_SIM_FAULT,    /* recorded; the grid is abandoned */
    NL_SIM_TRAP,     /* a signal: worker->trap says which; still to be recorded */
    NL_SIM_STOPPED,  /* another block's fault has stopped the grid */
    NL_SIM_REPLAYED, /* a replayed thread got as far as it can */
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
    int fibers;       /* the block has been turned into fibers */
    unsigned current; /* the running thread, if fibers */
    unsigned live;    /* threads that have not exited */
    uint32_t ready_warps;
    unsigned grid_waiting;
    uint16_t tile_arrived[NL_SIM_WARPS]; /* tile.c */
    unsigned active_waiting; /* lanes in __activemask, and 1 where the order is shuffled */
    nl_sim_site grid_site;   /* of the thread that came last to the barrier over the grid */
    unsigned threads, warps;

    /* Where there are clusters (cluster.h): */
    struct nl_sim_cluster *cluster; /* NULL: there are none */
    unsigned cluster_rank;
    unsigned cluster_arrived;      /* of the live threads, those that have arrived at its barrier */
    unsigned cluster_waiting;      /* threads that wait there */
    int at_cluster, cluster_ended; /* the block is at the barrier; it has ended */
    uint64_t cluster_phase;        /* crossings that the block knows of */
    uintptr_t locals, locals_end;  /* the thread-local variables of the image */

    nl_sim_dim index;   /* of the block */
    uint64_t next, end; /* blocks that this worker has taken: the one it runs, and the end */
    uint32_t chunk;     /* how many it takes next */
    uint64_t taken;     /* the size of its last chunk */
    int owner;          /* of the job: it decides whether others should come */
    unsigned first;     /* where the loop over the threads starts */
    nl_sim_leave leave;
    void (*thread_entry)(void *);
    /* Where blocks are interleaved (interleave.h): */
    unsigned carrier, shuffled;
    unsigned slice;                         /* accesses until others may run */
    unsigned at_atomic;                     /* they run now, before an atomic */
    struct nl_sim_spin *spins;              /* deadlock.h; NULL until they are needed */
    unsigned yields, slices;                /* since it gave others a turn */
    const struct nl_sim_observer *observer; /* as job->observer */
    /* What the observer keeps here: */
    int reals;                /* exceptions of real numbers are switched on (reals.h), */
    unsigned modes;           /* as they were before, */
    int stepping;             /* and it makes a single step */
    struct nl_sim_race *race; /* NULL: races are not looked for */
    struct nl_sim_race_block *race_block;
    struct nl_sim_profile_part *profile; /* NULL: accesses are not counted */
    struct nl_sim_doubts *doubts;        /* shuffle.h; NULL until they are needed */
    int inside;                          /* on a fiber: what traps now is the kernel */
    int replaying;                       /* looking for the thread that trapped */
    nl_sim_trap trap;

    nl_fiber main; /* the OS thread's own stack */
    nl_fiber root; /* runs the loop; becomes a thread's fiber when the loop is turned into fibers */
    uint16_t root_stack;
    unsigned id;
    void *shared;
    char *shared_end; /* where dynamic shared memory ends, and a guard begins */
    char *signal_stack;
    struct nl_sim_worker *later, *earlier; /* in the list of the busy; of the idle the first */
    nl_thread os_thread;                   /* that it runs on */
    /* In a checked launch: */
    uintptr_t image_low, image_high;
    struct nl_sim_arena *arena; /* the block's shared memory (sim/check/arena.h); made once */

    _Alignas(64) nl_sim_warp warp[NL_SIM_WARPS];
    nl_sim_group groups[NL_SIM_WARPS][NL_SIM_LANES];
    /* Each on a line of the cache. */
    _Alignas(64) nl_sim_thread
        thread[NL_SIM_MAX_THREADS + 1]; /* the last only makes reading ahead harmless */
    nl_sim_stacks stacks;
} nl_sim_worker;

/* Fibers stay on their OS thread, so a thread-local is safe; this one is read at every operation.
 */
#if defined(__GLIBC__) && !defined(NL_SIM_TSAN)
#define NL_SIM_FAST_TLS __attribute__((tls_model("initial-exec"), visibility("hidden")))
#define NL_SIM_INITIAL_EXEC 1
#else
#define NL_SIM_FAST_TLS __attribute__((visibility("hidden")))
#endif
/* Do threads enter barriers, and begin, by way of trampoline.c? */
#if defined(__x86_64__) && defined(__LP64__) && defined(NL_SIM_INITIAL_EXEC) && \
    !defined(NL_SIM_UCONTEXT) && !defined(NL_SIM_ASAN) && !defined(NL_SIM_TSAN)
#define NL_SIM_TRAMPOLINES 1
#define NL_SIM_LOCAL __attribute__((visibility("hidden")))
#endif
/* The worker that runs kernel code on this OS thread, or NULL. */
extern _Thread_local nl_sim_worker *nl_sim_current NL_SIM_FAST_TLS;

/* How many blocks run at once: NUMBALITE_NUM_THREADS, or the processors that we may use. */
unsigned nl_sim_worker_limit(void);
/* For the blocks of a job that the calling thread will run. NULL if there is no memory. A worker is
 * never destroyed. */
nl_sim_worker *nl_sim_worker_acquire(struct nl_sim_job *job);
void nl_sim_worker_release(nl_sim_worker *worker);
/* On a fiber: back to the worker's own stack, for good. */
_Noreturn void nl_sim_worker_leave(nl_sim_worker *worker, nl_sim_leave reason);
/* Sends a signal to all threads that run blocks of the job. */
void nl_sim_worker_signal(const struct nl_sim_job *job, int number);
/* All workers as they were after fork: the child uses none. */
void nl_sim_worker_forget(void);

/* Is it the same call in the source? */
static inline int nl_sim_same_site(nl_sim_site a, nl_sim_site b) {
    return a.line == b.line && a.column == b.column &&
           (a.file == b.file || strcmp(a.file, b.file) == 0);
}

#endif
