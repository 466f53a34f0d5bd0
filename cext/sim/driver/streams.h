/* sim/driver/streams: what a stream is, and the lock that all of them are under.
 *
 * A stream is a queue of operations. An operation runs when those before it in its stream have run
 * and those of other streams that it must come after (events, the default stream's rule) have run.
 *
 * Tickets: the n-th operation issued to a stream has ticket n; `done` is the ticket of the last
 * that has run. "After" always means: after a ticket of a stream. */
#ifndef NL_SIM_DRIVER_STREAMS_H
#define NL_SIM_DRIVER_STREAMS_H

#include "base/lock.h"
#include "sim/driver/context.h"
#include "sim/driver/op.h"

struct nl_sim_job;
struct nl_sim_capture;

struct nl_sim_stream {
    nl_sim_context *context;
    nl_sim_stream *next;        /* of the context */
    nl_sim_stream *next_queued; /* in the list that belongs to its state */
    uint64_t references;        /* the handle's, and those of `after`s and events */
    uint64_t issued, done;
    uint64_t cancelled; /* launches up to this ticket are not run */
    nl_sim_op *head, *tail;
    int state, priority;
    unsigned flags;
    unsigned place;  /* in vector clocks */
    unsigned number; /* of the streams that were created, from 1; the default stream's is 0 */
    nl_sim_streamclock clock;
    int closed;             /* the handle is gone */
    struct nl_sim_job *job; /* being run */
    nl_sim_pending fault;
    /* While it is being captured, see capture.h: */
    struct nl_sim_capture *capture;
    nl_sim_op *captured;     /* its last operation in the capture */
    uint64_t captured_count; /* of its operations */
    int unjoined;            /* nothing in the first stream of the capture comes after them yet */
};

extern nl_mutex nl_sim_streams_mutex;
static inline void nl_sim_streams_lock(void) {
    nl_mutex_lock(&nl_sim_streams_mutex);
}
static inline void nl_sim_streams_unlock(void) {
    nl_mutex_unlock(&nl_sim_streams_mutex);
}

#endif
