/* sim/driver/capture: records captured operations; the lock of all streams protects all variables
 * of this file. A capture exists as long as streams and events refer to it, and its graph owns the
 * recorded operations. */
#include "sim/driver/capture.h"

#include <stdlib.h>
#include "base/lock.h"

struct nl_sim_capture {
    uint64_t references, id;
    int status; /* CU_STREAM_CAPTURE_STATUS_NONE if the capture has ended */
    nl_sim_stream *origin;
    nl_sim_graph *graph;
};

/* number of active captures; if it is 0, the functions below return immediately */
static uint32_t captures;

/* Captures */

static void release_capture(nl_sim_capture *capture) {
    if (!--capture->references)
        free(capture);
}

static void detach_stream(nl_sim_stream *stream) {
    nl_sim_capture *capture = stream->capture;
    stream->capture = NULL;
    stream->captured = NULL;
    release_capture(capture);
}

static void attach_stream(nl_sim_stream *stream, nl_sim_capture *capture) {
    stream->capture = capture;
    stream->captured = NULL;
    stream->captured_count = 0;
    stream->unjoined = stream != capture->origin;
    capture->references++;
}

static CUresult invalidate_capture(nl_sim_capture *capture, CUresult status) {
    if (capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return status;
}

static CUresult begin_capture_lock_held(nl_sim_stream *stream) {
    if (stream == stream->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    static uint64_t last_id;
    nl_sim_capture *capture = calloc(1, sizeof *capture);
    nl_sim_graph *graph = nl_sim_graph_create();
    if (!capture || !graph) {
        free(capture);
        free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture->id = ++last_id;
    capture->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    capture->origin = stream;
    capture->graph = graph;
    attach_stream(stream, capture);
    nl_atomic_store32(&captures, nl_atomic_load32(&captures) + 1);
    return CUDA_SUCCESS;
}

CUresult nl_sim_capture_begin(nl_sim_stream *stream) {
    nl_sim_streams_lock();
    CUresult status = begin_capture_lock_held(stream);
    nl_sim_streams_unlock();
    return status;
}

/* Removes all streams from the capture. Returns 0 if a stream has captured operations for which the
 * first stream does not wait. */
static int close_capture_lock_held(nl_sim_capture *capture) {
    nl_sim_stream *origin = capture->origin;
    int joined = 1;
    for (nl_sim_stream *s = origin->context->streams; s; s = s->next) {
        if (s->capture == capture && s != origin) {
            joined = joined && !s->unjoined;
            detach_stream(s);
        }
    }
    capture->status = CU_STREAM_CAPTURE_STATUS_NONE;
    capture->graph = NULL;
    detach_stream(origin);
    nl_atomic_store32(&captures, nl_atomic_load32(&captures) - 1);
    return joined;
}

static CUresult end_capture_lock_held(nl_sim_stream *stream, nl_sim_graph **graph) {
    nl_sim_capture *capture = stream->capture;
    *graph = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return invalidate_capture(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    int active = capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    nl_sim_graph *made = capture->graph;
    int joined = close_capture_lock_held(capture);
    if (active && joined) {
        *graph = made;
        return CUDA_SUCCESS;
    }
    nl_sim_graph_destroy(made);
    return active ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult nl_sim_capture_end(nl_sim_stream *stream, nl_sim_graph **graph) {
    nl_sim_streams_lock();
    CUresult status = end_capture_lock_held(stream, graph);
    nl_sim_streams_unlock();
    return status;
}

void nl_sim_capture_remove_stream_lock_held(nl_sim_stream *stream) {
    nl_sim_capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream) {
        nl_sim_graph *made = capture->graph;
        close_capture_lock_held(capture);
        nl_sim_graph_destroy(made);
    } else {
        invalidate_capture(capture, CUDA_SUCCESS);
        detach_stream(stream);
    }
}

void nl_sim_capture_add_op_lock_held(nl_sim_stream *stream, nl_sim_op *op) {
    nl_sim_graph_add(stream->capture->graph, op);
    stream->captured = op;
    stream->captured_count++;
    stream->unjoined = stream != stream->capture->origin;
}

/* Queries */

static int has_no_capture(void) {
    return !nl_atomic_load32(&captures);
}

int nl_sim_capture_has_stream(nl_sim_stream *stream) {
    if (has_no_capture())
        return 0;
    nl_sim_streams_lock();
    int has = stream->capture != NULL;
    nl_sim_streams_unlock();
    return has;
}

/* Returns the error that captures cause for an operation on the default stream: it depends on all
 * streams that are ordered with the default stream. */
static CUresult check_legacy_stream_lock_held(nl_sim_context *context, int harmless) {
    CUresult status = CUDA_SUCCESS;
    for (nl_sim_stream *s = context->streams; s; s = s->next) {
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) {
            status = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            if (!harmless)
                invalidate_capture(s->capture, status);
        }
    }
    return status;
}

static CUresult admit_operation_lock_held(nl_sim_stream *stream) {
    if (stream == stream->context->legacy)
        return check_legacy_stream_lock_held(stream->context, 0);
    if (stream->capture && stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return CUDA_SUCCESS;
}

CUresult nl_sim_capture_admit_operation(nl_sim_stream *stream) {
    if (has_no_capture())
        return CUDA_SUCCESS;
    nl_sim_streams_lock();
    CUresult status = admit_operation_lock_held(stream);
    nl_sim_streams_unlock();
    return status;
}

CUresult nl_sim_capture_refuse_stream(nl_sim_stream *stream) {
    if (has_no_capture())
        return CUDA_SUCCESS;
    nl_sim_streams_lock();
    CUresult status = admit_operation_lock_held(stream);
    if (status == CUDA_SUCCESS && stream->capture)
        status = invalidate_capture(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    nl_sim_streams_unlock();
    return status;
}

CUresult nl_sim_capture_refuse_context(nl_sim_context *context) {
    CUresult status = CUDA_SUCCESS;
    if (has_no_capture())
        return status;
    nl_sim_streams_lock();
    for (nl_sim_stream *s = context->streams; s; s = s->next) {
        if (s->capture)
            status = invalidate_capture(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    nl_sim_streams_unlock();
    return status;
}

CUresult nl_sim_capture_info(nl_sim_stream *stream, int *status, unsigned long long *id,
                             nl_sim_graph **graph, const CUgraphNode **nodes, size_t *count) {
    CUresult result = CUDA_SUCCESS;
    nl_sim_streams_lock();
    nl_sim_capture *capture = stream->capture;
    *status = capture ? capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream == stream->context->legacy)
        result = check_legacy_stream_lock_held(stream->context, 1);
    if (*status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        if (id)
            *id = capture->id;
        if (graph)
            *graph = capture->graph;
        if (nodes)
            *nodes = (const CUgraphNode *)(const void *)&stream->captured;
        if (count)
            *count = stream->captured != NULL;
    }
    nl_sim_streams_unlock();
    return result;
}

/* Events */

void nl_sim_capture_clear_mark_lock_held(nl_sim_mark *mark) {
    if (mark->capture)
        release_capture(mark->capture);
    mark->capture = NULL;
}

int nl_sim_capture_set_mark_lock_held(nl_sim_stream *stream, nl_sim_mark *mark) {
    nl_sim_capture_clear_mark_lock_held(mark);
    if (!stream->capture)
        return 0;
    *mark = (nl_sim_mark){stream->capture, stream, stream->captured_count};
    stream->capture->references++;
    return 1;
}

/* If the mark is after the last captured operation of its stream, the wait orders all work of this
 * stream before the work of the waiting stream. In this case, the flag `unjoined` moves from the
 * mark's stream to the waiting stream, unless the waiting stream is the first stream of the
 * capture. */
static void join_capture(nl_sim_stream *stream, const nl_sim_mark *mark) {
    nl_sim_stream *from = mark->stream;
    if (from->capture == mark->capture && from->captured_count == mark->count && from != stream) {
        stream->unjoined |= from->unjoined && stream != mark->capture->origin;
        from->unjoined = 0;
    }
}

int nl_sim_capture_wait_for_mark_lock_held(nl_sim_stream *stream, const nl_sim_mark *mark,
                                           CUresult *status) {
    nl_sim_capture *capture = mark->capture;
    if (!capture) {
        if (stream->capture)
            *status = invalidate_capture(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        return stream->capture != NULL;
    }
    if (capture->status == CU_STREAM_CAPTURE_STATUS_NONE) {
        *status = CUDA_SUCCESS;
    } else if (stream->context != capture->origin->context) {
        *status = invalidate_capture(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    } else if (stream == stream->context->legacy) {
        *status = invalidate_capture(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    } else if (stream->capture && stream->capture != capture) {
        invalidate_capture(stream->capture, CUDA_SUCCESS);
        *status = invalidate_capture(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    } else {
        if (!stream->capture)
            attach_stream(stream, capture);
        join_capture(stream, mark);
    }
    return 1;
}

CUresult nl_sim_capture_refuse_mark_lock_held(const nl_sim_mark *mark) {
    return mark->capture ? invalidate_capture(mark->capture, CUDA_ERROR_CAPTURED_EVENT)
                         : CUDA_SUCCESS;
}
