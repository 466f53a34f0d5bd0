/* base/threads: one pool of threads, for whoever shares work out: large copies, parallel loops, the
 * grids of the simulator. The threads start when they are first asked for and stay, asleep, until
 * the process ends. */
#ifndef NL_BASE_THREADS_H
#define NL_BASE_THREADS_H

#include <stdint.h>

/* Work for several threads, which live as long as its owner is in it. Whoever joins calls
 * run(data) once. The shares are to be taken from a common counter: how many threads come, and
 * when, is open. */
typedef struct nl_threads_job {
    void (*run)(void *data);
    void *data;
    /* How often a thread that has left the job, and an owner that waits for the last ones, poll
     * before they sleep. */
    uint64_t polls;
    /* The pool's own. */
    struct nl_threads_job *next;
    uint64_t joined;
    unsigned open; /* threads that may still join */
} nl_threads_job;

/* Processors that this process may use. */
int nl_threads_processors(void);
/* Lets `count` more threads join. Where too few are free, more are started, as long as the pool
 * has fewer than `most`; what cannot be started is done without. */
void nl_threads_share(nl_threads_job *job, unsigned count, unsigned most);
/* Nobody joins any more. Returns when those who have joined have left. */
void nl_threads_close(nl_threads_job *job);

#endif
