/* sim/check/order: what comes before what in a block of a kernel that is checked for races.
 *
 * Each block counts the events at which its threads synchronise: its time. A thread's own time is
 * that of its last event. All that happened before the time of the last barrier is known to all;
 * what lanes of a warp know of one another since then is in a table of 32 by 32; everything else
 * (other warps, other blocks) is known only where memory was handed over, by way of a clock
 * (clock.h). */
#ifndef NL_SIM_CHECK_ORDER_H
#define NL_SIM_CHECK_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/clock.h"

enum { NL_SIM_ORDER_THREADS = 1024, NL_SIM_ORDER_LANES = 32, NL_SIM_ORDER_WARPS = 32 };

/* What a thread had done, and knew to be done, when it made its last fence. */
typedef struct nl_sim_fenced {
    uint32_t barrier;                 /* all of its block before this time; 0: no fence yet */
    uint32_t row[NL_SIM_ORDER_LANES]; /* of the lanes of its warp, up to this time */
    nl_sim_clock *of_block, *of_thread;
} nl_sim_fenced;

typedef struct nl_sim_order {
    uint32_t block; /* linear index */
    unsigned threads;
    uint32_t time, barrier; /* now; of the last barrier */
    unsigned fences;        /* since then */
    unsigned acquired;      /* threads that know something of their own */
    uint32_t released;      /* what all threads did before this time has been fenced by all */
    nl_sim_clock *known, *released_known;
    int *starved;         /* is set where there was no memory: then what is known is too little */
    uint32_t warp_fences; /* bit per warp: some lane has made a fence since the barrier */
    uint32_t thread_time[NL_SIM_ORDER_THREADS];
    uint8_t unfenced[NL_SIM_ORDER_THREADS]; /* it has written since its last fence */
    nl_sim_clock *thread_known[NL_SIM_ORDER_THREADS];
    nl_sim_fenced fenced[NL_SIM_ORDER_THREADS];
    uint32_t row[NL_SIM_ORDER_WARPS][NL_SIM_ORDER_LANES][NL_SIM_ORDER_LANES];
} nl_sim_order;

/* What has been handed over at which address, in one launch. */
typedef struct nl_sim_handed {
    uintptr_t address; /* 0: free */
    nl_sim_clock *clock;
} nl_sim_handed;
typedef struct nl_sim_handover {
    size_t count, capacity;
    nl_sim_handed *table;
} nl_sim_handover;

/* An order is made with calloc. Zero is one that has run no block. */
void nl_sim_order_begin(nl_sim_order *order, uint32_t block, unsigned threads, int *starved);
void nl_sim_order_end(nl_sim_order *order);
void nl_sim_order_barrier(nl_sim_order *order);
void nl_sim_order_warp(nl_sim_order *order, unsigned warp, uint32_t lanes);
/* Threads `first` to `first` + `count` - 1, all of some warps, have synchronised. */
void nl_sim_order_tile(nl_sim_order *order, unsigned first, unsigned count);
void nl_sim_order_fence(nl_sim_order *order, unsigned thread);
/* An atomic or volatile access of `thread`. */
void nl_sim_order_acquire(nl_sim_order *order, unsigned thread, const nl_sim_handover *handover,
                          uintptr_t address);
void nl_sim_order_release(nl_sim_order *order, unsigned thread, nl_sim_handover *handover,
                          uintptr_t address);
void nl_sim_handover_clear(nl_sim_handover *handover);

static inline uint32_t nl_sim_order_now(const nl_sim_order *order, unsigned thread) {
    uint32_t own = order->thread_time[thread];
    return own > order->barrier ? own : order->barrier;
}

/* Is what thread `other` of `block` did at `time` before what `thread` does now? read: it was no
 * write. */
int nl_sim_order_knows(const nl_sim_order *order, unsigned thread, uint32_t block, unsigned other,
                       uint32_t time, int read);
static inline int nl_sim_order_before(const nl_sim_order *order, unsigned thread, uint32_t block,
                                      unsigned other, uint32_t time, int read) {
    if (block == order->block) {
        if (time < order->barrier || other == thread)
            return 1;
        if (other / NL_SIM_ORDER_LANES == thread / NL_SIM_ORDER_LANES &&
            order->row[thread / NL_SIM_ORDER_LANES][thread % NL_SIM_ORDER_LANES]
                      [other % NL_SIM_ORDER_LANES] >= time)
            return 1;
    }
    return (order->known || order->thread_known[thread]) &&
           nl_sim_order_knows(order, thread, block, other, time, read);
}

#endif
