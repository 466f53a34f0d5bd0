/* sim/driver/primary: counts the references of each primary context; at 0 the contents of the
 * context are destroyed. */
#include "sim/driver/primary.h"

#include <stdlib.h>
#include "base/lock.h"
#include "sim/driver/event.h"
#include "sim/driver/exec.h"
#include "sim/driver/graph.h"
#include "sim/driver/handle.h"
#include "sim/driver/inflight.h"
#include "sim/driver/module.h"
#include "sim/driver/stream.h"
#include "sim/engine/heap.h"
#include "sim/engine/memory.h"
#include "sim/engine/texture.h"
#include "sim/engine/watch.h"
#include "sim/engine/worker.h"
#include "sim/engine/xorwow.h"

enum { DEFAULT_STACK = 1024, DEFAULT_PRINTF = 1 << 20 };

static nl_mutex lock = NL_MUTEX_INIT;

static void reset_in_child(void) {
    nl_sim_context_reset_in_child();
    nl_mutex_init(&lock);
    nl_sim_stream_reset_in_child();
    nl_sim_watch_reset_in_child();
    nl_sim_xorwow_reset_in_child();
    nl_sim_worker_remove_all_in_child();
    nl_sim_memory_reset_in_child();
    nl_sim_handle_reset_lock_in_child();
    nl_sim_heap_reset_in_child();
    nl_sim_inflight_reset_in_child();
}

int nl_sim_primary_open(int devices) {
    int status = 0;
    nl_mutex_lock(&lock);
    if (!nl_sim_context_count()) {
        nl_sim_memory_open(devices);
        for (int i = 0; i < devices && status == 0; i++) {
            nl_sim_context *context = nl_sim_context_at(i);
            context->device = i;
            context->stack_limit = DEFAULT_STACK;
            context->printf_limit = DEFAULT_PRINTF;
            context->legacy = nl_sim_stream_create(context, CU_STREAM_DEFAULT, 0);
            status = context->legacy ? 0 : -1;
        }
        if (status == 0) {
            nl_thread_call_in_child(reset_in_child);
            nl_sim_stream_open();
            nl_sim_context_set_count(devices);
        }
    }
    nl_mutex_unlock(&lock);
    return status;
}

/* A retain during the destruction of a context's contents waits for the end of the destruction. */
CUresult nl_sim_primary_retain(int device, nl_sim_context **out) {
    nl_mutex_lock(&lock);
    nl_atomic_add(&nl_sim_context_at(device)->retained, 1);
    nl_mutex_unlock(&lock);
    *out = nl_sim_context_at(device);
    return CUDA_SUCCESS;
}

static void destroy_contents(nl_sim_context *context) {
    int device = context->device;
    void *object;
    nl_sim_stream_wait_for_context(context);
    while ((object = nl_sim_handle_remove_any(NL_SIM_HANDLE_EVENT, device)))
        nl_sim_event_close(object);
    while ((object = nl_sim_handle_remove_any(NL_SIM_HANDLE_STREAM, device)))
        nl_sim_stream_close(object);
    while ((object = nl_sim_handle_remove_any(NL_SIM_HANDLE_EXEC, device)))
        nl_sim_exec_destroy(object);
    while ((object = nl_sim_handle_remove_any(NL_SIM_HANDLE_GRAPH, device)))
        nl_sim_graph_destroy(object);
    while ((object = nl_sim_handle_remove_any(NL_SIM_HANDLE_MODULE, device)))
        nl_sim_module_destroy(object);
    while ((object = nl_sim_handle_remove_any(NL_SIM_HANDLE_ARRAY, device)))
        free(object); /* nl_sim_memory_clear frees the texels */
    nl_sim_texture_clear(device);
    nl_sim_stream_wait_for_context(context);
    nl_sim_stream_clear_faults(context);
    nl_sim_memory_clear(device);
    nl_sim_heap_reset();
    context->stack_limit = DEFAULT_STACK;
    context->printf_limit = DEFAULT_PRINTF;
    nl_atomic_store(&context->pool_used, 0);
    nl_atomic_add(&context->epoch, 1);
}

/* Destroys the contents of a context. During the destruction, calls of other threads fail, because
 * their handles become invalid. */
static void destroy_lock_held(nl_sim_context *context) {
    nl_sim_inflight_close(context->device);
    destroy_contents(context);
    nl_sim_inflight_open(context->device);
}

/* Waits for running work before calls are rejected, because the work may need driver calls. */
static void wait_for_work(nl_sim_context *context) {
    if (!nl_sim_inflight_begin_call(context->device))
        return;
    nl_sim_stream_wait_for_context(context);
    nl_sim_inflight_end_call(context->device);
}

void nl_sim_primary_reset(nl_sim_context *context) {
    wait_for_work(context);
    nl_mutex_lock(&lock);
    destroy_lock_held(context);
    nl_mutex_unlock(&lock);
}

CUresult nl_sim_primary_release(int device) {
    nl_sim_context *context = nl_sim_context_at(device);
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
