/* sim/engine/scheduler: which thread of a block runs next, and getting there. Inlined into the
 * operations that wait (block.c, warp.c): every return from a function that was called on another
 * stack is one that the processor predicts wrongly. */
#ifndef NL_SIM_ENGINE_SCHEDULER_H
#define NL_SIM_ENGINE_SCHEDULER_H

#include "sim/engine/block.h"
#include "sim/engine/fault.h"
#include "sim/engine/warp.h"

#define NL_SIM_INLINE static inline __attribute__((always_inline))

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
        nl_sim_block_convert(w, thread);
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
            return nl_sim_block_pick_any(w);
        nl_sim_warp_complete_active(w);
    }
    unsigned warp = thread / NL_SIM_LANES;
    uint32_t lanes = w->warp[warp].ready, later = lanes & nl_sim_above(thread % NL_SIM_LANES);
    if (__builtin_expect(lanes == 0, 0)) {
        if (!w->ready_warps)
            nl_sim_fault_stuck(w);
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
        nl_sim_block_lacks_stack(w, thread);
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
