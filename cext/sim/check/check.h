/* sim/check/check: looking for mistakes in kernels while they run.
 *
 * A launch that is checked runs an image of its kernel that is compiled for it
 * (sim/driver/module.h), whose accesses of memory come here when the shadow (sim/engine/shadow.h)
 * does not plainly allow them, or all of them if somebody wants all. Everything that is found is
 * put into the launch's list (sim/check/finding.h). job->check is NULL for a launch that is not
 * checked, and nothing here runs. */
#ifndef NL_SIM_CHECK_CHECK_H
#define NL_SIM_CHECK_CHECK_H

#include "driver/checks.h"
#include "driver/cuda_abi.h"
#include "sim/check/launch.h"
#include "sim/engine/worker.h"

/* What the calling thread's launches are to be checked for (nl_driver.SetChecks). */
void nl_sim_check_set(const nl_checks *checks);
void nl_sim_check_set_process(const nl_checks *checks, nl_checks_compile_fn compile);
/* Never NULL; mask 0: nothing. */
const nl_checks *nl_sim_check_wanted(void);
uint32_t nl_sim_check_mask(void);
nl_checks_compile_fn nl_sim_check_compiler(void);

/* Around a checked launch, of a kernel in `image`; what the rest of it says is the caller's to fill
 * in. NULL without memory. */
nl_sim_check *nl_sim_check_begin(const nl_checks *wanted, const nl_sim_object *image);
/* Releases it. Returns the status of the launch: CUDA_SUCCESS, or with the report in `fault`. */
CUresult nl_sim_check_end(nl_sim_check *check, const char *kernel, nl_fault *fault);

/* What instrumented images call (nl_sim_checker). */
int nl_sim_check_access(void *address, unsigned long long size, unsigned kind, const void *pc);
void nl_sim_check_copy(void *to, const void *from, unsigned long long size, const void *pc);
void nl_sim_check_fill(void *to, int value, unsigned long long size);
__attribute__((noreturn)) void nl_sim_check_index(const struct nl_sim_index *what, const void *pc);

void nl_sim_check_subscript(const char *type, long long index, nl_sim_site site, unsigned column,
                            const void *pc);

void nl_sim_check_unset(const struct nl_sim_local *what, const void *pc);

void nl_sim_check_misaligned(void *address, unsigned align, int kind, const void *pc);

#endif
