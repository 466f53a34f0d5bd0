/* core/graph: captures and launches graphs: a graph retains the buffers that its captured work
 * uses, and each launch marks them as used by its stream. */
#include "core/graph.h"

#include "base/mem.h"

static uint64_t live;

size_t nl_graph_live_count(void) {
    return nl_atomic_load(&live);
}

int nl_graph_last_node(CUstream stream, CUgraphNode *node, nl_error *err) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    if (NL_CU(err, StreamGetCaptureInfo, stream, &status, NULL, NULL, &nodes, &count) < 0)
        return -1;
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1)
        return nl_error_set(err, NL_ERR_RUNTIME, "the capture has been invalidated by an error");
    *node = nodes[0];
    return 0;
}

/* ---- capturing ---- */

static void destroy_graph(void *thing) {
    nl_graph *g = thing;
    if (nl_device_bind_for_release(g->device, g->generation)) {
        if (g->exec != NULL)
            nl_driver_print_failure(nl_cu.GraphExecDestroy(g->exec), "cuGraphExecDestroy");
        if (g->handle != NULL)
            nl_driver_print_failure(nl_cu.GraphDestroy(g->handle), "cuGraphDestroy");
    }
    nl_event_destroy(g->done);
    nl_stream_release(g->stream);
    for (size_t i = 0; i < g->capture.count; i++)
        nl_buffer_release(g->capture.things[i]);
    nl_mem_free(g->capture.things);
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
    if (!nl_device_postpone_release(&g->later, destroy_graph, g))
        destroy_graph(g);
}

static void close_capture_and_release(void) {
    nl_capture_close();
    nl_device_release_postponed();
}

static int check_can_capture(const nl_stream *stream, nl_error *err) {
    CUstream handle = stream->handle;
    if (handle != NULL && handle != CU_STREAM_LEGACY)
        return 0;
    return nl_error_set(
        err, NL_ERR_VALUE,
        "the default stream cannot be captured: create a stream with cuda.stream()");
}

static int begin_capture(nl_graph *g, nl_error *err) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream handle = g->stream->handle;
    if (NL_CU(err, StreamIsCapturing, handle, &status) < 0)
        return -1;
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        return nl_error_set(err, NL_ERR_RUNTIME,
                            "this stream is being captured already: captures cannot be nested");
    if (NL_CU(err, StreamBeginCapture, handle, CU_STREAM_CAPTURE_MODE_RELAXED) < 0)
        return -1;
    if (nl_capture_register(&g->capture, handle, err) == 0)
        return 0;
    CUgraph none = NULL;
    nl_driver_print_failure(nl_cu.StreamEndCapture(handle, &none), "cuStreamEndCapture");
    if (none != NULL)
        nl_driver_print_failure(nl_cu.GraphDestroy(none), "cuGraphDestroy");
    return -1;
}

int nl_graph_begin(nl_stream *stream, void *owner, nl_graph **out, nl_error *err) {
    if (check_can_capture(stream, err) < 0)
        return -1;
    if (stream->owned && nl_device_check_generation(stream->device, stream->generation, err) < 0)
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
    g->capture.device = stream->device;
    g->capture.owner = owner;
    nl_capture_open();
    if (begin_capture(g, err) < 0) {
        close_capture_and_release();
        nl_graph_release(g);
        return -1;
    }
    *out = g;
    return 0;
}

int nl_graph_is_capturing(nl_graph *g) {
    return nl_capture_is_active(&g->capture);
}

int nl_graph_stop_recording(nl_graph *g) {
    return nl_capture_unregister(&g->capture);
}

/* Ends the capture if it is still active: after an error, the driver may have ended it. */
static void end_active_capture(nl_graph *g) {
    CUstream handle = g->stream->handle;
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph none = NULL;
    if (nl_cu.StreamIsCapturing(handle, &status) == CUDA_SUCCESS &&
        status == CU_STREAM_CAPTURE_STATUS_NONE)
        return;
    if (nl_cu.StreamEndCapture(handle, &none) == CUDA_SUCCESS && none != NULL)
        nl_driver_print_failure(nl_cu.GraphDestroy(none), "cuGraphDestroy");
}

static void end_capture(nl_graph *g) {
    nl_stream *stream = g->stream;
    g->stream = NULL;
    close_capture_and_release();
    nl_stream_release(stream);
}

static int instantiate_graph(nl_graph *g, nl_error *err) {
    if (NL_CU(err, GraphInstantiateWithFlags, &g->exec, g->handle, 0) < 0)
        return -1;
    return nl_atomic_load(&g->touches_host) ? nl_event_create(g->device, 0, &g->done, err) : 0;
}

int nl_graph_end(nl_graph *g, nl_error *err) {
    int status = nl_device_check_generation(g->device, g->generation, err);
    if (status == 0)
        status = nl_device_bind(g->device, err);
    if (status == 0 && NL_CU(err, StreamEndCapture, g->stream->handle, &g->handle) < 0) {
        g->handle = NULL;
        end_active_capture(g);
        status = -1;
    }
    end_capture(g);
    if (status == 0 && g->capture.invalidated != CUDA_SUCCESS)
        status = nl_driver_check(g->capture.invalidated, "cuStreamGetCaptureInfo", err);
    return status < 0 ? -1 : instantiate_graph(g, err);
}

void nl_graph_abandon(nl_graph *g) {
    if (nl_device_bind_for_release(g->device, g->generation))
        end_active_capture(g);
    end_capture(g);
}

/* ---- launching ---- */

static int bind_graph_device(nl_graph *g, nl_error *err) {
    if (nl_device_check_generation(g->device, g->generation, err) < 0 ||
        nl_device_bind(g->device, err) < 0)
        return -1;
    if (g->exec == NULL)
        return nl_error_set(
            err, NL_ERR_RUNTIME,
            "this graph cannot be launched: its capture is still active, or has failed");
    return 0;
}

int nl_graph_launch(nl_graph *g, CUstream stream, int blocking, nl_error *err) {
    if (bind_graph_device(g, err) < 0)
        return -1;
    if (nl_capture_id_of_stream(stream) != 0)
        return nl_error_set(err, NL_ERR_RUNTIME, "a graph cannot be launched inside a capture");
    for (size_t i = 0; stream != NULL && i < g->capture.count; i++)
        if (nl_buffer_order_with_stream(g->capture.things[i], stream, blocking, err) < 0)
            return -1;
    nl_mutex_lock(&g->lock);
    int status = NL_CU(err, GraphLaunch, g->exec, stream);
    if (status == 0 && g->done != NULL)
        status = nl_event_record(g->done, stream, err);
    nl_mutex_unlock(&g->lock);
    return status;
}

int nl_graph_upload(nl_graph *g, CUstream stream, nl_error *err) {
    if (bind_graph_device(g, err) < 0)
        return -1;
    nl_mutex_lock(&g->lock);
    int status = NL_CU(err, GraphUpload, g->exec, stream);
    nl_mutex_unlock(&g->lock);
    return status;
}

int nl_graph_set_arguments(nl_graph *g, CUgraphNode node, const nl_kernel *kernel,
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
    if (bind_graph_device(g, err) < 0)
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

void nl_graph_wait_for_launches(nl_graph *g) {
    nl_error ignored; /* if the context is lost, no launch is running */
    if (g->done != NULL && nl_device_are_usable())
        (void)nl_event_synchronize(g->done, &ignored);
}
