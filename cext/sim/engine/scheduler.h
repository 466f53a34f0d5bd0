/* sim/engine/scheduler: which thread of a block runs next, and getting there.
 *
 * A block starts as a loop on the worker's root fiber, and the same fiber goes on with the next
 * block. If a thread calls an operation that can wait, the loop becomes that thread's fiber, the
 * threads after it become ready, and from then on whoever must wait switches straight to the next
 * ready thread; there is no scheduler fiber in between. A kernel that did this once starts its
 * later blocks as fibers. Threads start lazily: the first runs until it waits, then the second
 * starts, and one that ends without ever waiting leaves its stack to the next, without a switch.
 *
 * What is short is inlined into the operations that wait (barrier.c, warp.c, thread.c): every
 * return from a function that was called on another stack is one that the processor predicts
 * wrongly. */
#ifndef NL_SIM_ENGINE_SCHEDULER_H
#define NL_SIM_ENGINE_SCHEDULER_H

#include "sim/engine/report.h"
#include "sim/engine/worker.h"

#define NL_SIM_INLINE static inline __attribute__((always_inline))

/* `lane` is each of the lanes of `set` in turn. */
#define NL_SIM_FOR_LANES(lane, set) \
    for (uint32_t left_ = (set), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

/* Threads `first` and later become live and ready; none has started. */
void nl_sim_scheduler_begin(nl_sim_worker *worker, unsigned first);
/* Turns a loop into fibers, `thread` being the one that runs. */
void nl_sim_scheduler_convert(nl_sim_worker *worker, unsigned thread);
/* A fault: there is no memory for the thread's stack. */
_Noreturn void nl_sim_scheduler_lacks_stack(nl_sim_worker *worker, unsigned thread);
/* No thread can run before another block has done something; if there is nothing to wait for, a
 * fault. */
void nl_sim_scheduler_starve(nl_sim_worker *worker);
/* Who runs when the order is shuffled: any that can. */
unsigned nl_sim_scheduler_pick_any(nl_sim_worker *worker);
/* The thread that the launch's schedule wants now, which is no longer ready then; -1: any may run.
 */
int nl_sim_scheduler_take_chosen(nl_sim_worker *worker);
/* Completes what lanes wait for until none of their warp can run: __activemask, and steps before
 * volatile accesses. */
void nl_sim_scheduler_complete_active(nl_sim_worker *worker);

/* Another thread runs, if there is one that can; returns when it is this one's turn again. */
void nl_sim_scheduler_preempt(nl_sim_worker *worker);
/* nl_sim_ops.yield */
void nl_sim_scheduler_yield(unsigned thread, nl_sim_site site);

static inline uint32_t nl_sim_lane_bit(unsigned thread) {
    return 1u << (thread % NL_SIM_LANES);
}

/* The bits above `bit`. */
static inline uint32_t nl_sim_above(unsigned bit) {
    return UINT32_MAX << 1 << bit;
}

/* At the start of an operation that can wait: the block must have been turned into fibers. */
static inline nl_sim_worker *nl_sim_enter(unsigned thread) {
    nl_sim_worker *w = nl_sim_current;
    if (__builtin_expect(!w->fibers, 0))
        nl_sim_scheduler_convert(w, thread);
    return w;
}

/* Makes lanes of a warp ready. */
static inline void nl_sim_wake(nl_sim_worker *w, unsigned warp, uint32_t lanes) {
    if (lanes) {
        w->warp[warp].ready |= lanes;
        w->ready_warps |= 1u << warp;
    }
}

/* Takes the lowest of `lanes` of a warp out of the ready ones. */
static inline unsigned nl_sim_take_ready(nl_sim_worker *w, unsigned warp, uint32_t lanes) {
    unsigned lane = (unsigned)__builtin_ctz(lanes);
    uint32_t left = w->warp[warp].ready & ~(1u << lane);
    w->warp[warp].ready = left;
    if (!left)
        w->ready_warps &= ~(1u << warp);
    return warp * NL_SIM_LANES + lane;
}

/* The thread to run after `thread`: one of its warp if possible, else of the next warp that has one
 * ready. If there is none, the block cannot go on, which is a fault. */
NL_SIM_INLINE unsigned nl_sim_pick(nl_sim_worker *w, unsigned thread) {
    if (__builtin_expect(w->active_waiting != 0, 0)) {
        if (w->shuffled)
            return nl_sim_scheduler_pick_any(w);
        nl_sim_scheduler_complete_active(w);
    }
    unsigned warp = thread / NL_SIM_LANES;
    uint32_t lanes = w->warp[warp].ready, later = lanes & nl_sim_above(thread % NL_SIM_LANES);
    if (__builtin_expect(lanes == 0, 0)) {
        if (!w->ready_warps)
            nl_sim_scheduler_starve(w);
        later = w->ready_warps & nl_sim_above(warp);
        warp = (unsigned)__builtin_ctz(later ? later : w->ready_warps);
        later = w->warp[warp].ready;
    }
    return nl_sim_take_ready(w, warp, later ? later : lanes);
}

/* Gives a thread that has not started a stack, which is left to be switched to. */
NL_SIM_INLINE void nl_sim_start(nl_sim_worker *w, unsigned thread) {
    int stack = nl_sim_stacks_take(&w->stacks);
    if (stack < 0)
        nl_sim_scheduler_lacks_stack(w, thread);
    w->thread[thread].stack = (uint16_t)stack;
    nl_fiber_prepare(&w->thread[thread].fiber, &w->stacks.all[stack], w->thread_entry, w);
}

/* `next` is about to run. */
NL_SIM_INLINE void nl_sim_resume(nl_sim_worker *w, unsigned next) {
    w->current = next;
    w->thread[next].wait = NL_SIM_WAIT_NONE;
    if (!w->thread[next].fiber.sp)
        nl_sim_start(w, next);
}

NL_SIM_INLINE void nl_sim_switch_to(nl_sim_worker *w, unsigned thread, unsigned next) {
    if (__builtin_expect(next == thread, 0))
        return;
    nl_sim_resume(w, next);
    nl_fiber_switch(&w->thread[thread].fiber, &w->thread[next].fiber);
}

/* The running thread, marked as waiting, lets others run; returns when it has been woken. */
NL_SIM_INLINE void nl_sim_suspend(nl_sim_worker *w, unsigned thread) {
    w->warp[thread / NL_SIM_LANES].yielded &= ~nl_sim_lane_bit(thread);
    nl_sim_switch_to(w, thread, nl_sim_pick(w, thread));
}

#endif
