/* sim/driver/stream: streams, really asynchronous, and events.
 *
 * A stream is a queue of operations. An operation runs when those before it in its stream have run
 * and those of other streams that it must come after (events, the default stream's rule) have run.
 * Who runs it: a thread of the scheduler's own, or a thread that waits for the stream anyway.
 *
 * Tickets: the n-th operation issued to a stream has ticket n; `done` is the ticket of the last
 * that has run. "After" always means: after a ticket of a stream. All of it is under one lock. */
#ifndef NL_SIM_DRIVER_STREAM_H
#define NL_SIM_DRIVER_STREAM_H

#include <stdint.h>
#include "base/fault.h"
#include "driver/cuda_abi.h"
#include "sim/check/overlap.h"

struct nl_sim_context;
struct nl_sim_job;
struct nl_sim_capture;
typedef struct nl_sim_stream nl_sim_stream;
typedef struct nl_sim_event nl_sim_event;
typedef struct nl_sim_op nl_sim_op;

enum {
    NL_SIM_OP_INLINE = 1,  /* short: on an idle stream the issuing thread runs it at once */
    NL_SIM_OP_HOST = 2,    /* calls the program's code: only the scheduler's threads run it */
    NL_SIM_OP_LAUNCH = 4,  /* may take for ever: a thread that can be interrupted does not run it */
    NL_SIM_OP_WATCHED = 8, /* what it touches is compared with other streams (check/overlap.h) */
};

typedef struct nl_sim_after {
    nl_sim_stream *stream;
    uint64_t ticket;
} nl_sim_after;

/* Embedded first in what an operation needs; made with malloc by who issues it. */
struct nl_sim_op {
    nl_sim_op *next;
    void (*run)(nl_sim_op *op, nl_sim_stream *stream);    /* without the lock, or NULL */
    void (*settle)(nl_sim_op *op, nl_sim_stream *stream); /* afterwards with the lock, or NULL */
    void (*drop)(nl_sim_op *op);                          /* releases what it holds, or NULL */
    /* The same once more, for captures, or NULL without memory. */
    nl_sim_op *(*copy)(const nl_sim_op *op);
    const char *name;        /* of the kernel; NULL: it is a copy */
    nl_sim_overlap *overlap; /* if it is watched, once it is issued */
    unsigned flags;
    unsigned after_count, after_capacity;
    nl_sim_after *after, after_few[3];
};

/* A fault that nobody has been told of yet. */
typedef struct nl_sim_pending {
    CUresult status; /* CUDA_SUCCESS: there is none */
    uint64_t id;
    nl_fault *fault; /* NULL: there was no memory for it */
} nl_sim_pending;

struct nl_sim_stream {
    struct nl_sim_context *context;
    nl_sim_stream *next;        /* of the context */
    nl_sim_stream *next_queued; /* in the list that belongs to its state */
    uint64_t references;        /* the handle's, and those of `after`s and events */
    uint64_t issued, done;
    uint64_t cancelled; /* launches up to this ticket are not run */
    nl_sim_op *head, *tail;
    int state, priority;
    unsigned flags;
    unsigned place; /* in vector clocks */
    nl_sim_past past;
    int closed;             /* the handle is gone */
    struct nl_sim_job *job; /* being run */
    nl_sim_pending fault;
    /* While it is being captured, see capture.h: */
    struct nl_sim_capture *capture;
    nl_sim_op *captured;     /* its last operation in the capture */
    uint64_t captured_count; /* of its operations */
    int unjoined;            /* nothing in the first stream of the capture comes after them yet */
};

/* A stream of a context, with one reference; NULL if there is no memory. */
nl_sim_stream *nl_sim_stream_create(struct nl_sim_context *context, unsigned flags, int priority);
/* Gives up the handle's reference: what is queued still runs. */
void nl_sim_stream_close(nl_sim_stream *stream);

/* Appends op, which belongs to the stream from now on. Returns its ticket. */
uint64_t nl_sim_stream_issue(nl_sim_stream *stream, nl_sim_op *op);
/* The same, and waits until it has run. */
void nl_sim_stream_issue_and_wait(nl_sim_stream *stream, nl_sim_op *op);
/* Everything issued so far; for a default stream also what it would have to come after. */
void nl_sim_stream_wait(nl_sim_stream *stream);
int nl_sim_stream_is_done(nl_sim_stream *stream);
/* Everything issued so far to all streams of a context. */
void nl_sim_stream_wait_context(struct nl_sim_context *context);

/* From op->run: records a fault, to be reported by the next call that synchronises. */
void nl_sim_stream_fail(nl_sim_stream *stream, CUresult status, const nl_fault *fault);
void nl_sim_stream_set_job(nl_sim_stream *stream, struct nl_sim_job *job);
/* The status of a pending fault: of this stream (a default stream's includes the streams that it
 * waits for), or with stream NULL of any of the context. It becomes the calling thread's, and stays
 * pending until somebody has taken it: a status can be ignored. */
CUresult nl_sim_stream_report_fault(struct nl_sim_context *context, nl_sim_stream *stream);
/* That fault has been taken. */
void nl_sim_stream_clear_fault(uint64_t id);
void nl_sim_stream_clear_faults(struct nl_sim_context *context);

nl_sim_event *nl_sim_event_create(struct nl_sim_context *context, unsigned flags);
void nl_sim_event_close(nl_sim_event *event);
struct nl_sim_context *nl_sim_event_context(const nl_sim_event *event);
CUresult nl_sim_event_record(nl_sim_event *event, nl_sim_stream *stream);
CUresult nl_sim_event_make_wait(nl_sim_stream *stream, nl_sim_event *event);
/* CUDA_ERROR_CAPTURED_EVENT for an event that was recorded in a capture. */
CUresult nl_sim_event_admit(nl_sim_event *event);
int nl_sim_event_is_done(nl_sim_event *event);
CUresult nl_sim_event_wait(nl_sim_event *event); /* reports the fault of its stream */
CUresult nl_sim_event_elapsed(nl_sim_event *start, nl_sim_event *end, float *milliseconds);

void nl_sim_stream_open(void);   /* registers what happens at exit */
void nl_sim_stream_forget(void); /* in a forked child */

#endif
