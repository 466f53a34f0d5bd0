/* base/threads: the thread pool, for large copies, parallel loops and the simulator's grids.
 * Threads are started on demand and sleep when idle, until the process ends. */
#ifndef NL_BASE_THREADS_H
#define NL_BASE_THREADS_H

#include <stdint.h>

/* A job for several threads. It must stay valid until nl_threads_close returns. Each thread that
 * joins calls run(data) once. Because the number of threads that join is undetermined, `run` must
 * claim its parts of the work from a common counter. */
typedef struct nl_threads_job {
    void (*run)(void *data);
    void *data;
    /* How many times a thread that has finished its part, and an owner that waits for the last
     * threads, poll before they sleep. */
    uint64_t polls;
    /* Private members of the pool. */
    struct nl_threads_job *next;
    uint64_t joined;
    unsigned open; /* threads that may still join */
} nl_threads_job;

/* Returns the number of processors that this process may use. */
int nl_threads_processors(void);
/* Lets `count` more threads join the job. If too few are idle, starts threads while the pool has
 * fewer than `most`. Failures to start a thread are ignored. */
void nl_threads_share(nl_threads_job *job, unsigned count, unsigned most);
/* Lets no more threads join, and returns when all threads that have joined have finished. */
void nl_threads_close(nl_threads_job *job);

#endif
