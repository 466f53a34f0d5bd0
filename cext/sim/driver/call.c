/* sim/driver/call: creates a per-thread default stream when it is first used. */
#include "sim/driver/call.h"

#include "base/mem.h"
#include "sim/driver/handle.h"
#include "sim/driver/stream.h"
#include "sim/engine/limits.h"

static uint32_t initialised;

CUresult nl_sim_call_initialise(void) {
    if (nl_sim_context_is_forked())
        return CUDA_ERROR_NOT_INITIALIZED;
    nl_atomic_store32(&initialised, 1);
    return CUDA_SUCCESS;
}

CUresult nl_sim_call_state(void) {
    return nl_atomic_load32_relaxed(&initialised) && !nl_sim_context_is_forked()
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_INITIALIZED;
}

int nl_sim_call_has_device(CUdevice device) {
    return device >= 0 && device < nl_sim_context_count();
}

/* The calling thread's default stream on each device. */
static _Thread_local struct {
    nl_sim_stream *stream;
    uint64_t epoch; /* epoch of the context when the stream was created; a different epoch means
                     * that the stream was destroyed */
} * own;

static nl_sim_stream *per_thread_stream(nl_sim_context *context) {
    if (!own) {
        own = nl_mem_zalloc(NL_SIM_MAX_DEVICES * sizeof *own, NULL);
        if (!own)
            return NULL;
    }
    uint64_t epoch = nl_atomic_load(&context->epoch);
    nl_sim_stream *stream = own[context->device].stream;
    if (stream && own[context->device].epoch == epoch)
        return stream;
    stream = nl_sim_stream_create(context, CU_STREAM_DEFAULT, 0);
    if (!stream)
        return NULL;
    /* The stream is registered, so that a reset closes it; the stream is not closed when the thread
     * ends. */
    if (nl_sim_handle_add(NL_SIM_HANDLE_STREAM, context->device, stream) < 0) {
        nl_sim_stream_close(stream);
        return NULL;
    }
    own[context->device].stream = stream;
    own[context->device].epoch = epoch;
    return stream;
}

nl_sim_stream *nl_sim_call_stream(nl_sim_context *context, CUstream handle) {
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        return context->legacy;
    if (handle == CU_STREAM_PER_THREAD)
        return per_thread_stream(context);
    return nl_sim_handle_is_registered(NL_SIM_HANDLE_STREAM, handle) ? (nl_sim_stream *)handle
                                                                     : NULL;
}
