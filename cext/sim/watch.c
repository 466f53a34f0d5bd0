/* sim/watch: one thread, made when the first launch has a limit, sleeps until the next deadline. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/watch.h"

#include <link.h>
#include <string.h>
#include <ucontext.h>
#include "base/clock.h"
#include "base/lock.h"
#include "sim/grid.h"
#include "sim/worker.h"

enum { AGAIN_NS = 5000000 }; /* how long until who could not be interrupted is tried again */

static struct {
    nl_mutex lock;
    nl_cond changed;
    nl_sim_job *jobs;
    int runs;
    struct sigaction previous;
} watch = {.lock = NL_MUTEX_INIT, .changed = NL_COND_INIT};

/* The signal */

uintptr_t nl_sim_watch_instruction(const void *context) {
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

uintptr_t nl_sim_watch_stack(const void *context) {
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

static void interrupt(int number, siginfo_t *info, void *context) {
    nl_sim_worker *w = nl_sim_current;
    if (w && w->inside && w->job && nl_atomic_peek32(&w->job->watch.overdue)) {
        uintptr_t at = nl_sim_watch_instruction(context);
        if (at >= w->job->watch.code && at < w->job->watch.code_end) {
            w->trap = (nl_sim_trap){.signal = number, .instruction = at};
            w->leave = NL_SIM_TRAP;
            nl_fiber_escape(context, &w->main);
        }
        return;
    }
    if (watch.previous.sa_flags & SA_SIGINFO)
        watch.previous.sa_sigaction(number, info, context);
    else if (watch.previous.sa_handler != SIG_DFL && watch.previous.sa_handler != SIG_IGN)
        watch.previous.sa_handler(number);
}

static void install_lock_held(void) {
    struct sigaction old,
        ours = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&ours.sa_mask);
    if (sigaction(NL_SIM_WATCH_SIGNAL, NULL, &old) != 0 ||
        ((old.sa_flags & SA_SIGINFO) && old.sa_sigaction == interrupt))
        return;
    watch.previous = old;
    sigaction(NL_SIM_WATCH_SIGNAL, &ours, NULL);
}

/* The thread that watches */

/* Stops what has run for too long. Returns when to look again, in nanoseconds from now. */
static uint64_t look_lock_held(void) {
    uint64_t time = nl_clock_ns(), wait = UINT64_MAX;
    for (nl_sim_job *job = watch.jobs; job; job = job->watch.next) {
        uint64_t deadline = job->watch.deadline, next = AGAIN_NS;
        if (time < deadline) {
            next = deadline - time;
        } else {
            nl_atomic_store32(&job->watch.overdue, 1);
            nl_sim_job_stop(job);
            for (nl_sim_worker *w = job->watch.workers; w; w = w->next_watched)
                nl_thread_signal(w->os_thread, NL_SIM_WATCH_SIGNAL);
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
        uint64_t wait = look_lock_held();
        if (wait == UINT64_MAX)
            nl_cond_wait(&watch.changed, &watch.lock);
        else
            nl_cond_wait_for(&watch.changed, &watch.lock, wait);
    }
    return NULL;
}

/* Launches */

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

void nl_sim_watch_begin(nl_sim_job *job, uint64_t limit_ms) {
    segment code = {.inside = (uintptr_t)job->kernel->run_thread};
    dl_iterate_phdr(find_segment, &code);
    nl_mutex_lock(&watch.lock);
    install_lock_held();
    if (!watch.runs) {
        nl_thread thread;
        nl_error err;
        if (nl_thread_start(&thread, watch_thread, NULL, 0, &err) == 0) {
            nl_thread_detach(thread);
            watch.runs = 1;
        }
    }
    job->watch = (nl_sim_watch){.limit_ms = limit_ms,
                                .deadline = nl_clock_ns() + limit_ms * 1000000,
                                .code = code.low,
                                .code_end = code.high,
                                .next = watch.jobs};
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

void nl_sim_watch_enter(nl_sim_worker *w) {
    if (!w->job->watch.deadline)
        return;
    w->os_thread = nl_thread_self();
    nl_mutex_lock(&watch.lock);
    w->next_watched = w->job->watch.workers;
    w->job->watch.workers = w;
    nl_mutex_unlock(&watch.lock);
}

void nl_sim_watch_leave(nl_sim_worker *w) {
    if (!w->job->watch.deadline)
        return;
    nl_mutex_lock(&watch.lock);
    nl_sim_worker **p = &w->job->watch.workers;
    while (*p && *p != w)
        p = &(*p)->next_watched;
    if (*p)
        *p = w->next_watched;
    nl_mutex_unlock(&watch.lock);
}

void nl_sim_watch_forget(void) {
    nl_mutex_init(&watch.lock);
    nl_cond_init(&watch.changed);
    watch.jobs = NULL;
    watch.runs = 0;
}
