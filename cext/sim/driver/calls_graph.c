/* sim/driver/calls_graph: implements the driver calls for captures and graphs. */
#include "sim/driver/calls.h"

#include "sim/driver/exec.h"
#include "sim/driver/graph.h"
#include "sim/driver/handle.h"

static CUresult sim_StreamBeginCapture(CUstream handle, int mode) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(mode >= 0 && mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    NL_SIM_ANY_STREAM(stream, context, handle);
    return nl_sim_capture_begin(stream);
}

static CUresult sim_StreamEndCapture(CUstream handle, CUgraph *out) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(out);
    NL_SIM_ANY_STREAM(stream, context, handle);
    nl_sim_graph *graph;
    *out = NULL;
    CUresult status = nl_sim_capture_end(stream, &graph);
    if (status != CUDA_SUCCESS)
        return status;
    if (nl_sim_handle_add(NL_SIM_HANDLE_GRAPH, stream->context->device, graph) < 0) {
        nl_sim_graph_destroy(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (CUgraph)graph;
    return CUDA_SUCCESS;
}

/* The capture mode is only stored: a capture on the simulator forbids no calls on other streams. */
static CUresult sim_ThreadExchangeStreamCaptureMode(int *mode) {
    static NL_THREAD_LOCAL int current;
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(mode && *mode >= 0 && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    int before = current;
    current = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static CUresult sim_StreamIsCapturing(CUstream handle, int *status) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(status);
    NL_SIM_ANY_STREAM(stream, context, handle);
    return nl_sim_capture_info(stream, status, NULL, NULL, NULL, NULL);
}

static CUresult sim_StreamGetCaptureInfo(CUstream handle, int *status, unsigned long long *id,
                                         CUgraph *graph, const CUgraphNode **nodes, size_t *count) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(status);
    NL_SIM_ANY_STREAM(stream, context, handle);
    nl_sim_graph *found = NULL;
    CUresult result = nl_sim_capture_info(stream, status, id, &found, nodes, count);
    if (graph && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        *graph = (CUgraph)found;
    return result;
}

static CUresult sim_GraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                              unsigned long long flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(out && flags == 0);
    if (!nl_sim_handle_is_registered(NL_SIM_HANDLE_GRAPH, graph))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_exec *exec = NULL;
    CUresult status = nl_sim_exec_create((nl_sim_graph *)graph, &exec);
    if (status != CUDA_SUCCESS)
        return status;
    if (nl_sim_handle_add(NL_SIM_HANDLE_EXEC, context->device, exec) < 0) {
        nl_sim_exec_destroy(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (CUgraphExec)exec;
    return CUDA_SUCCESS;
}

static CUresult sim_GraphUpload(CUgraphExec exec, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    (void)stream;
    return nl_sim_handle_is_registered(NL_SIM_HANDLE_EXEC, exec) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult sim_GraphLaunch(CUgraphExec exec, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (!nl_sim_handle_is_registered(NL_SIM_HANDLE_EXEC, exec))
        return CUDA_ERROR_INVALID_HANDLE;
    return nl_sim_exec_launch((nl_sim_exec *)exec, stream);
}

static CUresult sim_GraphExecDestroy(CUgraphExec exec) {
    NL_SIM_BEGIN();
    if (!nl_sim_handle_remove(NL_SIM_HANDLE_EXEC, exec))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_exec_destroy((nl_sim_exec *)exec);
    return CUDA_SUCCESS;
}

static CUresult sim_GraphDestroy(CUgraph graph) {
    NL_SIM_BEGIN();
    if (!nl_sim_handle_remove(NL_SIM_HANDLE_GRAPH, graph))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_graph_destroy((nl_sim_graph *)graph);
    return CUDA_SUCCESS;
}

void nl_sim_calls_graph_fill(nl_driver *table) {
    table->StreamBeginCapture = sim_StreamBeginCapture;
    table->StreamEndCapture = sim_StreamEndCapture;
    table->ThreadExchangeStreamCaptureMode = sim_ThreadExchangeStreamCaptureMode;
    table->StreamIsCapturing = sim_StreamIsCapturing;
    table->StreamGetCaptureInfo = sim_StreamGetCaptureInfo;
    table->GraphInstantiateWithFlags = sim_GraphInstantiateWithFlags;
    table->GraphUpload = sim_GraphUpload;
    table->GraphLaunch = sim_GraphLaunch;
    table->GraphExecDestroy = sim_GraphExecDestroy;
    table->GraphDestroy = sim_GraphDestroy;
}
