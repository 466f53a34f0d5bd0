/* sim/driver/context: contexts are in a static array and never move; retaining counts, and when
 * nobody retains one any more, what was made in it is destroyed. */
#include "sim/driver/context.h"

#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "sim/driver/capture.h"
#include "sim/driver/handle.h"
#include "sim/driver/inflight.h"
#include "sim/driver/module.h"
#include "sim/engine/heap.h"
#include "sim/engine/limits.h"
#include "sim/engine/memory.h"
#include "sim/engine/watch.h"
#include "sim/engine/worker.h"
#include "sim/engine/xorwow.h"

enum { DEFAULT_STACK = 1024, DEFAULT_PRINTF = 1 << 20 };

static nl_mutex lock = NL_MUTEX_INIT;
static nl_sim_context contexts[NL_SIM_MAX_DEVICES];
static int device_count;
static uint32_t forked;

static _Thread_local struct {
    nl_sim_context *context;
    /* the per-thread default stream, made when first asked for */
    struct {
        nl_sim_stream *stream;
        uint64_t epoch;
    } * streams;
} current;

static void in_child(void) {
    nl_atomic_store32(&forked, 1);
    nl_mutex_init(&lock);
    nl_sim_stream_forget();
    nl_sim_watch_forget();
    nl_sim_xorwow_forget();
    nl_sim_worker_forget();
    nl_sim_memory_forget();
    nl_sim_handle_forget();
    nl_sim_heap_forget();
    nl_sim_inflight_forget();
}

int nl_sim_context_forked(void) {
    return (int)nl_atomic_peek32(&forked);
}

int nl_sim_context_open(int devices) {
    int status = 0;
    nl_mutex_lock(&lock);
    if (!device_count) {
        nl_sim_memory_open(devices);
        for (int i = 0; i < devices && status == 0; i++) {
            nl_sim_context *context = &contexts[i];
            context->device = i;
            context->stack_limit = DEFAULT_STACK;
            context->printf_limit = DEFAULT_PRINTF;
            context->legacy = nl_sim_stream_create(context, CU_STREAM_DEFAULT, 0);
            status = context->legacy ? 0 : -1;
        }
        if (status == 0) {
            nl_fork_on_child(in_child);
            nl_sim_stream_open();
            device_count = devices;
        }
    }
    nl_mutex_unlock(&lock);
    return status;
}

int nl_sim_context_count(void) {
    return device_count;
}
nl_sim_context *nl_sim_context_at(int device) {
    return &contexts[device];
}

int nl_sim_context_is(const void *handle) {
    const nl_sim_context *context = handle;
    return context >= contexts && context < contexts + device_count &&
           ((const char *)handle - (const char *)contexts) % (ptrdiff_t)sizeof *contexts == 0;
}

/* Whoever retains a context while the last user's contents are destroyed gets it when that is over.
 */
CUresult nl_sim_context_retain(int device, nl_sim_context **out) {
    nl_mutex_lock(&lock);
    nl_atomic_add(&contexts[device].retained, 1);
    nl_mutex_unlock(&lock);
    *out = &contexts[device];
    return CUDA_SUCCESS;
}

static void destroy_contents(nl_sim_context *context) {
    int device = context->device;
    void *object;
    nl_sim_stream_wait_context(context);
    while ((object = nl_sim_handle_take_any(NL_SIM_HANDLE_EVENT, device)))
        nl_sim_event_close(object);
    while ((object = nl_sim_handle_take_any(NL_SIM_HANDLE_STREAM, device)))
        nl_sim_stream_close(object);
    while ((object = nl_sim_handle_take_any(NL_SIM_HANDLE_EXEC, device)))
        nl_sim_exec_destroy(object);
    while ((object = nl_sim_handle_take_any(NL_SIM_HANDLE_GRAPH, device)))
        nl_sim_graph_destroy(object);
    while ((object = nl_sim_handle_take_any(NL_SIM_HANDLE_MODULE, device)))
        nl_sim_module_destroy(object);
    nl_sim_stream_wait_context(context);
    nl_sim_stream_clear_faults(context);
    nl_sim_memory_clear(device);
    nl_sim_heap_reset();
    context->stack_limit = DEFAULT_STACK;
    context->printf_limit = DEFAULT_PRINTF;
    nl_atomic_store(&context->pool_used, 0);
    nl_atomic_add(&context->epoch, 1);
}

/* With the calls of other threads kept out, whose handles would vanish under them. */
static void destroy_lock_held(nl_sim_context *context) {
    nl_sim_inflight_close(context->device);
    destroy_contents(context);
    nl_sim_inflight_open(context->device);
}

/* What is under way is waited for before others are kept out: it may need them. */
static void wait_for_work(nl_sim_context *context) {
    if (!nl_sim_inflight_enter(context->device))
        return;
    nl_sim_stream_wait_context(context);
    nl_sim_inflight_leave(context->device);
}

void nl_sim_context_reset(nl_sim_context *context) {
    wait_for_work(context);
    nl_mutex_lock(&lock);
    destroy_lock_held(context);
    nl_mutex_unlock(&lock);
}

CUresult nl_sim_context_release(int device) {
    nl_sim_context *context = &contexts[device];
    CUresult status = CUDA_SUCCESS;
    if (nl_atomic_load(&context->retained) == 1)
        wait_for_work(context);
    nl_mutex_lock(&lock);
    if (nl_atomic_load(&context->retained) == 0)
        status = CUDA_ERROR_INVALID_CONTEXT;
    else if (nl_atomic_sub(&context->retained, 1) == 1)
        destroy_lock_held(context);
    nl_mutex_unlock(&lock);
    return status;
}

nl_sim_context *nl_sim_context_current(void) {
    return current.context;
}
void nl_sim_context_set_current(nl_sim_context *context) {
    current.context = context;
}

static nl_sim_stream *per_thread_stream(nl_sim_context *context) {
    if (!current.streams) {
        current.streams = calloc(NL_SIM_MAX_DEVICES, sizeof *current.streams);
        if (!current.streams)
            return NULL;
    }
    uint64_t epoch = nl_atomic_load(&context->epoch);
    nl_sim_stream *stream = current.streams[context->device].stream;
    if (stream && current.streams[context->device].epoch == epoch)
        return stream;
    stream = nl_sim_stream_create(context, CU_STREAM_DEFAULT, 0);
    if (!stream)
        return NULL;
    /* Registered, so that a reset closes it; the thread's end does not. */
    if (nl_sim_handle_add(NL_SIM_HANDLE_STREAM, context->device, stream) < 0) {
        nl_sim_stream_close(stream);
        return NULL;
    }
    current.streams[context->device].stream = stream;
    current.streams[context->device].epoch = epoch;
    return stream;
}

nl_sim_stream *nl_sim_context_stream(nl_sim_context *context, CUstream handle) {
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        return context->legacy;
    if (handle == CU_STREAM_PER_THREAD)
        return per_thread_stream(context);
    return nl_sim_handle_is(NL_SIM_HANDLE_STREAM, handle) ? (nl_sim_stream *)handle : NULL;
}
