/* sim/engine/ops: implements operations of a running thread that do not wait for other threads. */
#include "sim/engine/ops.h"

#include <stdarg.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/lock.h"
#include "base/print.h"
#include "sim/engine/barrier.h"
#include "sim/engine/cluster.h"
#include "sim/engine/fault.h"
#include "sim/engine/heap.h"
#include "sim/engine/nested.h"
#include "sim/engine/observer.h"
#include "sim/engine/report.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/shadow.h"
#include "sim/engine/texture.h"
#include "sim/engine/thread.h"
#include "sim/engine/tile.h"
#include "sim/engine/warp.h"
#include "sim/engine/xorwow.h"

static uint32_t printed;

static int has_fibers(void) {
    return nl_sim_worker_current->fibers;
}
static void *dynamic_shared_memory(void) {
    return nl_sim_worker_current->shared;
}
static unsigned multiprocessor_id(void) {
    return nl_sim_worker_current->id % nl_sim_worker_limit();
}

__attribute__((noreturn)) static void fault(int status, const char *message, unsigned thread,
                                            nl_sim_site site) {
    uint32_t kind = status == CUDA_ERROR_ASSERT ? NL_FAULT_ASSERT : 0;
    nl_sim_fault_raise(nl_sim_worker_current, status, kind, message, thread, site);
}

static int print_formatted(const char *format, va_list arguments) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (w->replaying)
        return 0;
    if (nl_sim_job_is_stopped(w->job))
        nl_sim_report_stopped_grid(w);
    if (w->job->is_silent)
        return 0;
    int length = nl_print(format, arguments);
    if (length > 0)
        nl_atomic_store32(&printed, 1);
    return length;
}

void nl_sim_ops_flush_output(void) {
    if (nl_atomic_load32_relaxed(&printed)) {
        nl_atomic_store32(&printed, 0);
        fflush(stdout);
    }
}

static void *allocate_heap(unsigned long long size) {
    nl_sim_worker *w = nl_sim_worker_current;
    void *block = nl_sim_heap_alloc(size);
    if (block && w->observer)
        w->observer->allocated(w, (uintptr_t)block, size);
    return block;
}

static void free_block(void *block) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (nl_sim_heap_free(block) < 0)
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, NL_CHECK_MEMORY,
                           "free() of an address that malloc() did not return, "
                           "or that was freed already",
                           w->fibers ? w->current : (unsigned)-1, (nl_sim_site){.file = NULL});
}

const nl_sim_ops nl_sim_ops_of_engine = {
    .abi = NL_SIM_ABI,
    .barrier = nl_sim_barrier_wait,
    .warp = nl_sim_warp_collective,
    .grid_barrier = nl_sim_barrier_wait_grid,
    .yield = nl_sim_scheduler_yield,
    .is_fibers = has_fibers,
    .dynamic_shared = dynamic_shared_memory,
    .fault = fault,
    .exit_thread = nl_sim_thread_exit,
    .clock = nl_clock_cycles,
    .globaltimer = nl_clock_ns,
    .smid = multiprocessor_id,
    .vprintf = print_formatted,
    .malloc = allocate_heap,
    .free = free_block,
    .checker = &nl_sim_shadow,
    .xorwow_jump = nl_sim_xorwow_jump,
    .fetch = nl_sim_texture_fetch,
    .surface = nl_sim_texture_access_surface,
    .launch = nl_sim_nested_launch,
    .cluster_dim = nl_sim_cluster_dim,
    .cluster_arrive = nl_sim_cluster_arrive,
    .cluster_wait = nl_sim_cluster_wait,
    .cluster_map_address = nl_sim_cluster_map_address,
    .cluster_rank_of = nl_sim_cluster_rank_of_address,
    .cluster_complete = nl_sim_cluster_complete_address,
    .tile = nl_sim_tile_exchange,
};
