/* sim/check/profile: counts the accesses of launches that are profiled.
 *
 * A launch with nl_checks.profile runs an instrumented image of its kernel, which calls this file
 * at every access (sim/check/check.h). Each worker groups the accesses of its warps into requests
 * (sim/check/requests.h). At the end of the launch the counters are summed by line of the user's
 * source, and the result is stored until Python code fetches it. */
#ifndef NL_SIM_CHECK_PROFILE_H
#define NL_SIM_CHECK_PROFILE_H

#include "driver/profile.h"
#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* Opens and closes a profiling session, in which launches are profiled (nl_driver.OpenProfile and
 * related calls). */
uint64_t nl_sim_profile_open(void);
void nl_sim_profile_close(uint64_t token);
/* Returns the counters of the oldest finished launch; the caller must free them with nl_mem_free.
 * Returns NULL if no launch has finished. */
nl_profile *nl_sim_profile_take(uint64_t token);

/* Call nl_sim_profile_begin before and nl_sim_profile_end after a launch whose job->check is set.
 * nl_sim_profile_begin returns -1 if memory runs out. */
int nl_sim_profile_begin(nl_sim_job *job);
void nl_sim_profile_end(nl_sim_job *job, CUresult status);

/* Hooks that the observer calls (sim/check/observer.c) for launches with job->check->profile. */
void nl_sim_profile_begin_worker(nl_sim_worker *worker);
void nl_sim_profile_end_worker(nl_sim_worker *worker);
void nl_sim_profile_begin_block(nl_sim_worker *worker);
void nl_sim_profile_end_block(nl_sim_worker *worker);
/* Call this hook when all threads of the block have synchronized; is_barrier is set if they did so
 * at the block's barrier. */
void nl_sim_profile_count_barrier(nl_sim_worker *worker, int is_barrier);
/* Call this hook when these lanes of a warp have synchronized. */
void nl_sim_profile_count_exchange(nl_sim_worker *worker, unsigned warp, uint32_t lanes);

/* The state with which images count accesses on this OS thread, or NULL if the OS thread runs no
 * profiled launch.
 */
extern _Thread_local nl_sim_counting *nl_sim_profile_counting NL_SIM_FAST_TLS;
/* Returns nl_sim_checker.counting. */
long nl_sim_profile_counting_offset(void);
/* Called by instrumented images for each access, if worker->profile is set. Returns 1 if other
 * lanes must run first; the caller then repeats the access. Images count expected accesses
 * themselves (nl_sim_counting). */
int nl_sim_profile_count_access(nl_sim_worker *worker, uintptr_t address, size_t size,
                                unsigned kind, const void *pc);
/* Records that the running thread begins the next iteration of loop `number` or, if pc is NULL, has
 * left the loop. */
void nl_sim_profile_count_loop(unsigned number, const void *pc);
void nl_sim_profile_count_copy(nl_sim_worker *worker, uintptr_t to, uintptr_t from, size_t size,
                               const void *pc);

#endif
