/* sim/engine/watch: implements time limits by one thread, which is created for the first launch
 * with a limit and sleeps until the next deadline. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/watch.h"

#include <link.h>
#include <string.h>
#include "base/clock.h"
#include "base/lock.h"
#include "sim/engine/signal.h"
#include "sim/engine/worker.h"

/* time after which a thread that could not be interrupted is signalled again */
enum { AGAIN_NS = 5000000 };

static struct {
    nl_mutex lock, install_lock;
    nl_cond changed;
    nl_sim_job *jobs;
    int runs;
    struct sigaction previous;
} watch = {.lock = NL_MUTEX_INIT, .install_lock = NL_MUTEX_INIT, .changed = NL_COND_INIT};

/* The signal */

static void interrupt_kernel(int number, siginfo_t *info, void *context) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (w && w->inside && w->job && nl_atomic_load32(&w->job->watch.stopped)) {
        uintptr_t at = nl_sim_signal_instruction_pointer(context);
        if (at >= w->job->watch.code && at < w->job->watch.code_end) {
            w->trap = (nl_sim_trap){
                .signal = number, .instruction = at, .stack = nl_sim_signal_stack_pointer(context)};
            w->leave = NL_SIM_TRAP;
            nl_sim_fiber_escape(context, &w->main);
        }
        return;
    }
    if (watch.previous.sa_flags & SA_SIGINFO)
        watch.previous.sa_sigaction(number, info, context);
    else if (watch.previous.sa_handler != SIG_DFL && watch.previous.sa_handler != SIG_IGN)
        watch.previous.sa_handler(number);
}

static void install_handler(void) {
    struct sigaction old,
        ours = {.sa_sigaction = interrupt_kernel, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&ours.sa_mask);
    nl_mutex_lock(&watch.install_lock);
    if (sigaction(NL_SIM_WATCH_SIGNAL, NULL, &old) == 0 &&
        !((old.sa_flags & SA_SIGINFO) && old.sa_sigaction == interrupt_kernel)) {
        watch.previous = old;
        sigaction(NL_SIM_WATCH_SIGNAL, &ours, NULL);
    }
    nl_mutex_unlock(&watch.install_lock);
}

/* Stopping */

typedef struct segment {
    uintptr_t inside, low, high;
} segment;

static int find_segment(struct dl_phdr_info *info, size_t size, void *data) {
    segment *s = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr, high = low + header->p_memsz;
        if (header->p_type == PT_LOAD && s->inside >= low && s->inside < high) {
            s->low = low;
            s->high = high;
            return 1;
        }
    }
    return 0;
}

void nl_sim_watch_stop_grid(nl_sim_job *job, nl_sim_stop why) {
    segment code = {.inside = (uintptr_t)job->kernel->run_thread};
    if (!nl_atomic_load32(&job->watch.stopped)) {
        dl_iterate_phdr(find_segment, &code);
        job->watch.code = code.low;
        job->watch.code_end = code.high;
        nl_atomic_store32(&job->watch.stopped, why);
    }
    install_handler();
    nl_sim_job_stop(job);
    nl_sim_worker_signal_threads(job, NL_SIM_WATCH_SIGNAL);
}

/* The watch thread */

/* Stops grids whose time limit has passed. Returns the time in nanoseconds until the next check. */
static uint64_t stop_overdue_lock_held(void) {
    uint64_t time = nl_clock_ns(), wait = UINT64_MAX;
    for (nl_sim_job *job = watch.jobs; job; job = job->watch.next) {
        uint64_t deadline = job->watch.deadline, next = AGAIN_NS;
        if (time < deadline) {
            next = deadline - time;
        } else {
            nl_sim_watch_stop_grid(job, NL_SIM_OVERDUE);
        }
        wait = next < wait ? next : wait;
    }
    return wait;
}

static void *watch_thread(void *unused) {
    sigset_t all;
    (void)unused;
    sigfillset(&all);
    nl_thread_block_signals(&all);
    nl_mutex_lock(&watch.lock);
    for (;;) {
        uint64_t wait = stop_overdue_lock_held();
        if (wait == UINT64_MAX)
            nl_cond_wait(&watch.changed, &watch.lock);
        else
            nl_cond_wait_for(&watch.changed, &watch.lock, wait);
    }
    return NULL;
}

/* Launches */

void nl_sim_watch_begin(nl_sim_job *job, uint64_t limit_ms) {
    nl_mutex_lock(&watch.lock);
    if (!watch.runs) {
        nl_thread thread;
        nl_error err;
        if (nl_thread_start(&thread, watch_thread, NULL, 0, &err) == 0) {
            nl_thread_detach(thread);
            watch.runs = 1;
        }
    }
    job->watch.deadline = nl_clock_ns() + limit_ms * 1000000;
    job->watch.next = watch.jobs;
    watch.jobs = job;
    nl_cond_signal(&watch.changed);
    nl_mutex_unlock(&watch.lock);
}

void nl_sim_watch_end(nl_sim_job *job) {
    nl_mutex_lock(&watch.lock);
    nl_sim_job **p = &watch.jobs;
    while (*p && *p != job)
        p = &(*p)->watch.next;
    if (*p)
        *p = job->watch.next;
    nl_mutex_unlock(&watch.lock);
}

void nl_sim_watch_reset_in_child(void) {
    nl_mutex_init(&watch.lock);
    nl_mutex_init(&watch.install_lock);
    nl_cond_init(&watch.changed);
    watch.jobs = NULL;
    watch.runs = 0;
}
