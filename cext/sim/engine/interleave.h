/* sim/engine/interleave: schedules the threads of a grid deterministically. Only one OS thread runs
 * kernel code at a time. The scheduler decides which OS thread runs, and which thread of its block,
 * so that the same seed always produces the same interleaving. The scheduler is used for launches
 * that are checked for races and for launches in shuffled order.
 *
 * Blocks run one after the other by default. A block that cannot continue alone, because it spins
 * or waits at the barrier of the grid, lets another block begin or continue. Each block needs a
 * stack for every thread and its own __shared__ memory, so each block has its own OS thread, its
 * carrier. A limited number of times per launch, a block also yields before an atomic access, for
 * example between reading and acquiring a lock, or while it holds the lock. */
#ifndef NL_SIM_ENGINE_INTERLEAVE_H
#define NL_SIM_ENGINE_INTERLEAVE_H

#include <stdint.h>
#include "base/lock.h"

struct nl_sim_job;
struct nl_sim_worker;

typedef struct nl_sim_interleaver nl_sim_interleaver;

/* Returns the maximum number of blocks that may be alive (begun, but not ended) at the same time.
 */
uint64_t nl_sim_interleave_max_carriers(const struct nl_sim_job *job);
/* Runs all blocks: calls run(job, carrier) on each carrier's thread, which must run blocks until
 * all blocks have begun. job->interleaver must be NULL before and is NULL after the call. */
void nl_sim_interleave_run(struct nl_sim_job *job,
                           void (*run)(struct nl_sim_job *job, unsigned carrier));
/* Lets other blocks run; returns when this worker has the token again. `needed` is set if the block
 * cannot continue until other blocks make progress. */
void nl_sim_interleave_pass_token(struct nl_sim_worker *worker, int needed);
/* Waits until nl_sim_interleave_wake is called. Returns -1 if no other block can run, and thus no
 * block could call nl_sim_interleave_wake. The caller must not hold the job's lock. */
int nl_sim_interleave_wait(struct nl_sim_worker *worker);
void nl_sim_interleave_wake(struct nl_sim_job *job);

/* Lets another block run first if the job's schedule requires this. Call this function before the
 * worker runs the block with this linear index. */
void nl_sim_interleave_begin_block(struct nl_sim_worker *worker, uint64_t block);

/* Records that no thread of the worker's block can continue before `progress` changes. Returns 1 if
 * no thread of any block can continue, and all blocks have begun. */
int nl_sim_interleave_is_stuck(struct nl_sim_worker *worker, uint64_t progress);
/* Iterates over the workers of the other running blocks: returns the worker after `after`, the
 * first one if `after` is NULL, and NULL when there are no more. */
struct nl_sim_worker *nl_sim_interleave_next_block(const struct nl_sim_worker *worker,
                                                   const struct nl_sim_worker *after);

/* Returns a pseudo-random number less than `end` from the launch's own sequence. */
uint64_t nl_sim_interleave_random(struct nl_sim_job *job, uint64_t end);
/* Chooses the number of accesses that the running thread makes before other threads run. */
unsigned nl_sim_interleave_slice_length(struct nl_sim_job *job);
/* Returns whether other blocks should run before the running thread's next atomic or volatile
 * access. */
int nl_sim_interleave_is_due_at_atomic(struct nl_sim_job *job);
/* Returns the index of the n-th block to run. */
uint64_t nl_sim_interleave_nth_block(const struct nl_sim_job *job, uint64_t n);

#endif
