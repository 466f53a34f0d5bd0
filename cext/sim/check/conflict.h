/* sim/check/conflict: launches that are checked for races or for threads that wait in vain: what
 * every access of their threads means for that, and the report of a race. */
#ifndef NL_SIM_CHECK_CONFLICT_H
#define NL_SIM_CHECK_CONFLICT_H

#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_abi.h"

struct nl_sim_job;
struct nl_sim_worker;

/* Around the launch, whose job->check says what is wanted. -1 without memory. The end comes in any
 * case; it gives the status of the launch. */
int nl_sim_conflict_begin(struct nl_sim_job *job);
CUresult nl_sim_conflict_end(struct nl_sim_job *job);

/* Has the running thread made so many accesses that others should run before the next,
 * which is of this kind? */
int nl_sim_conflict_is_due(struct nl_sim_worker *worker, uintptr_t address, unsigned kind);
/* An access of the running thread that is made next. */
void nl_sim_conflict_access(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                            unsigned kind, const void *pc);
/* One that comes before the asynchronous copy of which `copy` says who began it and where, and
 * whether it writes there, has been waited for. */
struct nl_sim_race_side;
void nl_sim_conflict_early(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                           unsigned kind, const void *pc, const struct nl_sim_race_side *copy);
/* The block of a cluster ends: have the others done with its shared memory? */
void nl_sim_conflict_end_shared(struct nl_sim_worker *worker);
/* Of nl_sim_checker: */
void nl_sim_conflict_fence(void);
void nl_sim_conflict_preempt(void);

#endif
