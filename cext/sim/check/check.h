/* sim/check/check: finds errors in kernels while they run.
 *
 * A checked launch runs an instrumented image of its kernel (sim/driver/module.h). The image's
 * memory accesses call this code if the shadow memory (sim/engine/shadow.h) does not clearly allow
 * them, or for every access if a check needs every access. All errors are added to the launch's
 * list of findings (sim/check/finding.h). For a launch that is not checked, job->check is NULL and
 * this code does not run. */
#ifndef NL_SIM_CHECK_CHECK_H
#define NL_SIM_CHECK_CHECK_H

#include "driver/checks.h"
#include "driver/cuda_abi.h"
#include "sim/check/launch.h"
#include "sim/engine/worker.h"

/* Set the checks of the calling thread's launches (nl_driver.SetChecks), and the checks of the
 * process. */
void nl_sim_check_set_thread(const nl_checks *checks);
void nl_sim_check_set_process(const nl_checks *checks, nl_checks_compile_fn compile);
/* Returns the checks of the calling thread's launches. The result is never NULL; mask 0 means no
 * checks. */
const nl_checks *nl_sim_check_of_thread(void);
uint32_t nl_sim_check_mask_of_thread(void);
nl_checks_compile_fn nl_sim_check_get_compiler(void);

/* Creates the state of a checked launch of a kernel in `image`; the caller must set the state's
 * other members. Returns NULL if memory runs out. */
nl_sim_check *nl_sim_check_begin_launch(const nl_checks *wanted, const nl_sim_object *image);
/* Frees the state. Returns the status of the launch: CUDA_SUCCESS, or an error whose report is in
 * `fault`. */
CUresult nl_sim_check_end_launch(nl_sim_check *check, const char *kernel, nl_fault *fault);

/* Instrumented images call these functions (nl_sim_checker). */
int nl_sim_check_access(void *address, unsigned long long size, unsigned kind, const void *pc);
void nl_sim_check_copy(void *to, const void *from, unsigned long long size, const void *pc);
void nl_sim_check_fill(void *to, int value, unsigned long long size);
__attribute__((noreturn)) void nl_sim_check_index(const struct nl_sim_index *what, const void *pc);

void nl_sim_check_subscript(const char *type, long long index, nl_sim_site site, unsigned column,
                            const void *pc);

void nl_sim_check_report_unset(const struct nl_sim_local *what, const void *pc);

void nl_sim_check_misaligned(void *address, unsigned align, int kind, const void *pc);

#endif
