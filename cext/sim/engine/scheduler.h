/* sim/engine/scheduler: chooses the next thread of a block and switches to it.
 *
 * A block starts as a loop on the worker's root fiber, and the root fiber then continues with the
 * next block. If a thread calls an operation that can wait, the loop becomes that thread's fiber,
 * and the later threads become ready. In a converted block, a thread that must wait switches
 * directly to the next ready thread, without a scheduler fiber in between. After a block of a
 * kernel was converted in this way, the kernel's later blocks start as fibers. Threads start
 * lazily: the second thread starts when the first thread waits, and so on. A thread that ends
 * without waiting passes its stack to the next thread, without a switch.
 *
 * Short functions are inlined into the operations that wait (barrier.c, warp.c, thread.c):
 * processors mispredict every return from a function that was called on another stack. */
#ifndef NL_SIM_ENGINE_SCHEDULER_H
#define NL_SIM_ENGINE_SCHEDULER_H

#include "sim/engine/report.h"
#include "sim/engine/worker.h"

#define NL_SIM_INLINE static inline __attribute__((always_inline))

/* Iterates `lane` over the lanes of `set`. */
#define NL_SIM_FOR_LANES(lane, set) \
    for (uint32_t left_ = (set), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

/* Marks the threads `first` and later as live and ready; no thread has started. */
void nl_sim_scheduler_begin(nl_sim_worker *worker, unsigned first);
/* Converts a loop to fibers; `thread` is the running thread. */
void nl_sim_scheduler_convert_to_fibers(nl_sim_worker *worker, unsigned thread);
/* Raises a fault because memory for the thread's stack ran out. */
_Noreturn void nl_sim_scheduler_lacks_stack(nl_sim_worker *worker, unsigned thread);
/* Waits until another block of the cluster makes progress; call this function when no thread of the
 * block can run. Raises a fault if no thread waits for the cluster. */
void nl_sim_scheduler_handle_no_ready_thread(nl_sim_worker *worker);
/* Returns a random ready thread, for launches in shuffled order. */
unsigned nl_sim_scheduler_pick_random_thread(nl_sim_worker *worker);
/* Returns the thread that the launch's schedule requires next, and marks it as not ready; returns
 * -1 if any thread may run. */
int nl_sim_scheduler_take_scheduled_thread(nl_sim_worker *worker);
/* Completes those operations that wait until no other lane of the warp can run: __activemask(), and
 * the implicit synchronization of a warp's lanes before a volatile access (warp.c). */
void nl_sim_scheduler_complete_active(nl_sim_worker *worker);

/* Lets another thread run, if possible; returns at this thread's next turn. */
void nl_sim_scheduler_preempt(nl_sim_worker *worker);
/* Implements nl_sim_ops.yield. */
void nl_sim_scheduler_yield(unsigned thread, nl_sim_site site);

static inline uint32_t nl_sim_lane_bit(unsigned thread) {
    return 1u << (thread % NL_SIM_LANES);
}

/* Returns a mask of all bits above `bit`. */
static inline uint32_t nl_sim_bits_above(unsigned bit) {
    return UINT32_MAX << 1 << bit;
}

/* Converts the block to fibers if necessary; call this function at the start of an operation that
 * can wait. */
static inline nl_sim_worker *nl_sim_enter_waiting_operation(unsigned thread) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (__builtin_expect(!w->fibers, 0))
        nl_sim_scheduler_convert_to_fibers(w, thread);
    return w;
}

/* Makes lanes of a warp ready. */
static inline void nl_sim_wake_thread(nl_sim_worker *w, unsigned warp, uint32_t lanes) {
    if (lanes) {
        w->warp[warp].ready |= lanes;
        w->ready_warps |= 1u << warp;
    }
}

/* Takes the lowest of `lanes` from the ready lanes of a warp. */
NL_SIM_INLINE unsigned nl_sim_take_ready_lane(nl_sim_worker *w, unsigned warp, uint32_t lanes) {
    unsigned lane = (unsigned)__builtin_ctz(lanes);
    uint32_t left = w->warp[warp].ready & ~(1u << lane);
    w->warp[warp].ready = left;
    if (!left)
        w->ready_warps &= ~(1u << warp);
    return warp * NL_SIM_LANES + lane;
}

/* Chooses the thread to run after `thread`: a thread of the same warp if possible, otherwise a
 * thread of the next warp that has one. If no thread is ready, the block cannot continue, which is
 * a fault. */
NL_SIM_INLINE unsigned nl_sim_pick_next_thread(nl_sim_worker *w, unsigned thread) {
    if (__builtin_expect(w->active_waiting != 0, 0)) {
        if (w->shuffled)
            return nl_sim_scheduler_pick_random_thread(w);
        nl_sim_scheduler_complete_active(w);
    }
    unsigned warp = thread / NL_SIM_LANES;
    uint32_t lanes = w->warp[warp].ready, later = lanes & nl_sim_bits_above(thread % NL_SIM_LANES);
    if (__builtin_expect(lanes == 0, 0)) {
        if (!w->ready_warps)
            nl_sim_scheduler_handle_no_ready_thread(w);
        later = w->ready_warps & nl_sim_bits_above(warp);
        warp = (unsigned)__builtin_ctz(later ? later : w->ready_warps);
        later = w->warp[warp].ready;
    }
    return nl_sim_take_ready_lane(w, warp, later ? later : lanes);
}

/* Assigns a stack to a thread that has not started; the caller must switch to it. */
NL_SIM_INLINE void nl_sim_assign_stack(nl_sim_worker *w, unsigned thread) {
    int stack = nl_sim_stacks_acquire(&w->stacks);
    if (stack < 0)
        nl_sim_scheduler_lacks_stack(w, thread);
    w->thread[thread].stack = (uint16_t)stack;
    nl_sim_fiber_prepare(&w->thread[thread].fiber, &w->stacks.all[stack], w->thread_entry, w);
}

/* Call before switching to `next`. */
NL_SIM_INLINE void nl_sim_prepare_resume(nl_sim_worker *w, unsigned next) {
    w->current = next;
    w->thread[next].wait = NL_SIM_WAIT_NONE;
    if (!w->thread[next].fiber.sp)
        nl_sim_assign_stack(w, next);
}

NL_SIM_INLINE void nl_sim_switch_to(nl_sim_worker *w, unsigned thread, unsigned next) {
    if (__builtin_expect(next == thread, 0))
        return;
    nl_sim_prepare_resume(w, next);
    nl_sim_fiber_switch(&w->thread[thread].fiber, &w->thread[next].fiber);
}

/* Suspends the running thread, which the caller has marked as waiting; returns when the thread was
 * made ready and has its turn. */
NL_SIM_INLINE void nl_sim_suspend(nl_sim_worker *w, unsigned thread) {
    w->warp[thread / NL_SIM_LANES].yielded &= ~nl_sim_lane_bit(thread);
    nl_sim_switch_to(w, thread, nl_sim_pick_next_thread(w, thread));
}

#endif
