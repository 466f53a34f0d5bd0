/* sim/driver/event: implements events; an event refers to the operation that recorded it last, by
 * stream and ticket. The stream may be closed before the event; a reference keeps the stream's
 * struct alive. */
#include "sim/driver/event.h"

#include <stdlib.h>
#include "base/clock.h"
#include "sim/driver/capture.h"
#include "sim/driver/stream.h"
#include "sim/driver/streamclock.h"

struct nl_sim_event {
    nl_sim_context *context;
    uint64_t references;
    nl_sim_stream *stream; /* stream of the last record, or NULL */
    uint64_t ticket, time, records, reached;
    unsigned flags;
    nl_sim_streamclock clock; /* the stream's clock at the last record */
    nl_sim_mark mark;         /* the event's last record in a capture */
};

static void release_event_lock_held(nl_sim_event *event) {
    if (--event->references)
        return;
    if (event->stream)
        nl_sim_stream_release_lock_held(event->stream);
    nl_sim_capture_clear_mark_lock_held(&event->mark);
    free(event);
}

nl_sim_event *nl_sim_event_create(nl_sim_context *context, unsigned flags) {
    nl_sim_event *event = calloc(1, sizeof *event);
    if (event) {
        event->context = context;
        event->flags = flags;
        event->references = 1;
    }
    return event;
}

void nl_sim_event_close(nl_sim_event *event) {
    nl_sim_streams_lock();
    release_event_lock_held(event);
    nl_sim_streams_unlock();
}

nl_sim_context *nl_sim_event_context(const nl_sim_event *event) {
    return event->context;
}

typedef struct record_op {
    nl_sim_op op;
    nl_sim_event *event;
    uint64_t record;
} record_op;

/* If the event was recorded again in the meantime, only the later record counts. */
static void complete_record(nl_sim_op *op, nl_sim_stream *stream) {
    record_op *r = (record_op *)op;
    (void)stream;
    if (r->event->records == r->record) {
        r->event->time = nl_clock_ns();
        r->event->reached = r->record;
    }
}

static void drop_record(nl_sim_op *op) {
    release_event_lock_held(((record_op *)op)->event);
}

CUresult nl_sim_event_record(nl_sim_event *event, nl_sim_stream *stream) {
    record_op *r = calloc(1, sizeof *r);
    if (!r)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r->op.settle = complete_record;
    r->op.drop = drop_record;
    r->event = event;
    nl_sim_streams_lock();
    event->references++;
    stream->references++;
    if (event->stream)
        nl_sim_stream_release_lock_held(event->stream);
    event->stream = stream;
    r->record = ++event->records;
    if (nl_sim_capture_set_mark_lock_held(stream, &event->mark)) {
        /* an interrupt has cancelled the record, but waits for the event must end */
        event->reached = event->records;
        release_event_lock_held(event);
        free(r);
    } else {
        event->ticket = stream->issued + 1;
        nl_sim_stream_issue_lock_held(stream, &r->op);
        event->clock = stream->clock;
    }
    nl_sim_streams_unlock();
    return CUDA_SUCCESS;
}

static int is_event_done_lock_held(const nl_sim_event *event) {
    return event->reached == event->records;
}

CUresult nl_sim_event_enqueue_wait(nl_sim_stream *stream, nl_sim_event *event) {
    nl_sim_op *op = calloc(1, sizeof *op);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = CUDA_SUCCESS;
    nl_sim_streams_lock();
    int captured = nl_sim_capture_wait_for_mark_lock_held(stream, &event->mark, &status);
    if (!captured)
        nl_sim_streamclock_join(&stream->clock, &event->clock);
    if (captured || is_event_done_lock_held(event)) {
        free(op);
    } else {
        /* cannot fail, because `op` has no other dependency yet */
        (void)nl_sim_stream_add_dependency(op, event->stream, event->ticket);
        nl_sim_stream_issue_lock_held(stream, op);
    }
    nl_sim_streams_unlock();
    return status;
}

CUresult nl_sim_event_check_query(nl_sim_event *event) {
    nl_sim_streams_lock();
    CUresult status = nl_sim_capture_refuse_mark_lock_held(&event->mark);
    nl_sim_streams_unlock();
    return status;
}

int nl_sim_event_is_done(nl_sim_event *event) {
    nl_sim_streams_lock();
    int done = is_event_done_lock_held(event);
    if (done)
        nl_sim_streamclock_join_host(&event->clock);
    nl_sim_streams_unlock();
    return done;
}

CUresult nl_sim_event_wait(nl_sim_event *event) {
    nl_sim_streams_lock();
    nl_sim_stream *stream = event->stream;
    if (!stream) {
        nl_sim_streams_unlock();
        return CUDA_SUCCESS;
    }
    stream->references++;
    event->references++;
    nl_sim_streamclock_join_host(&event->clock);
    nl_sim_stream_wait_ticket_lock_held(stream, event->ticket);
    nl_sim_streams_unlock();
    CUresult fault = nl_sim_stream_report_fault(event->context, stream);
    nl_sim_streams_lock();
    release_event_lock_held(event);
    nl_sim_stream_release_lock_held(stream);
    nl_sim_streams_unlock();
    return fault;
}

CUresult nl_sim_event_elapsed(nl_sim_event *start, nl_sim_event *end, float *milliseconds) {
    CUresult status = CUDA_SUCCESS;
    nl_sim_streams_lock();
    if (!start->records || !end->records || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
        status = CUDA_ERROR_INVALID_HANDLE;
    else if (!is_event_done_lock_held(start) || !is_event_done_lock_held(end))
        status = CUDA_ERROR_NOT_READY;
    else
        *milliseconds = (float)((double)(int64_t)(end->time - start->time) / 1e6);
    nl_sim_streams_unlock();
    return status;
}
