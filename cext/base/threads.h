/* base/threads: the thread pool, which large copies, parallel loops and the simulator's grids use.
 * Threads are started on demand and sleep when idle, until the process ends. */
#ifndef NL_BASE_THREADS_H
#define NL_BASE_THREADS_H

#include <stdint.h>

/* A job that several threads may execute. The job must stay valid until nl_threads_close returns.
 * Each thread that joins the job calls run(data) once. The number of these threads is not
 * determined, so `run` must claim work from a common counter. */
typedef struct nl_threads_job {
    void (*run)(void *data);
    void *data;
    /* Number of polls before a thread sleeps, both for threads without work and for an owner that
     * waits for the last threads. */
    uint64_t polls;
    /* Private members of the pool. */
    struct nl_threads_job *next;
    uint64_t joined;
    unsigned open; /* threads that may still join */
} nl_threads_job;

/* Returns the number of processors that this process may use. */
int nl_threads_count_processors(void);
/* Lets `count` more threads join the job. If too few threads are idle, starts new threads, up to
 * `most` threads in the pool. Failures to start a thread are ignored. */
void nl_threads_offer_job(nl_threads_job *job, unsigned count, unsigned most);
/* Closes the job to further threads, and returns when all threads that have joined it have
 * finished. */
void nl_threads_close(nl_threads_job *job);

#endif
