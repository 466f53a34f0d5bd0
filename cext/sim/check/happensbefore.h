/* sim/check/happensbefore: computes the happens-before relation between accesses of a kernel that
 * is checked for races.
 *
 * Each block has a clock that advances at every synchronization of its threads. The time of a
 * thread is the block's time at the thread's last synchronization. For all threads of the block,
 * everything that the block did before its last barrier happens before their current accesses. For
 * the lanes of one warp, a table of 32 by 32 entries contains the order that was established since
 * that barrier. Order across warps and blocks is created only by fences and atomics, and is stored
 * in vector clocks (vectorclock.h). */
#ifndef NL_SIM_CHECK_HAPPENSBEFORE_H
#define NL_SIM_CHECK_HAPPENSBEFORE_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/vectorclock.h"

enum { NL_SIM_ORDER_THREADS = 1024, NL_SIM_ORDER_LANES = 32, NL_SIM_ORDER_WARPS = 32 };

/* The scopes of fences. A narrow fence (__threadfence_block) orders accesses only for the threads
 * of its block. */
typedef enum nl_sim_happensbefore_scope {
    NL_SIM_ORDER_WIDE,
    NL_SIM_ORDER_NARROW,
    NL_SIM_ORDER_SCOPES
} nl_sim_happensbefore_scope;

/* Flags that are set by a thread's writes since its last fence, or since its last wide fence. */
enum { NL_SIM_ORDER_WRITES = 1, NL_SIM_ORDER_WRITES_WIDE = 2 };

/* The accesses that happened before a thread's last fence. */
typedef struct nl_sim_fenced {
    /* all accesses of the block before this time; 0 if the thread has made no fence */
    uint32_t barrier;
    /* for each lane of the warp: time of the lane up to which its accesses happened before the
     * fence */
    uint32_t row[NL_SIM_ORDER_LANES];
    nl_sim_vectorclock *of_block, *of_thread;
} nl_sim_fenced;

typedef struct nl_sim_happensbefore {
    uint32_t block; /* linear index */
    unsigned threads;
    uint32_t time, barrier;               /* current time; time of the last barrier */
    unsigned fences[NL_SIM_ORDER_SCOPES]; /* number of fences since the last barrier */
    unsigned acquired;                    /* number of threads that have a clock of their own */
    /* accesses of all threads before this time are covered by fences of all threads of the block */
    uint32_t released;
    nl_sim_vectorclock *clock, *released_clock;
    /* set if memory ran out: some order is then missing, and conflicts must not be reported */
    int *starved;
    /* bit mask of the warps of which a lane has made a fence since the barrier */
    uint32_t warp_fences;
    uint32_t thread_time[NL_SIM_ORDER_THREADS];
    uint8_t unfenced[NL_SIM_ORDER_THREADS]; /* NL_SIM_ORDER_WRITES... */
    nl_sim_vectorclock *thread_clock[NL_SIM_ORDER_THREADS];
    /* Clocks that were released, for all threads or for the thread's own block, at addresses that
     * the thread has read by atomics since the thread's last fence. The released accesses happen
     * before all accesses of the thread after its next fence. */
    nl_sim_vectorclock *observed[NL_SIM_ORDER_SCOPES][NL_SIM_ORDER_THREADS];
    unsigned observers; /* number of threads that have observed a clock since the last barrier */
    /* Snapshots of the threads' last fences; a wide fence replaces the snapshot of an earlier
     * narrow fence. */
    nl_sim_fenced fenced[NL_SIM_ORDER_SCOPES][NL_SIM_ORDER_THREADS];
    uint32_t row[NL_SIM_ORDER_WARPS][NL_SIM_ORDER_LANES][NL_SIM_ORDER_LANES];
} nl_sim_happensbefore;

/* A table of one launch: the vector clock that was released at each address, for all threads and
 * for the threads of one block. */
typedef struct nl_sim_handed {
    uintptr_t address; /* 0: free */
    nl_sim_vectorclock *clock, *of_block;
    uint32_t block; /* of `of_block` */
    uint32_t maker; /* the block that was the last to release at the address */
} nl_sim_handed;
typedef struct nl_sim_happensbefore_handover {
    size_t count, capacity;
    nl_sim_handed *table;
} nl_sim_happensbefore_handover;

/* An order must be allocated by calloc: the state before the first block is all zeros. */
void nl_sim_happensbefore_begin_block(nl_sim_happensbefore *order, uint32_t block, unsigned threads,
                                      int *starved);
void nl_sim_happensbefore_end_block(nl_sim_happensbefore *order);
void nl_sim_happensbefore_order_block(nl_sim_happensbefore *order);
void nl_sim_happensbefore_order_warp(nl_sim_happensbefore *order, unsigned warp, uint32_t lanes);
/* Must be called when the threads `first` to `first` + `count` - 1, which are complete warps, have
 * synchronized. */
void nl_sim_happensbefore_order_tile(nl_sim_happensbefore *order, unsigned first, unsigned count);
void nl_sim_happensbefore_make_fence(nl_sim_happensbefore *order, unsigned thread,
                                     nl_sim_happensbefore_scope scope);
/* Returns whether the thread has made a fence since its last write. */
static inline int nl_sim_happensbefore_is_fenced(const nl_sim_happensbefore *order,
                                                 unsigned thread) {
    return (order->fenced[NL_SIM_ORDER_WIDE][thread].barrier ||
            order->fenced[NL_SIM_ORDER_NARROW][thread].barrier) &&
           !(order->unfenced[thread] & NL_SIM_ORDER_WRITES);
}
/* Must be called for an atomic or volatile read of `thread`. After
 * nl_sim_happensbefore_observe_release, the released accesses happen before the thread's accesses
 * that follow its next fence or barrier; after nl_sim_happensbefore_acquire, they happen before the
 * thread's next access. */
void nl_sim_happensbefore_observe_release(nl_sim_happensbefore *order, unsigned thread,
                                          const nl_sim_happensbefore_handover *handover,
                                          uintptr_t address);
void nl_sim_happensbefore_acquire(nl_sim_happensbefore *order, unsigned thread,
                                  const nl_sim_happensbefore_handover *handover, uintptr_t address);
void nl_sim_happensbefore_release(nl_sim_happensbefore *order, unsigned thread,
                                  nl_sim_happensbefore_handover *handover, uintptr_t address);
/* Acts like a release operation for all earlier accesses of the thread, although the thread has
 * executed no fence. */
void nl_sim_happensbefore_release_all(nl_sim_happensbefore *order, unsigned thread,
                                      nl_sim_happensbefore_handover *handover, uintptr_t address);
/* Returns the clock that was released at the address, or NULL if no clock was released. */
nl_sim_handed *nl_sim_happensbefore_find_released(const nl_sim_happensbefore_handover *handover,
                                                  uintptr_t address);
void nl_sim_happensbefore_drop_released(nl_sim_handed *handed);
/* Release to a barrier that stores the clock, and acquire from such a barrier. All accesses that
 * happened before the current time are released, without a fence. */
void nl_sim_happensbefore_acquire_from(nl_sim_happensbefore *order, unsigned thread,
                                       nl_sim_vectorclock *clock);
void nl_sim_happensbefore_release_to(nl_sim_happensbefore *order, unsigned thread,
                                     nl_sim_vectorclock **clock);
/* Replaces the thread's clock by an earlier clock of the thread; takes ownership of the
 * reference. */
void nl_sim_happensbefore_reset_clock(nl_sim_happensbefore *order, unsigned thread,
                                      nl_sim_vectorclock *clock);
void nl_sim_happensbefore_clear_handover(nl_sim_happensbefore_handover *handover);

static inline uint32_t nl_sim_happensbefore_current_time(const nl_sim_happensbefore *order,
                                                         unsigned thread) {
    uint32_t own = order->thread_time[thread];
    return own > order->barrier ? own : order->barrier;
}

/* Returns whether an earlier access of thread `other` of `block` at `time` happens before the
 * current access of `thread`. `read` is set if the earlier access was not a write. */
int nl_sim_happensbefore_is_ordered(const nl_sim_happensbefore *order, unsigned thread,
                                    uint32_t block, unsigned other, uint32_t time, int read);
static inline int nl_sim_happensbefore_happens_before(const nl_sim_happensbefore *order,
                                                      unsigned thread, uint32_t block,
                                                      unsigned other, uint32_t time, int read) {
    if (block == order->block) {
        if (time < order->barrier || other == thread)
            return 1;
        if (other / NL_SIM_ORDER_LANES == thread / NL_SIM_ORDER_LANES &&
            order->row[thread / NL_SIM_ORDER_LANES][thread % NL_SIM_ORDER_LANES]
                      [other % NL_SIM_ORDER_LANES] >= time)
            return 1;
    }
    return (order->clock || order->thread_clock[thread]) &&
           nl_sim_happensbefore_is_ordered(order, thread, block, other, time, read);
}

#endif
