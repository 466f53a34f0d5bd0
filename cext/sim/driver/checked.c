/* sim/driver/checked: runs a launch with checks; an exact race search repeats the launch with other
 * schedules if atomics order its threads. Each run begins with the memory contents that were saved
 * before the first run; at the end, the results of the first run are restored. A launch that
 * allocates memory or launches kernels runs only once. */
#include "sim/driver/checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "sim/check/check.h"
#include "sim/check/racereport.h"
#include "sim/check/explore.h"
#include "sim/check/observer.h"
#include "sim/check/profile.h"
#include "sim/check/undo.h"
#include "sim/check/verdict.h"
#include "sim/engine/fault.h"
#include "sim/engine/grid.h"

enum {
    GRACE_MS = 1000
}; /* time in milliseconds after which a run is stopped when the budget is
    * used up */

/* Parameters and results of one run of a launch. */
typedef struct run {
    /* schedule of the run, or NULL for the order that the seed determines */
    nl_sim_schedule *schedule;
    nl_sim_undo *undo; /* undo log, or NULL if the launch cannot be repeated */
    uint64_t limit_ms; /* 0: the limit of the checks */
    int depends, allocates, is_deadlocked;
    unsigned kinds; /* of its findings, as bits */
} run;

static CUresult set_memory_fault(nl_sim_job *job) {
    nl_fault_init(&job->fault, 0, NL_FAULT_HEAD_KERNEL, nl_sim_fault_kernel_name(job->kernel));
    nl_fault_set_text(&job->fault, "there is not enough memory to check the kernel");
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Starts the profile of the launch; called only for the first run. */
static int begin_profile(const nl_sim_checked *what, nl_sim_job *job) {
    if (!(what->checks->mask & NL_CHECK_PROFILE) || job->is_silent ||
        nl_sim_profile_begin(job) == 0)
        return 0;
    nl_sim_fault_fail_job(job, CUDA_ERROR_OUT_OF_MEMORY,
                          "there is not enough memory to profile the kernel");
    return -1;
}

static CUresult run_launch_once(const nl_sim_checked *what, nl_sim_job *job, run *r) {
    nl_fault fault;
    job->check = nl_sim_check_begin_launch(what->checks, what->image);
    if (!job->check)
        return set_memory_fault(job);
    job->observer = &nl_sim_observer_of_checks;
    job->schedule = r->schedule;
    job->check->parameters = what->parameters;
    job->check->traps_reals = what->traps_reals;
    job->check->undo = r->undo;
    if (nl_sim_racereport_begin(job) == 0 && begin_profile(what, job) == 0) {
        job->limit_ms = r->limit_ms ? r->limit_ms : job->limit_ms;
        (void)nl_sim_grid_run(job);
    }
    CUresult status = nl_sim_racereport_end(job);
    nl_sim_profile_end(job, status);
    r->depends = job->check->depends;
    r->allocates = job->check->allocates;
    r->kinds = job->check->findings.kinds;
    r->is_deadlocked = job->is_deadlocked;
    CUresult found =
        nl_sim_check_end_launch(job->check, nl_sim_fault_kernel_name(job->kernel), &fault);
    /* the findings are reported instead of the fault, because they probably caused it */
    if (found != CUDA_SUCCESS)
        job->fault = fault;
    return found != CUDA_SUCCESS ? found : status;
}

/* Runs the launch of `first` again. On failure, first->fault is set. */
static CUresult repeat_launch(const nl_sim_checked *what, nl_sim_job *first, run *r) {
    nl_sim_job *job = calloc(1, sizeof *job);
    if (!job)
        return CUDA_ERROR_OUT_OF_MEMORY;
    job->launch = first->launch;
    job->kernel = first->kernel;
    job->image = first->image;
    job->is_python = first->is_python;
    job->history = first->history;
    job->stack_size = first->stack_size;
    job->is_silent = 1;
    nl_sim_job_open(job);
    nl_sim_stream_set_running_job(what->stream, job);
    CUresult status = run_launch_once(what, job, r);
    nl_sim_stream_set_running_job(what->stream, first);
    if (status != CUDA_SUCCESS)
        first->fault = job->fault;
    nl_sim_job_close(job);
    free(job);
    return status;
}

/* Runs the launch with schedules that follow from its first run, until the time budget is used or a
 * run fails. */
static CUresult explore_schedules(const nl_sim_checked *what, nl_sim_job *job, run *r,
                                  uint64_t *schedules) {
    uint64_t begin = nl_clock_ns(), budget = what->checks->budget_ms;
    nl_sim_explorer *explorer = nl_sim_explorer_open();
    CUresult status = CUDA_SUCCESS;
    if (!explorer)
        return CUDA_SUCCESS;
    nl_sim_undo_record_results(r->undo);
    nl_sim_explorer_add_run(explorer, r->schedule);
    while (status == CUDA_SUCCESS && nl_sim_undo_is_complete(r->undo)) {
        uint64_t elapsed = (nl_clock_ns() - begin) / 1000000;
        if (elapsed >= budget || !nl_sim_explorer_next_schedule(explorer, r->schedule))
            break;
        r->limit_ms = budget - elapsed + GRACE_MS;
        nl_sim_undo_restore(r->undo);
        status = repeat_launch(what, job, r);
        *schedules += r->schedule->made == r->schedule->count;
        if (status == CUDA_SUCCESS)
            nl_sim_explorer_add_run(explorer, r->schedule);
        else
            break;
    }
    nl_sim_undo_restore_results(r->undo);
    nl_sim_explorer_close(explorer);
    if (status == CUDA_ERROR_OUT_OF_MEMORY ||
        (job->fault.kind == NL_CHECK_HANG && !r->is_deadlocked))
        return CUDA_SUCCESS; /* the budget is used up, or there is not enough memory for another
                              * run */
    if (status != CUDA_SUCCESS)
        nl_sim_schedule_format(r->schedule, nl_sim_fault_kernel_name(job->kernel),
                               job->fault.schedule, sizeof job->fault.schedule);
    return status;
}

static nl_verdict_kind choose_verdict(CUresult status, const run *r) {
    if (r->kinds & NL_CHECK_RACE)
        return NL_VERDICT_RACES;
    if (status != CUDA_SUCCESS)
        return NL_VERDICT_UNDECIDED;
    return r->depends ? NL_VERDICT_DEPENDS : NL_VERDICT_NO_RACE;
}

static int can_explore(const nl_sim_checked *what, const nl_sim_job *job, const run *r) {
    return r->depends && r->undo && nl_sim_undo_is_complete(r->undo) && !r->allocates &&
           !job->children && !what->checks->schedule[0];
}

static CUresult run_exact_search(const nl_sim_checked *what, nl_sim_job *job) {
    const char *kernel = nl_sim_fault_kernel_name(job->kernel);
    uint64_t schedules = 1;
    run r = {.limit_ms = 0};
    if (!what->checks->shuffled) {
        r.schedule = nl_mem_zalloc(sizeof *r.schedule, NULL);
        r.undo = what->checks->budget_ms && !job->depth ? nl_sim_undo_open() : NULL;
        if (!r.schedule) {
            nl_sim_undo_close(r.undo);
            return set_memory_fault(job);
        }
        (void)nl_sim_schedule_parse(r.schedule, what->checks->schedule, kernel);
    }
    CUresult status = run_launch_once(what, job, &r);
    if (status == CUDA_SUCCESS && can_explore(what, job, &r)) {
        status = explore_schedules(what, job, &r, &schedules);
        r.depends = 1;
        r.kinds = status == CUDA_SUCCESS ? 0 : r.kinds;
    }
    nl_sim_verdict_add(what->checks->record, kernel, choose_verdict(status, &r), schedules);
    nl_sim_undo_close(r.undo);
    nl_mem_free(r.schedule);
    return status;
}

CUresult nl_sim_checked_run(const nl_sim_checked *what, nl_sim_job *job) {
    run r = {.limit_ms = 0};
    return what->checks->exact ? run_exact_search(what, job) : run_launch_once(what, job, &r);
}
