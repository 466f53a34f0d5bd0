/* sim/driver/calls_stream: implements the driver calls for streams and events. */
#include "sim/driver/calls.h"

#include <stdlib.h>
#include "sim/driver/event.h"
#include "sim/driver/handle.h"
#include "sim/driver/stream.h"
#include "sim/driver/streamclock.h"
#include "sim/engine/ops.h"

static CUresult sim_StreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(handle && flags <= CU_STREAM_NON_BLOCKING);
    int clamped = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    nl_sim_stream *stream = nl_sim_stream_create(context, flags, clamped);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (nl_sim_handle_add(NL_SIM_HANDLE_STREAM, context->device, stream) < 0) {
        nl_sim_stream_close(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (CUstream)stream;
    return CUDA_SUCCESS;
}

static CUresult sim_StreamDestroy(CUstream handle) {
    NL_SIM_BEGIN();
    if (!nl_sim_handle_remove(NL_SIM_HANDLE_STREAM, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_stream_close((nl_sim_stream *)handle);
    return CUDA_SUCCESS;
}

static CUresult sim_StreamSynchronize(CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    NL_SIM_CHECK(nl_sim_capture_refuse_stream(stream));
    nl_sim_stream_wait(stream);
    nl_sim_ops_flush_output();
    return nl_sim_stream_report_fault(stream->context, stream);
}

static CUresult sim_StreamQuery(CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    NL_SIM_CHECK(nl_sim_capture_refuse_stream(stream));
    return nl_sim_stream_is_done(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult sim_StreamGetPriority(CUstream handle, int *priority) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    NL_SIM_REQUIRE(priority);
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

static CUresult sim_StreamGetFlags(CUstream handle, unsigned *flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(flags);
    NL_SIM_ANY_STREAM(stream, context, handle);
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

static CUresult sim_StreamGetCtx(CUstream handle, CUcontext *owner) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(owner);
    NL_SIM_ANY_STREAM(stream, context, handle);
    *owner = (CUcontext)stream->context;
    return CUDA_SUCCESS;
}

static CUresult sim_StreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(flags == 0);
    NL_SIM_STREAM(stream, context, handle);
    if (!nl_sim_handle_is_registered(NL_SIM_HANDLE_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    return nl_sim_event_enqueue_wait(stream, (nl_sim_event *)event);
}

typedef struct host_op {
    nl_sim_op op;
    CUhostFn function;
    void *data;
} host_op;

static void run_host_function(nl_sim_op *op, nl_sim_stream *stream) {
    host_op *h = (host_op *)op;
    (void)stream;
    nl_sim_streamclock_begin_host(op->overlap);
    h->function(h->data);
    nl_sim_streamclock_begin_host(NULL);
}

static nl_sim_op *clone_host_op(const nl_sim_op *op) {
    return nl_sim_op_copy(op, sizeof(host_op));
}

static CUresult sim_LaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(function);
    NL_SIM_STREAM(stream, context, handle);
    host_op *h = calloc(1, sizeof *h);
    if (!h)
        return CUDA_ERROR_OUT_OF_MEMORY;
    h->op.run = run_host_function;
    h->op.copy = clone_host_op;
    h->op.flags = NL_SIM_OP_HOST | NL_SIM_OP_WATCHED;
    h->function = function;
    h->data = data;
    nl_sim_stream_issue(stream, &h->op);
    return CUDA_SUCCESS;
}

/* Events */

static nl_sim_event *find_event(CUevent event) {
    return nl_sim_handle_is_registered(NL_SIM_HANDLE_EVENT, event) ? (nl_sim_event *)event : NULL;
}

static CUresult sim_EventCreate(CUevent *handle, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(handle && flags < 8);
    nl_sim_event *event = nl_sim_event_create(context, flags);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (nl_sim_handle_add(NL_SIM_HANDLE_EVENT, context->device, event) < 0) {
        nl_sim_event_close(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (CUevent)event;
    return CUDA_SUCCESS;
}

static CUresult sim_EventDestroy(CUevent event) {
    NL_SIM_BEGIN();
    if (!nl_sim_handle_remove(NL_SIM_HANDLE_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_event_close((nl_sim_event *)event);
    return CUDA_SUCCESS;
}

static CUresult sim_EventRecord(CUevent handle, CUstream stream_handle) {
    NL_SIM_BEGIN_IN(context);
    nl_sim_event *event = find_event(handle);
    NL_SIM_STREAM(stream, context, stream_handle);
    if (!event || nl_sim_event_context(event) != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    return nl_sim_event_record(event, stream);
}

static CUresult sim_EventQuery(CUevent handle) {
    NL_SIM_BEGIN();
    nl_sim_event *event = find_event(handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    NL_SIM_CHECK(nl_sim_event_check_query(event));
    return nl_sim_event_is_done(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult sim_EventSynchronize(CUevent handle) {
    NL_SIM_BEGIN();
    nl_sim_event *event = find_event(handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    NL_SIM_CHECK(nl_sim_event_check_query(event));
    CUresult status = nl_sim_event_wait(event);
    nl_sim_ops_flush_output();
    return status;
}

static CUresult sim_EventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(milliseconds);
    nl_sim_event *first = find_event(start), *last = find_event(end);
    if (!first || !last)
        return CUDA_ERROR_INVALID_HANDLE;
    NL_SIM_CHECK(nl_sim_event_check_query(first));
    NL_SIM_CHECK(nl_sim_event_check_query(last));
    return nl_sim_event_elapsed(first, last, milliseconds);
}

void nl_sim_calls_stream_fill(nl_driver *table) {
    table->StreamCreateWithPriority = sim_StreamCreateWithPriority;
    table->StreamDestroy = sim_StreamDestroy;
    table->StreamSynchronize = sim_StreamSynchronize;
    table->StreamQuery = sim_StreamQuery;
    table->StreamGetFlags = sim_StreamGetFlags;
    table->StreamGetPriority = sim_StreamGetPriority;
    table->StreamGetCtx = sim_StreamGetCtx;
    table->StreamWaitEvent = sim_StreamWaitEvent;
    table->LaunchHostFunc = sim_LaunchHostFunc;
    table->EventCreate = sim_EventCreate;
    table->EventDestroy = sim_EventDestroy;
    table->EventRecord = sim_EventRecord;
    table->EventQuery = sim_EventQuery;
    table->EventSynchronize = sim_EventSynchronize;
    table->EventElapsedTime = sim_EventElapsedTime;
}
