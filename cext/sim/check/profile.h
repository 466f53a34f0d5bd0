/* sim/check/profile: the counters of launches that are profiled.
 *
 * A launch with nl_checks.profile runs an image of its kernel that was compiled with calls at every
 * access (sim/check/check.h). Each worker groups the accesses of its warps into requests
 * (sim/check/request.h). At the end of the launch the counters are added up by lines of the user's
 * source, and the result is kept until Python takes it. */
#ifndef NL_SIM_CHECK_PROFILE_H
#define NL_SIM_CHECK_PROFILE_H

#include "driver/profile.h"
#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* A block of code whose launches are profiled: nl_driver.OpenProfile and its siblings. */
uint64_t nl_sim_profile_open(void);
void nl_sim_profile_close(uint64_t token);
/* The oldest finished launch, which the caller frees with nl_mem_free; NULL if there is none. */
nl_profile *nl_sim_profile_take(uint64_t token);

/* Around a launch; job->check is set. -1 without memory. */
int nl_sim_profile_begin(nl_sim_job *job);
void nl_sim_profile_end(nl_sim_job *job, CUresult status);

/* The hooks of the observer (sim/check/observer.c), of launches whose job->check->profile is set.
 */
void nl_sim_profile_enter(nl_sim_worker *worker);
void nl_sim_profile_leave(nl_sim_worker *worker);
void nl_sim_profile_begin_block(nl_sim_worker *worker);
void nl_sim_profile_end_block(nl_sim_worker *worker);
/* All threads of the block have synchronised; is_barrier: at its barrier. */
void nl_sim_profile_barrier(nl_sim_worker *worker, int is_barrier);
/* Lanes of a warp have. */
void nl_sim_profile_exchanged(nl_sim_worker *worker, unsigned warp, uint32_t lanes);

/* Called by instrumented images. Returns 1 if other lanes must run first. */
int nl_sim_profile_access(nl_sim_worker *worker, uintptr_t address, size_t size, unsigned kind,
                          const void *pc);
/* Of the running thread. */
void nl_sim_profile_loop(unsigned number, int leaves);
void nl_sim_profile_copy(nl_sim_worker *worker, uintptr_t to, uintptr_t from, size_t size,
                         const void *pc);

#endif
