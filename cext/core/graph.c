/* core/graph: captures under way are in a list, which is looked through only while there are some.
 * A stream tells by the driver's number of its capture which of them it belongs to: so streams that
 * an event has drawn into a capture are found too. */
#include "core/graph.h"

#include <string.h>
#include "base/mem.h"

static nl_mutex lock = NL_MUTEX_INIT;
static nl_graph *under_way;
static uint64_t live;
static NL_THREAD_LOCAL char here; /* its address tells threads apart */

size_t nl_graph_live(void) {
    return nl_atomic_load(&live);
}

static void forget_in_child(void) {
    nl_mutex_init(&lock);
    under_way = NULL;
}

/* It cannot be told which capture the stream belongs to: none of them may pass for complete. */
static void spoil_all(CUresult status) {
    nl_mutex_lock(&lock);
    for (nl_graph *g = under_way; g != NULL; g = g->next)
        g->spoilt = status;
    nl_mutex_unlock(&lock);
}

/* The number of the stream's capture, 0 if it is not captured. */
static unsigned long long capture_of(CUstream stream) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    if (stream == NULL || stream == CU_STREAM_LEGACY)
        return 0;
    CUresult answer = nl_cu.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL);
    if (answer != CUDA_SUCCESS) {
        spoil_all(answer);
        return 0;
    }
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

static nl_graph *find_lock_held(unsigned long long id) {
    nl_graph *g = under_way;
    while (g != NULL && g->id != id)
        g = g->next;
    return g;
}

int nl_graph_has(CUstream stream) {
    unsigned long long id = nl_graph_capturing() ? capture_of(stream) : 0;
    if (id == 0)
        return 0;
    nl_mutex_lock(&lock);
    int has = find_lock_held(id) != NULL;
    nl_mutex_unlock(&lock);
    return has;
}

void *nl_graph_owner(CUstream stream, void (*retain)(void *owner)) {
    unsigned long long id = nl_graph_capturing() ? capture_of(stream) : 0;
    void *owner = NULL;
    if (id == 0)
        return NULL;
    nl_mutex_lock(&lock);
    nl_graph *g = find_lock_held(id);
    if (g != NULL) {
        owner = g->owner;
        retain(owner);
    }
    nl_mutex_unlock(&lock);
    return owner;
}

int nl_graph_is_on(const nl_device *device) {
    int found = 0;
    if (!nl_graph_capturing())
        return 0;
    nl_mutex_lock(&lock);
    for (nl_graph *g = under_way; g != NULL && !found; g = g->next)
        found = g->device == device;
    nl_mutex_unlock(&lock);
    return found;
}

int nl_graph_is_here(void) {
    int found = 0;
    if (!nl_graph_capturing())
        return 0;
    nl_mutex_lock(&lock);
    for (nl_graph *g = under_way; g != NULL && !found; g = g->next)
        found = g->thread == &here;
    nl_mutex_unlock(&lock);
    return found;
}

/* ---- buffers ---- */

/* Where the buffer is, or would be. */
static size_t position(const nl_graph *g, const nl_buffer *buffer) {
    size_t low = 0, high = g->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)g->buffers[middle] < (uintptr_t)buffer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_lock_held(nl_graph *g, nl_buffer *buffer, nl_error *err) {
    size_t at = position(g, buffer);
    if (at < g->count && g->buffers[at] == buffer)
        return 1;
    if (g->count == g->capacity) {
        size_t capacity = g->capacity != 0 ? 2 * g->capacity : 8;
        nl_buffer **more = nl_mem_alloc(capacity * sizeof *more, err);
        if (more == NULL)
            return -1;
        if (g->count != 0)
            memcpy(more, g->buffers, g->count * sizeof *more);
        nl_mem_free(g->buffers);
        g->buffers = more;
        g->capacity = capacity;
    }
    memmove(&g->buffers[at + 1], &g->buffers[at], (g->count - at) * sizeof g->buffers[0]);
    g->buffers[at] = buffer;
    g->count++;
    nl_buffer_retain(buffer);
    return 1;
}

int nl_graph_note(CUstream stream, nl_buffer *buffer, nl_error *err) {
    unsigned long long id = nl_graph_capturing() ? capture_of(stream) : 0;
    if (id == 0)
        return 0;
    nl_mutex_lock(&lock);
    nl_graph *g = find_lock_held(id);
    int status = g != NULL ? add_lock_held(g, buffer, err) : 0;
    nl_mutex_unlock(&lock);
    return status;
}

int nl_graph_last_node(CUstream stream, CUgraphNode *node, nl_error *err) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    if (NL_CU(err, StreamGetCaptureInfo, stream, &status, NULL, NULL, &nodes, &count) < 0)
        return -1;
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1)
        return nl_error_set(err, NL_ERR_RUNTIME, "the capture has been spoilt by an error");
    *node = nodes[0];
    return 0;
}

/* ---- capturing ---- */

static void destroy(void *thing) {
    nl_graph *g = thing;
    if (nl_device_bind_for_release(g->device, g->generation)) {
        if (g->exec != NULL)
            nl_driver_report(nl_cu.GraphExecDestroy(g->exec), "cuGraphExecDestroy");
        if (g->handle != NULL)
            nl_driver_report(nl_cu.GraphDestroy(g->handle), "cuGraphDestroy");
    }
    nl_event_destroy(g->done);
    nl_stream_release(g->stream);
    for (size_t i = 0; i < g->count; i++)
        nl_buffer_release(g->buffers[i]);
    nl_mem_free(g->buffers);
    nl_mutex_destroy(&g->lock);
    nl_atomic_sub(&live, 1);
    nl_mem_free(g);
}

void nl_graph_retain(nl_graph *g) {
    nl_atomic_add(&g->references, 1);
}

void nl_graph_release(nl_graph *g) {
    if (g == NULL || nl_atomic_sub(&g->references, 1) != 1)
        return;
    if (!nl_device_postpone(&g->later, destroy, g))
        destroy(g);
}

static int refuse_stream(const nl_stream *stream, nl_error *err) {
    CUstream handle = stream->handle;
    if (handle != NULL && handle != CU_STREAM_LEGACY)
        return 0;
    return nl_error_set(err, NL_ERR_VALUE,
                        "the default stream cannot be captured: make one with cuda.stream()");
}

static int begin(nl_graph *g, nl_error *err) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream handle = g->stream->handle;
    if (NL_CU(err, StreamIsCapturing, handle, &status) < 0)
        return -1;
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        return nl_error_set(err, NL_ERR_RUNTIME,
                            "this stream is being captured already: captures cannot be nested");
    if (NL_CU(err, StreamBeginCapture, handle, CU_STREAM_CAPTURE_MODE_RELAXED) < 0)
        return -1;
    if (NL_CU(err, StreamGetCaptureInfo, handle, &status, &g->id, NULL, NULL, NULL) == 0)
        return 0;
    CUgraph none = NULL;
    nl_driver_report(nl_cu.StreamEndCapture(handle, &none), "cuStreamEndCapture");
    if (none != NULL)
        nl_driver_report(nl_cu.GraphDestroy(none), "cuGraphDestroy");
    return -1;
}

int nl_graph_begin(nl_stream *stream, void *owner, nl_graph **out, nl_error *err) {
    nl_fork_on_child(forget_in_child);
    if (refuse_stream(stream, err) < 0)
        return -1;
    if (stream->owned && nl_device_alive(stream->device, stream->generation, err) < 0)
        return -1;
    if (nl_device_bind(stream->device, err) < 0)
        return -1;
    nl_graph *g = nl_mem_zalloc(sizeof *g, err);
    if (g == NULL)
        return -1;
    nl_mutex_init(&g->lock);
    nl_atomic_add(&live, 1);
    nl_stream_retain(stream);
    g->references = 1;
    g->device = stream->device;
    g->generation = nl_atomic_load(&stream->device->generation);
    g->stream = stream;
    g->owner = owner;
    g->thread = &here;
    nl_device_capture_begin(); /* first: nothing is to be freed on the default stream any more */
    if (begin(g, err) < 0) {
        nl_device_capture_end();
        nl_graph_release(g);
        return -1;
    }
    nl_mutex_lock(&lock);
    g->next = under_way;
    under_way = g;
    nl_mutex_unlock(&lock);
    *out = g;
    return 0;
}

int nl_graph_is_going(nl_graph *graph) {
    nl_mutex_lock(&lock);
    nl_graph *g = under_way;
    while (g != NULL && g != graph)
        g = g->next;
    nl_mutex_unlock(&lock);
    return g != NULL;
}

int nl_graph_leave(nl_graph *g) {
    nl_mutex_lock(&lock);
    nl_graph **p = &under_way;
    while (*p != NULL && *p != g)
        p = &(*p)->next;
    int found = *p != NULL;
    if (found)
        *p = g->next;
    g->owner = NULL;
    nl_mutex_unlock(&lock);
    return found;
}

/* After an error the driver may or may not have ended it. */
static void stop(nl_graph *g) {
    CUstream handle = g->stream->handle;
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph none = NULL;
    if (nl_cu.StreamIsCapturing(handle, &status) == CUDA_SUCCESS &&
        status == CU_STREAM_CAPTURE_STATUS_NONE)
        return;
    if (nl_cu.StreamEndCapture(handle, &none) == CUDA_SUCCESS && none != NULL)
        nl_driver_report(nl_cu.GraphDestroy(none), "cuGraphDestroy");
}

static void close_capture(nl_graph *g) {
    nl_stream *stream = g->stream;
    g->stream = NULL;
    nl_device_capture_end();
    nl_stream_release(stream);
}

static int make_launchable(nl_graph *g, nl_error *err) {
    if (NL_CU(err, GraphInstantiateWithFlags, &g->exec, g->handle, 0) < 0)
        return -1;
    return nl_atomic_load(&g->touches_host) ? nl_event_create(g->device, 0, &g->done, err) : 0;
}

int nl_graph_end(nl_graph *g, nl_error *err) {
    int status = nl_device_alive(g->device, g->generation, err);
    if (status == 0)
        status = nl_device_bind(g->device, err);
    if (status == 0 && NL_CU(err, StreamEndCapture, g->stream->handle, &g->handle) < 0) {
        g->handle = NULL;
        stop(g);
        status = -1;
    }
    close_capture(g);
    if (status == 0 && g->spoilt != CUDA_SUCCESS)
        status = nl_driver_check(g->spoilt, "cuStreamGetCaptureInfo", err);
    return status < 0 ? -1 : make_launchable(g, err);
}

void nl_graph_abandon(nl_graph *g) {
    if (nl_device_bind_for_release(g->device, g->generation))
        stop(g);
    close_capture(g);
}

/* ---- launching ---- */

static int enter(nl_graph *g, nl_error *err) {
    if (nl_device_alive(g->device, g->generation, err) < 0 || nl_device_bind(g->device, err) < 0)
        return -1;
    if (g->exec == NULL)
        return nl_error_set(err, NL_ERR_RUNTIME,
                            "this graph cannot be launched: its capture is not over, or failed");
    return 0;
}

int nl_graph_launch(nl_graph *g, CUstream stream, int blocking, nl_error *err) {
    if (enter(g, err) < 0)
        return -1;
    if (nl_graph_capturing() && capture_of(stream) != 0)
        return nl_error_set(err, NL_ERR_RUNTIME, "a graph cannot be launched inside a capture");
    for (size_t i = 0; stream != NULL && i < g->count; i++)
        if (nl_buffer_use(g->buffers[i], stream, blocking, err) < 0)
            return -1;
    nl_mutex_lock(&g->lock);
    int status = NL_CU(err, GraphLaunch, g->exec, stream);
    if (status == 0 && g->done != NULL)
        status = nl_event_record(g->done, stream, err);
    nl_mutex_unlock(&g->lock);
    return status;
}

int nl_graph_upload(nl_graph *g, CUstream stream, nl_error *err) {
    if (enter(g, err) < 0)
        return -1;
    nl_mutex_lock(&g->lock);
    int status = NL_CU(err, GraphUpload, g->exec, stream);
    nl_mutex_unlock(&g->lock);
    return status;
}

int nl_graph_set_values(nl_graph *g, CUgraphNode node, const nl_kernel *kernel,
                        const nl_launch *shape, void **values, nl_error *err) {
    CUDA_KERNEL_NODE_PARAMS_v1 params = {
        .func = kernel->handle,
        .gridDimX = shape->grid[0],
        .gridDimY = shape->grid[1],
        .gridDimZ = shape->grid[2],
        .blockDimX = shape->block[0],
        .blockDimY = shape->block[1],
        .blockDimZ = shape->block[2],
        .sharedMemBytes = shape->shared,
        .kernelParams = values,
    };
    if (enter(g, err) < 0)
        return -1;
    nl_mutex_lock(&g->lock);
    int status = NL_CU(err, GraphExecKernelNodeSetParams, g->exec, node, &params);
    nl_mutex_unlock(&g->lock);
    if (status < 0)
        nl_error_prefix(err, "%s()", kernel->name);
    else
        nl_atomic_store(&g->updated, 1);
    return status;
}

void nl_graph_settle(nl_graph *g) {
    nl_error ignored; /* a lost context has nothing more to wait for */
    if (g->done != NULL && nl_device_usable())
        (void)nl_event_synchronize(g->done, &ignored);
}
