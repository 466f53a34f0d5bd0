/* sim/driver/streams: defines the struct of a stream, and the lock that protects all streams.
 *
 * A stream is a queue of operations. An operation runs after the earlier operations of its stream,
 * and after operations of other streams according to events and the default stream's rule.
 *
 * Operations are identified by tickets: the n-th operation issued to a stream has ticket n; `done`
 * is the ticket of the last completed operation. In names, "after" refers to a ticket of a
 * stream. */
#ifndef NL_SIM_DRIVER_STREAMS_H
#define NL_SIM_DRIVER_STREAMS_H

#include "base/lock.h"
#include "sim/driver/context.h"
#include "sim/driver/op.h"

struct nl_sim_job;
struct nl_sim_capture;

struct nl_sim_stream {
    nl_sim_context *context;
    nl_sim_stream *next;        /* in the context's list */
    nl_sim_stream *next_queued; /* link of the list of streams in the same state */
    uint64_t references;        /* number of references: those of the handle, of `after` entries and
                                 * of events */
    uint64_t issued, done;
    uint64_t cancelled; /* launches up to this ticket are cancelled */
    nl_sim_op *head, *tail;
    int state, priority;
    unsigned flags;
    unsigned place;  /* index in vector clocks */
    unsigned number; /* 1 for the first created stream; 0 for the default stream */
    nl_sim_streamclock clock;
    int closed;             /* the handle was destroyed */
    struct nl_sim_job *job; /* the running job */
    nl_sim_pending fault;
    /* During a capture (capture.h): */
    struct nl_sim_capture *capture;
    nl_sim_op *captured;     /* its last captured operation */
    uint64_t captured_count; /* number of its captured operations */
    /* set if the capture's first stream does not yet wait for this stream's captured operations,
     * which is an error at the end of the capture */
    int unjoined;
};

extern nl_mutex nl_sim_streams_mutex;
static inline void nl_sim_streams_lock(void) {
    nl_mutex_lock(&nl_sim_streams_mutex);
}
static inline void nl_sim_streams_unlock(void) {
    nl_mutex_unlock(&nl_sim_streams_mutex);
}

#endif
