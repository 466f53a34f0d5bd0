/* sim/engine/tile: implements collectives of tiles: the last thread to arrive computes the results
 * of all threads, makes the other threads ready and continues. All threads of the tile must arrive:
 * if a thread has ended, the other threads wait forever, as on a GPU, where the number of arrived
 * warps is counted. */
#include "sim/engine/tile.h"

#include <stdio.h>
#include "sim/engine/fault.h"
#include "sim/engine/observer.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"

/* Returns a pointer to the number of a tile's threads that have arrived. The tiles of 1024, 512,
 * ..., 64 threads are numbered like the nodes of a binary tree. */
static uint16_t *find_arrival_count(nl_sim_worker *w, unsigned threads, unsigned first) {
    return &w->tile_arrived[(NL_SIM_MAX_THREADS + first) / threads];
}

_Noreturn static void raise_fault(nl_sim_worker *w, const char *text, unsigned thread,
                                  nl_sim_site site) {
    nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, NL_CHECK_SYNC, text, thread, site);
}

/* Raises a fault unless all threads of a shuffle in user code read from the same thread, because a
 * GPU stores one value for the tile. */
static void check_common_source(nl_sim_worker *w, unsigned first, unsigned threads) {
    const nl_sim_thread *tile = &w->thread[first];
    char text[160];
    for (unsigned i = 1; i < threads; i++)
        if (tile[i].argument & NL_SIM_TILE_ONE_SOURCE && tile[i].argument != tile[0].argument) {
            snprintf(text, sizeof text,
                     "shfl in a tile of %u threads reads the value of thread %u, "
                     "and its thread 0 reads that of %u: all threads must read the same",
                     threads, tile[i].argument & ~NL_SIM_TILE_ONE_SOURCE,
                     tile[0].argument & ~NL_SIM_TILE_ONE_SOURCE);
            raise_fault(w, text, first + i, tile[i].site);
        }
}

/* Copies the value of its source thread to each thread. */
static void distribute_values(nl_sim_thread *tile, unsigned threads) {
    uint64_t brought[NL_SIM_MAX_THREADS];
    for (unsigned i = 0; i < threads; i++)
        brought[i] = tile[i].value;
    for (unsigned i = 0; i < threads; i++)
        tile[i].value = brought[tile[i].argument & ~NL_SIM_TILE_ONE_SOURCE];
}

static void wake_lanes(nl_sim_worker *w, unsigned threads, unsigned first) {
    for (unsigned i = first; i < first + threads; i += NL_SIM_LANES)
        nl_sim_wake_thread(w, i / NL_SIM_LANES, UINT32_MAX);
}

unsigned long long nl_sim_tile_exchange(unsigned threads, unsigned long long value, unsigned source,
                                        unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter_waiting_operation(thread);
    nl_sim_thread *t = &w->thread[thread];
    unsigned first = thread & ~(threads - 1);
    char text[160];
    if (first + threads > w->threads) {
        snprintf(text, sizeof text,
                 "a tile of %u threads is incomplete: the block has only %u from thread %u on",
                 threads, w->threads - first, first);
        raise_fault(w, text, thread, site);
    }
    if ((source & ~NL_SIM_TILE_ONE_SOURCE) >= threads) {
        snprintf(text, sizeof text, "shfl reads the value of thread %d of a tile of %u",
                 (int)source, threads);
        raise_fault(w, text, thread, site);
    }
    t->value = value;
    t->argument = source;
    t->site = site;
    t->wait = (uint8_t)(NL_SIM_WAIT_TILE + __builtin_ctz(threads / NL_SIM_LANES));
    uint16_t *arrived = find_arrival_count(w, threads, first);
    if (++*arrived < threads) {
        nl_sim_suspend(w, thread);
    } else {
        *arrived = 0;
        check_common_source(w, first, threads);
        if (w->job->schedule)
            nl_sim_schedule_count_progress(w->job->schedule);
        if (w->observer)
            w->observer->tile(w, first, threads);
        distribute_values(&w->thread[first], threads);
        wake_lanes(w, threads, first);
        (void)nl_sim_take_ready_lane(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    }
    t->wait = NL_SIM_WAIT_NONE;
    return t->value;
}
