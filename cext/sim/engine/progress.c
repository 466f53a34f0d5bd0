/* sim/engine/progress: keeps a list of the running grids, newest first. */
#include "sim/engine/progress.h"

#include <stdio.h>
#include "base/clock.h"
#include "base/lock.h"
#include "sim/engine/fault.h"

static nl_mutex lock = NL_MUTEX_INIT;
static nl_sim_job *running;
static int is_prepared; /* the fork handler is installed */

/* Clears the list in a forked child, in which the threads that ran the grids do not exist. */
static void forget_in_child(void) {
    nl_mutex_init(&lock);
    running = NULL;
}

void nl_sim_progress_begin(nl_sim_job *job) {
    nl_mutex_lock(&lock);
    if (!is_prepared)
        nl_thread_call_in_child(forget_in_child);
    is_prepared = 1;
    job->running = running;
    running = job;
    nl_mutex_unlock(&lock);
}

void nl_sim_progress_end(nl_sim_job *job) {
    nl_mutex_lock(&lock);
    nl_sim_job **link = &running;
    while (*link && *link != job)
        link = &(*link)->running;
    if (*link)
        *link = job->running;
    nl_mutex_unlock(&lock);
}

int nl_sim_progress_read(nl_progress *progress) {
    const nl_sim_job *first = NULL;
    nl_mutex_lock(&lock);
    for (const nl_sim_job *job = running; job; job = job->running)
        if (job->depth == 0)
            first = job;
    if (first) {
        uint64_t done = nl_atomic_load(&first->done);
        snprintf(progress->kernel, sizeof progress->kernel, "%s",
                 nl_sim_fault_kernel_name(first->kernel));
        progress->blocks = first->blocks;
        progress->done = done < first->blocks ? done : first->blocks;
        progress->elapsed = nl_clock_ns() - first->started;
    }
    nl_mutex_unlock(&lock);
    return first != NULL;
}
