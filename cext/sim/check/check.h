/* sim/check/check: looking for mistakes in kernels while they run.
 *
 * A launch that is checked runs an instrumented twin of its kernel (sim/driver/module.h), whose
 * accesses of memory come here when the shadow (sim/check/shadow.h) does not plainly allow them, or
 * all of them if somebody wants all. Everything that is found is put into the launch's list
 * (sim/check/finding.h). job->check is NULL for a launch that is not checked, and nothing here
 * runs. */
#ifndef NL_SIM_CHECK_CHECK_H
#define NL_SIM_CHECK_CHECK_H

#include "driver/checks.h"
#include "driver/cuda_abi.h"
#include "sim/check/finding.h"
#include "sim/engine/worker.h"

struct nl_sim_function;
struct nl_sim_module;

/* One checked launch. */
typedef struct nl_sim_check {
    nl_checks wanted;
    const struct nl_sim_module *image;   /* the twin, for lines */
    const nl_sim_parameters *parameters; /* or NULL: not known */
    int every;                           /* all accesses are looked at (conflict.h) */
    nl_sim_findings findings;
} nl_sim_check;

/* What the calling thread's launches are to be checked for (nl_driver.SetChecks). */
void nl_sim_check_set(const nl_checks *checks);
void nl_sim_check_set_process(const nl_checks *checks, nl_checks_compile_fn compile);
/* Never NULL; mask 0: nothing. */
const nl_checks *nl_sim_check_wanted(void);
uint32_t nl_sim_check_mask(void);
nl_checks_compile_fn nl_sim_check_compiler(void);

/* Around a checked launch. NULL without memory. */
nl_sim_check *nl_sim_check_begin(const nl_checks *wanted, const struct nl_sim_function *function);
/* Releases it. Returns the status of the launch: CUDA_SUCCESS, or with the report in `text`. */
CUresult nl_sim_check_end(nl_sim_check *check, const char *kernel, char *text, size_t size);

/* On an OS thread that is going to run blocks of such a launch. -1 without memory. */
int nl_sim_check_enter(nl_sim_worker *w);

/* A block begins. */
void nl_sim_check_block(nl_sim_worker *w);
/* Reports what the running thread of `w` does at `pc` or `site`: fills block, thread and order. */
void nl_sim_check_report(nl_sim_worker *w, nl_sim_finding *finding);
/* Is the check wanted in the launch that `w` runs? */
int nl_sim_check_is_on(const nl_sim_worker *w, unsigned bit);

/* What instrumented images call (nl_sim_checker). */
int nl_sim_check_access(void *address, unsigned long long size, unsigned kind, const void *pc);
void nl_sim_check_copy(void *to, const void *from, unsigned long long size, const void *pc);
void nl_sim_check_fill(void *to, int value, unsigned long long size);
__attribute__((noreturn)) void nl_sim_check_index(const struct nl_sim_index *what, const void *pc);

void nl_sim_check_subscript(const char *type, long long index, nl_sim_site site, unsigned column,
                            const void *pc);

void nl_sim_check_misaligned(void *address, unsigned align, int kind, const void *pc);

#endif
