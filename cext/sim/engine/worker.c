/* sim/engine/worker: creates workers and keeps idle workers for reuse. A worker is not bound to an
 * OS thread: a thread that runs blocks acquires a worker, with its stacks in the cache, and
 * releases it afterwards. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/worker.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lock.h"
#include "base/mem.h"
#include "base/threads.h"
#include "sim/engine/limits.h"

enum { MAX_WORKERS = 1024 };

_Thread_local nl_sim_worker *nl_sim_worker_current;

static nl_mutex lock = NL_MUTEX_INIT;
static nl_sim_worker *idle, *busy;
static unsigned made;

unsigned nl_sim_worker_limit(void) {
    static uint32_t cpu_count;
    uint32_t count = nl_atomic_load32_relaxed(&cpu_count);
    if (count)
        return count;
    const char *text = getenv("NUMBALITE_NUM_THREADS");
    long wanted = text ? strtol(text, NULL, 10) : 0;
    if (wanted <= 0)
        wanted = nl_threads_count_processors();
    count = wanted < 1 ? 1 : wanted > MAX_WORKERS ? MAX_WORKERS : (uint32_t)wanted;
    nl_atomic_store32_relaxed(&cpu_count, count);
    return count;
}

static void *map_memory(size_t size) {
    void *memory = nl_mem_must_fail() ? MAP_FAILED
                                      : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static nl_sim_worker *create_worker(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t shared = ((size_t)NL_SIM_SHARED_OPTIN + page - 1) / page * page;
    /* A worker is one mapping, which is never unmapped: the struct, its signal stack, shared
     * memory, and a guard. */
    size_t own = (sizeof(nl_sim_worker) + page - 1) / page * page;
    char *memory = map_memory(own + NL_SIM_SIGNAL_STACK + shared + 16 * page);
    if (!memory)
        return NULL;
    nl_sim_worker *worker = (nl_sim_worker *)memory;
    worker->signal_stack = memory + own;
    worker->shared_end = worker->signal_stack + NL_SIM_SIGNAL_STACK + shared;
    (void)mprotect(worker->shared_end, 16 * page, PROT_NONE);
    return worker;
}

static void begin_job_lock_held(nl_sim_worker *worker, struct nl_sim_job *job) {
    worker->job = job;
    worker->trap.signal = 0; /* an earlier launch may have set the trap */
    worker->os_thread = nl_thread_self();
    worker->earlier = NULL;
    worker->later = busy;
    if (busy)
        busy->earlier = worker;
    busy = worker;
}

nl_sim_worker *nl_sim_worker_acquire(struct nl_sim_job *job) {
    nl_mutex_lock(&lock);
    nl_sim_worker *worker = idle;
    unsigned id = made;
    if (worker) {
        idle = worker->later;
        begin_job_lock_held(worker, job);
    } else {
        made++;
    }
    nl_mutex_unlock(&lock);
    if (worker)
        return worker;
    worker = create_worker();
    if (!worker)
        return NULL;
    worker->id = id;
    nl_mutex_lock(&lock);
    begin_job_lock_held(worker, job);
    nl_mutex_unlock(&lock);
    return worker;
}

void nl_sim_worker_release(nl_sim_worker *worker) {
    nl_mutex_lock(&lock);
    if (worker->later)
        worker->later->earlier = worker->earlier;
    if (worker->earlier)
        worker->earlier->later = worker->later;
    else
        busy = worker->later;
    worker->job = NULL;
    worker->later = idle;
    idle = worker;
    nl_mutex_unlock(&lock);
}

void nl_sim_worker_leave_block(nl_sim_worker *worker, nl_sim_leave reason) {
    worker->leave = reason;
    nl_sim_fiber_leave(&worker->main);
}

void nl_sim_worker_signal_threads(const struct nl_sim_job *job, int number) {
    nl_mutex_lock(&lock);
    for (nl_sim_worker *w = busy; w; w = w->later) {
        if (w->job == job)
            nl_thread_signal(w->os_thread, number);
    }
    nl_mutex_unlock(&lock);
}

void nl_sim_worker_remove_all_in_child(void) {
    nl_mutex_init(&lock);
    idle = busy = NULL;
}
