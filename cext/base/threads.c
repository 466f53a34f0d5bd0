/* base/threads: implements the pool: the jobs that threads may join form a list, protected by one
 * lock. A thread that finds no job polls the counter `offers` for a while, without the lock, and
 * then sleeps. The owner of a job waits only for threads that have joined it, because waking a
 * thread can take longer than the work.
 *
 * Signals are blocked in pool threads, except signals for faults of the thread itself: jobs run
 * compiled code that may fault. Stacks have the default size. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "base/threads.h"

#include <sched.h>
#include <unistd.h>
#include "base/lock.h"

enum { MAX_THREADS = 4096 };

static nl_mutex lock = NL_MUTEX_INIT;
static nl_cond offered = NL_COND_INIT, left = NL_COND_INIT;
static nl_threads_job *jobs; /* jobs that may be joined */
static uint64_t offers;      /* written with the lock held, but polled without the lock */
static unsigned threads, busy, asleep;

/* Resets the pool in a forked child, in which the pool's threads do not exist. */
static void reset_pool_in_child(void) {
    nl_mutex_init(&lock);
    nl_cond_init(&offered);
    nl_cond_init(&left);
    jobs = NULL;
    threads = busy = asleep = 0;
}

int nl_threads_count_processors(void) {
    cpu_set_t set;
    long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                             : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (int)count;
}

static void unlink_job_lock_held(nl_threads_job *job) {
    nl_threads_job **at = &jobs;
    while (*at != NULL && *at != job)
        at = &(*at)->next;
    if (*at != NULL)
        *at = job->next;
}

/* Runs one job. Returns how many times the thread should poll for the next job. */
static uint64_t run_job_lock_held(nl_threads_job *job) {
    uint64_t polls = job->polls;
    if (--job->open == 0)
        unlink_job_lock_held(job);
    nl_atomic_add(&job->joined, 1);
    busy++;
    nl_mutex_unlock(&lock);
    job->run(job->data);
    nl_mutex_lock(&lock);
    busy--;
    if (nl_atomic_sub(&job->joined, 1) == 1)
        nl_cond_broadcast(&left); /* `job` may be freed as soon as the lock is released */
    return polls;
}

static void poll_for_job_lock_held(uint64_t polls) {
    uint64_t seen = nl_atomic_load(&offers);
    nl_mutex_unlock(&lock);
    while (polls > 0 && nl_atomic_load(&offers) == seen) {
        nl_thread_pause();
        polls--;
    }
    nl_mutex_lock(&lock);
}

static void *run_worker_thread(void *unused) {
    (void)unused;
    uint64_t polls = 0;
    nl_mutex_lock(&lock);
    for (;;) {
        if (jobs == NULL && polls > 0)
            poll_for_job_lock_held(polls);
        polls = 0;
        if (jobs != NULL) {
            polls = run_job_lock_held(jobs);
            continue;
        }
        asleep++;
        nl_cond_wait(&offered, &lock);
        asleep--;
    }
    return NULL;
}

/* Starts pool threads until `count` threads are idle or the pool has `most` threads. A new thread
 * inherits the signal mask of the thread that starts it. */
static void start_threads_lock_held(unsigned count, unsigned most) {
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t blocked, before;
    nl_error ignored;
    if (threads - busy >= count || threads >= most)
        return;
    nl_thread_call_in_child(reset_pool_in_child);
    sigfillset(&blocked);
    for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++)
        sigdelset(&blocked, kept[i]);
    nl_thread_swap_signals(&blocked, &before);
    while (threads - busy < count && threads < most && threads < MAX_THREADS) {
        nl_thread thread;
        if (nl_thread_start(&thread, run_worker_thread, NULL, 0, &ignored) < 0)
            break;
        nl_thread_detach(thread);
        threads++;
    }
    nl_thread_set_signals(&before);
}

void nl_threads_offer_job(nl_threads_job *job, unsigned count, unsigned most) {
    nl_mutex_lock(&lock);
    start_threads_lock_held(count, most);
    if (job->open == 0) {
        job->next = jobs;
        jobs = job;
    }
    job->open += count;
    nl_atomic_add(&offers, 1);
    if (count >= asleep)
        nl_cond_broadcast(&offered);
    else
        for (unsigned i = 0; i < count; i++)
            nl_cond_signal(&offered);
    nl_mutex_unlock(&lock);
}

void nl_threads_close(nl_threads_job *job) {
    nl_mutex_lock(&lock);
    if (job->open > 0)
        unlink_job_lock_held(job);
    job->open = 0;
    nl_mutex_unlock(&lock);
    for (uint64_t n = job->polls; n > 0 && nl_atomic_load(&job->joined) > 0; n--)
        nl_thread_pause();
    nl_mutex_lock(&lock);
    while (nl_atomic_load(&job->joined) > 0)
        nl_cond_wait(&left, &lock);
    nl_mutex_unlock(&lock);
}
