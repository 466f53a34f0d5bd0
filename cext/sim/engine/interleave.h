/* sim/engine/interleave: the deterministic scheduler of a grid. One thread of the operating system
 * runs at a time, and which one, and which thread of its block, is decided here, so that the same
 * seed gives the same interleaving. Launches that are checked for races run like this, and those
 * whose order is shuffled.
 *
 * Blocks run one after the other. One that cannot go on by itself, because it spins or is at the
 * barrier of the grid, lets another begin or go on; since each needs a stack for every thread and
 * __shared__ memory of its own, that one has another thread of the operating system, its carrier.
 * And some times in a launch one does so before an atomic: between looking at a lock and taking it,
 * say, or while it has it. */
#ifndef NL_SIM_ENGINE_INTERLEAVE_H
#define NL_SIM_ENGINE_INTERLEAVE_H

#include <stdint.h>
#include "base/lock.h"

struct nl_sim_job;
struct nl_sim_worker;

typedef struct nl_sim_interleaver nl_sim_interleaver;

/* How many blocks can have begun and not ended. */
uint64_t nl_sim_interleave_most(const struct nl_sim_job *job);
/* Runs all blocks: run(job, carrier) on each carrier's thread, which takes blocks until none is
 * left. Needs job->interleaver to be NULL, and leaves it so. */
void nl_sim_interleave_run(struct nl_sim_job *job,
                           void (*run)(struct nl_sim_job *job, unsigned carrier));
/* Others may run; returns when this worker has the token again. needed: this one gets no further
 * without them. */
void nl_sim_interleave_pass(struct nl_sim_worker *worker, int needed);
/* The same until nl_sim_interleave_wake. -1 if there is nobody who could call it. The job's lock
 * must not be held. */
int nl_sim_interleave_wait(struct nl_sim_worker *worker);
void nl_sim_interleave_wake(struct nl_sim_job *job);

/* The worker is about to run the block with this linear index, unless the job's schedule wants
 * another block. */
void nl_sim_interleave_enter(struct nl_sim_worker *worker, uint64_t block);

/* No thread of the worker's block can go on before `progress` changes: is this so for all blocks,
 * and has each begun? */
int nl_sim_interleave_is_stuck(struct nl_sim_worker *worker, uint64_t progress);

/* The next number of the launch's own sequence, below `end`. */
uint64_t nl_sim_interleave_random(struct nl_sim_job *job, uint64_t end);
/* How many accesses the running thread makes until others may run. */
unsigned nl_sim_interleave_slice(struct nl_sim_job *job);
/* Should others run before this atomic or volatile access? */
int nl_sim_interleave_is_due_at_atomic(struct nl_sim_job *job);
/* Which block is the n-th to run. */
uint64_t nl_sim_interleave_block(const struct nl_sim_job *job, uint64_t n);

#endif
