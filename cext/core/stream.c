/* core/stream: implements streams by the driver's handles.
 *
 * A wrapped handle belongs to another owner and is never destroyed. Streams that are older than a
 * device reset are invalid: their use is an error, and releasing them frees only host memory. */
#include "core/stream.h"

#include "base/mem.h"
#include "core/wait.h"

static uint64_t live_streams, created_streams;

size_t nl_stream_live_count(void) {
    return nl_atomic_load(&live_streams);
}

static uint64_t unordered_seen;
static void mark_unordered_seen(void) {
    nl_atomic_store(&unordered_seen, 1);
    nl_wait_set_has_unordered();
}

int nl_stream_unordered_seen(void) {
    return nl_atomic_load(&unordered_seen) != 0;
}

enum { ORDER_UNKNOWN, BLOCKING, UNORDERED };

static nl_stream *new_stream(nl_device *dev, nl_error *err) {
    nl_stream *stream = nl_mem_zalloc(sizeof *stream, err);
    if (stream == NULL)
        return NULL;
    stream->references = 1;
    stream->device = dev;
    stream->generation = nl_atomic_load(&dev->generation);
    nl_atomic_add(&live_streams, 1);
    return stream;
}

int nl_stream_create(nl_device *dev, unsigned flags, int priority, nl_stream **out, nl_error *err) {
    nl_device_release_postponed();
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_stream *stream = new_stream(dev, err);
    if (stream == NULL)
        return -1;
    if (NL_CU(err, StreamCreateWithPriority, &stream->handle, flags, priority) < 0) {
        nl_stream_release(stream);
        return -1;
    }
    stream->owned = 1;
    unsigned count = 1 + (unsigned)nl_atomic_add(&created_streams, 1);
    stream->number = nl_cu.StreamNumber ? nl_cu.StreamNumber(stream->handle) : count;
    stream->order = flags & CU_STREAM_NON_BLOCKING ? UNORDERED : BLOCKING;
    if (stream->order == UNORDERED)
        mark_unordered_seen();
    *out = stream;
    return 0;
}

int nl_stream_read_handle_blocking(CUstream handle, int *blocking, nl_error *err) {
    unsigned flags = 0;
    if (handle != NULL && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD &&
        NL_CU(err, StreamGetFlags, handle, &flags) < 0) {
        return -1;
    }
    *blocking = !(flags & CU_STREAM_NON_BLOCKING);
    if (!*blocking)
        mark_unordered_seen();
    return 0;
}

int nl_stream_wrap(nl_device *dev, CUstream handle, nl_stream **out, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_stream *stream = new_stream(dev, err);
    if (stream == NULL)
        return -1;
    stream->handle = handle;
    *out = stream;
    return 0;
}

int nl_stream_read_blocking(nl_stream *stream, int *blocking, nl_error *err) {
    uint64_t order = nl_atomic_load(&stream->order);
    if (order == ORDER_UNKNOWN) {
        if (nl_device_bind(stream->device, err) < 0 ||
            nl_stream_read_handle_blocking(stream->handle, blocking, err) < 0)
            return -1;
        order = *blocking ? BLOCKING : UNORDERED;
        nl_atomic_store(&stream->order, order);
    }
    *blocking = order == BLOCKING;
    return 0;
}

/* Records an event in `before` and makes `after` wait for it. The wait refers to the state of the
 * event at the time of the call, so the next call can record the same event again. */
int nl_stream_order_after(nl_device *dev, CUstream after, CUstream before, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_mutex_lock(&dev->lock);
    int status = dev->order_event != NULL
                     ? 0
                     : NL_CU(err, EventCreate, &dev->order_event, CU_EVENT_DISABLE_TIMING);
    if (status == 0)
        status = NL_CU(err, EventRecord, dev->order_event, before);
    if (status == 0)
        status = NL_CU(err, StreamWaitEvent, after, dev->order_event, 0);
    nl_mutex_unlock(&dev->lock);
    return status;
}

int nl_stream_is_captured(nl_device *dev, CUstream handle, int *captured, nl_error *err) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (nl_device_bind(dev, err) < 0 || NL_CU(err, StreamIsCapturing, handle, &status) < 0)
        return -1;
    *captured = status != CU_STREAM_CAPTURE_STATUS_NONE;
    return 0;
}

void nl_stream_assume_unordered(nl_stream *stream) {
    nl_atomic_store(&stream->order, UNORDERED);
    mark_unordered_seen();
}

void nl_stream_retain(nl_stream *stream) {
    nl_atomic_add(&stream->references, 1);
}

static void destroy_stream(void *thing) {
    nl_stream *stream = thing;
    if (stream->owned && nl_device_bind_for_release(stream->device, stream->generation)) {
        nl_driver_print_failure(nl_cu.StreamDestroy(stream->handle), "cuStreamDestroy");
    }
    nl_atomic_sub(&live_streams, 1);
    nl_mem_free(stream);
}

void nl_stream_release(nl_stream *stream) {
    if (stream == NULL || nl_atomic_sub(&stream->references, 1) != 1)
        return;
    if (!stream->owned || !nl_device_postpone_release(&stream->later, destroy_stream, stream))
        destroy_stream(stream);
}

/* Wrapped default streams exist again after a reset, so only owned streams are checked. */
static int bind_stream_device(nl_stream *stream, nl_error *err) {
    if (stream->owned && nl_device_check_generation(stream->device, stream->generation, err) < 0)
        return -1;
    return nl_device_bind(stream->device, err);
}

int nl_stream_synchronize(nl_stream *stream, nl_error *err) {
    if (bind_stream_device(stream, err) < 0)
        return -1;
    if (NL_CU(err, StreamSynchronize, stream->handle) < 0)
        return -1;
    nl_device_release_postponed();
    return 0;
}

int nl_stream_query(nl_stream *stream, int *done, nl_error *err) {
    if (bind_stream_device(stream, err) < 0)
        return -1;
    CUresult status = nl_cu.StreamQuery(stream->handle);
    *done = status == CUDA_SUCCESS;
    return status == CUDA_ERROR_NOT_READY ? 0 : nl_driver_check(status, "cuStreamQuery", err);
}

int nl_stream_priority(nl_stream *stream, int *priority, nl_error *err) {
    return bind_stream_device(stream, err) < 0
               ? -1
               : NL_CU(err, StreamGetPriority, stream->handle, priority);
}
