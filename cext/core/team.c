/* core/team: a job is a number that goes up. A worker sleeps until the number is another than the
 * last one it saw; if the job wants it and is still open, it runs its share and counts itself down.
 * A job is open until its owner has run out of work: who wakes up later is not waited for, because
 * waking up can take longer than a small copy. Threads are started one at a time, and those that
 * cannot be started are done without: the shares are taken from a common counter by whoever is
 * there.
 *
 * Whoever has just worked, and whoever waits for the last ones, looks for a few microseconds before
 * it sleeps; not where there are fewer processors than members. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/team.h"

#include <sched.h>
#include <unistd.h>

static nl_mutex owner = NL_MUTEX_INIT; /* of `taken` */
static int taken;

static nl_mutex lock = NL_MUTEX_INIT;
static nl_cond called = NL_COND_INIT, finished = NL_COND_INIT;
static uint64_t number, running; /* changed under the lock, looked at without it */
static int workers, wanted;
static uint64_t looks;
static nl_team_task task;
static void *job;

/* The threads do not exist in a forked child. */
static void after_fork(void) {
    nl_mutex_init(&owner);
    nl_mutex_init(&lock);
    nl_cond_init(&called);
    nl_cond_init(&finished);
    taken = workers = wanted = 0;
    running = 0;
}

int nl_team_processors(void) {
    cpu_set_t set;
    long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                             : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > NL_TEAM_MOST ? NL_TEAM_MOST : (int)count;
}

int nl_team_enter(void) {
    nl_mutex_lock(&owner);
    int free = !taken;
    taken = 1;
    nl_mutex_unlock(&owner);
    return free;
}

void nl_team_leave(void) {
    nl_mutex_lock(&owner);
    taken = 0;
    nl_mutex_unlock(&owner);
}

/* Until *p is no longer `value`, or for as long as that is worth. */
static void look(const uint64_t *p, uint64_t value) {
    for (uint64_t n = nl_atomic_load(&looks); n > 0 && nl_atomic_load(p) == value; n--)
        nl_thread_pause();
}

static void *work(void *argument) {
    int member = (int)(intptr_t)argument;
    uint64_t seen = 0;
    for (;;) {
        look(&number, seen);
        nl_mutex_lock(&lock);
        while (nl_atomic_load(&number) == seen || member >= wanted) {
            seen = nl_atomic_load(&number);
            nl_cond_wait(&called, &lock);
        }
        seen = nl_atomic_load(&number);
        nl_team_task share = task;
        void *data = job;
        nl_atomic_add(&running, 1);
        nl_mutex_unlock(&lock);
        share(data, member);
        nl_mutex_lock(&lock);
        if (nl_atomic_sub(&running, 1) == 1)
            nl_cond_signal(&finished);
        nl_mutex_unlock(&lock);
    }
    return NULL;
}

/* As many as there can be; signals are for other threads. Their stacks are of the usual size: on
 * the simulator whoever waits for a stream may run what is in it. */
static void start_workers(int members) {
    nl_error ignored;
    sigset_t all, before;
    if (workers >= members - 1)
        return;
    nl_fork_on_child(after_fork);
    sigfillset(&all);
    nl_thread_swap_signals(&all, &before);
    while (workers < members - 1) {
        nl_thread thread;
        if (nl_thread_start(&thread, work, (void *)(intptr_t)(workers + 1), 0, &ignored) < 0)
            break;
        nl_thread_detach(thread);
        workers++;
    }
    nl_thread_set_signals(&before);
}

static void open_job(int members, nl_team_task function, void *data) {
    nl_mutex_lock(&lock);
    task = function;
    job = data;
    wanted = members;
    nl_atomic_add(&number, 1);
    nl_cond_broadcast(&called);
    nl_mutex_unlock(&lock);
}

static void close_job(void) {
    nl_mutex_lock(&lock);
    wanted = 0;
    nl_mutex_unlock(&lock);
    for (uint64_t n = nl_atomic_load(&looks); n > 0 && nl_atomic_load(&running) > 0; n--)
        nl_thread_pause();
    nl_mutex_lock(&lock);
    while (nl_atomic_load(&running) > 0)
        nl_cond_wait(&finished, &lock);
    nl_mutex_unlock(&lock);
}

void nl_team_run(int members, int most_looks, nl_team_task function, void *data) {
    if (members > 1)
        start_workers(members);
    if (members > workers + 1)
        members = workers + 1;
    nl_atomic_store(&looks, members <= nl_team_processors() ? (uint64_t)most_looks : 0);
    if (members > 1)
        open_job(members, function, data);
    function(data, 0);
    if (members > 1)
        close_job();
}
