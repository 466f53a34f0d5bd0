/* sim/engine/observer: what somebody who watches a launch hears of it, and is asked. The engine
 * calls these where job->observer is not NULL, and knows nothing else of who that is. */
#ifndef NL_SIM_ENGINE_OBSERVER_H
#define NL_SIM_ENGINE_OBSERVER_H

#include <signal.h>
#include "sim/engine/worker.h"

typedef struct nl_sim_observer {
    /* An OS thread is going to run blocks of the launch, as `worker`; it has run all it got. */
    void (*enter)(nl_sim_worker *worker);
    void (*leave)(nl_sim_worker *worker);
    /* Before anything of the block runs; -1 if it cannot, which has been recorded. Its end. */
    int (*begin_block)(nl_sim_worker *worker);
    void (*end_block)(nl_sim_worker *worker);
    void (*end_thread)(nl_sim_worker *worker, unsigned thread);
    /* All live threads of the block are at its barrier, which is about to be released; at that of
     * the grid. */
    void (*barrier)(nl_sim_worker *worker);
    void (*grid_barrier)(nl_sim_worker *worker);
    /* So are all threads of a tile, which are `count` from `first` on. */
    void (*tile)(nl_sim_worker *worker, unsigned first, unsigned count);
    /* All blocks are at the grid's barrier. */
    void (*cross_grid)(struct nl_sim_job *job);
    /* A thread arrives at the barrier of its cluster; it has waited there. parity: of the crossing.
     */
    void (*cluster_arrive)(nl_sim_worker *worker, unsigned thread, unsigned parity);
    void (*cluster_wait)(nl_sim_worker *worker, unsigned thread, unsigned parity);
    /* A group of lanes is complete: before it gets its values, and with them. */
    void (*exchange)(nl_sim_worker *worker, unsigned warp, const nl_sim_group *group);
    void (*exchanged)(nl_sim_worker *worker, unsigned warp, const nl_sim_group *group);
    /* A thread asks which lanes of its warp are active. */
    void (*active)(nl_sim_worker *worker);
    /* Another block is going to run on another OS thread. */
    void (*pass)(nl_sim_worker *worker);
    /* The kernel has allocated memory. */
    void (*allocated)(nl_sim_worker *worker, uintptr_t address, size_t size);
    /* In handlers of SIGFPE, on a fiber: a quotient has overflowed, for which the processor stopped
     * at `instruction`; an exception of real numbers: 1 if the thread can go on. */
    void (*overflowed)(nl_sim_worker *worker, const void *instruction);
    int (*trapped)(nl_sim_worker *worker, const siginfo_t *info, void *context);
    /* Is the address in shared memory that the observer has given the block? */
    int (*is_shared)(const nl_sim_worker *worker, uintptr_t address);
    /* What such an address is for the block of another worker. */
    uintptr_t (*map_shared)(nl_sim_worker *worker, uintptr_t address, nl_sim_worker *other);
    /* Does it look at accesses of memory, so that a fault is no news? */
    int (*sees_accesses)(const nl_sim_worker *worker);
    /* What the kernel's author calls what lies at the address: "out[127]". 0 if it has no name. */
    int (*name)(const nl_sim_worker *worker, uintptr_t address, char *text, size_t size);
} nl_sim_observer;

#endif
