/* sim/engine/observer: hooks by which the engine calls a checker. The engine calls these hooks if
 * job->observer is not NULL. */
#ifndef NL_SIM_ENGINE_OBSERVER_H
#define NL_SIM_ENGINE_OBSERVER_H

#include <signal.h>
#include "sim/engine/worker.h"

typedef struct nl_sim_observer {
    /* enter: called when an OS thread, as `worker`, is about to run blocks of the launch. leave:
     * called when the OS thread has run all of its blocks. */
    void (*enter)(nl_sim_worker *worker);
    void (*leave)(nl_sim_worker *worker);
    /* begin_block: called before any code of the block runs; returns -1 if the block cannot run,
     * after recording the error. end_block: called when the block has ended. */
    int (*begin_block)(nl_sim_worker *worker);
    void (*end_block)(nl_sim_worker *worker);
    void (*end_thread)(nl_sim_worker *worker, unsigned thread);
    /* Called when all live threads of the block are at the block's barrier, which will be released,
     * or at the barrier of the grid. */
    void (*barrier)(nl_sim_worker *worker);
    void (*grid_barrier)(nl_sim_worker *worker);
    /* Called when all threads of a tile, `count` threads from `first` on, are at the tile's
     * barrier. */
    void (*tile)(nl_sim_worker *worker, unsigned first, unsigned count);
    /* Called when all blocks are at the grid's barrier. */
    void (*cross_grid)(struct nl_sim_job *job);
    /* Called when a thread arrives at the barrier of its cluster, or has waited at this barrier.
     * `parity` alternates between 0 and 1 with each crossing of the barrier. */
    void (*cluster_arrive)(nl_sim_worker *worker, unsigned thread, unsigned parity);
    void (*cluster_wait)(nl_sim_worker *worker, unsigned thread, unsigned parity);
    /* Called before and after the values of a complete group of lanes are exchanged. */
    void (*exchange)(nl_sim_worker *worker, unsigned warp, const nl_sim_group *group);
    void (*exchanged)(nl_sim_worker *worker, unsigned warp, const nl_sim_group *group);
    /* Called when a thread reads the mask of its warp's active lanes. */
    void (*active)(nl_sim_worker *worker);
    /* Called before another block runs on another OS thread. */
    void (*pass)(nl_sim_worker *worker);
    /* The kernel has allocated memory. */
    void (*allocated)(nl_sim_worker *worker, uintptr_t address, size_t size);
    /* Called in handlers of SIGFPE, on a fiber. overflowed: called if the integer division at
     * `instruction` has overflowed. trapped: called if a floating-point exception was raised;
     * returns 1 if the thread can continue. */
    void (*overflowed)(nl_sim_worker *worker, const void *instruction);
    int (*trapped)(nl_sim_worker *worker, const siginfo_t *info, void *context);
    /* Returns whether the address is in shared memory that the observer allocated for the block. */
    int (*is_shared)(const nl_sim_worker *worker, uintptr_t address);
    /* Returns the address of the same shared variable and offset in the block of another worker. */
    uintptr_t (*map_shared)(nl_sim_worker *worker, uintptr_t address, nl_sim_worker *other);
    /* Returns whether the observer checks memory accesses. An observer that checks memory accesses
     * has already reported an invalid access when the processor traps. */
    int (*sees_accesses)(const nl_sim_worker *worker);
    /* Writes the name that the element at the address has in the kernel's source, as "out[127]".
     * Returns 0 if the element has no name. */
    int (*name)(const nl_sim_worker *worker, uintptr_t address, char *text, size_t size);
} nl_sim_observer;

#endif
