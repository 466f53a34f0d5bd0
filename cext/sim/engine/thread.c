/* sim/engine/thread: starts and ends threads: when a thread ends, operations that only waited for
 * it are completed, and the next thread reuses its stack. */
#include "sim/engine/thread.h"

#include "sim/engine/barrier.h"
#include "sim/engine/cluster.h"
#include "sim/engine/job.h"
#include "sim/engine/observer.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/warp.h"

NL_SIM_INLINE void mark_lane_ended(nl_sim_worker *w, unsigned thread) {
    nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    warp->live &= ~nl_sim_lane_bit(thread);
    warp->yielded &= ~nl_sim_lane_bit(thread);
    w->live--;
}

/* Completes operations that only waited for `thread`, which has ended. Returns the thread to run
 * next. */
NL_SIM_INLINE unsigned complete_waits_for(nl_sim_worker *w, unsigned thread) {
    nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    mark_lane_ended(w, thread);
    if (w->job->schedule)
        nl_sim_schedule_count_progress(w->job->schedule);
    if (w->cluster)
        nl_sim_cluster_thread_ended(w, thread);
    if (w->live == 0) {
        nl_sim_stacks_release(&w->stacks, w->thread[thread].stack);
        nl_sim_worker_leave_block(w, NL_SIM_DONE);
    }
    if (w->barrier.arrived == w->live)
        nl_sim_barrier_release(w);
    if (w->grid_waiting == w->live)
        nl_sim_barrier_note_grid_crossing(w);
    if (warp->group_count)
        nl_sim_warp_complete_groups(w, thread / NL_SIM_LANES);
    return nl_sim_pick_next_thread(w, thread);
}

/* Makes `next` the current thread after the thread `ended`. Returns `next` if it must be resumed,
 * or NULL if it has not started and can use the same stack. */
NL_SIM_INLINE nl_sim_thread *replace_ended_thread(nl_sim_worker *w, unsigned ended, unsigned next) {
    nl_sim_thread *t = &w->thread[next];
    w->current = next;
    t->wait = NL_SIM_WAIT_NONE;
    if (t->fiber.sp) {
        /* prefetches the stack of the thread that will most likely run next */
        const char *ahead = t[1].fiber.sp;
        if (ahead) {
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
            __builtin_prefetch(ahead + 128);
        }
        nl_sim_stacks_release(&w->stacks, w->thread[ended].stack);
        return t;
    }
    t->fiber = w->thread[ended].fiber;
    t->stack = w->thread[ended].stack;
    return NULL;
}

/* Chooses the next thread; called when the running thread's function has returned. Returns the next
 * thread if it must be resumed, or NULL if it has not started. */
NL_SIM_INLINE nl_sim_thread *choose_next_thread(nl_sim_worker *w) {
    unsigned ended = w->current;
    return replace_ended_thread(w, ended, complete_waits_for(w, ended));
}

/* Returns the ready lanes of the warp after `ended` if nothing has waited for the end of this
 * thread, and the next thread is one of these lanes; otherwise 0. */
NL_SIM_INLINE uint32_t find_ready_lanes_after(const nl_sim_worker *w, unsigned ended) {
    const nl_sim_warp *warp = &w->warp[ended / NL_SIM_LANES];
    unsigned live = w->live - 1;
    if (__builtin_expect(live == 0 || live == w->barrier.arrived || live == w->grid_waiting ||
                             warp->group_count != 0 || w->active_waiting != 0,
                         0))
        return 0;
    return warp->ready & nl_sim_bits_above(ended % NL_SIM_LANES);
}

/* Calls follow, and switches to the next thread if it must be resumed. Returns only if the caller
 * must start the next thread. */
NL_SIM_INLINE void resume_next_thread(nl_sim_worker *w) {
    nl_sim_thread *next = choose_next_thread(w);
    if (next)
        nl_sim_fiber_leave(&next->fiber);
}

void nl_sim_thread_ended(nl_sim_worker *w) {
    for (;;) {
        resume_next_thread(w);
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
    }
}

#ifdef NL_SIM_TRAMPOLINES
void nl_sim_thread_run(nl_sim_worker *w) {
    w->kernel->run_thread(&w->job->launch, w->index, w->current);
}

NL_SIM_INLINE void *stack_pointer_of(const nl_sim_thread *next) {
    return next ? next->fiber.sp : NULL;
}

static __attribute__((noinline)) void *next_in_general(nl_sim_worker *w) {
    return stack_pointer_of(choose_next_thread(w));
}

/* Handles the most frequent case without a call: no operation waited for the thread's end, and the
 * next lane can run. Without a call, the compiler need not save registers. */
void *nl_sim_thread_next(nl_sim_worker *w) {
    unsigned ended = w->current, index = ended / NL_SIM_LANES;
    uint32_t later = find_ready_lanes_after(w, ended);
    if (__builtin_expect(later == 0, 0))
        return next_in_general(w);
    mark_lane_ended(w, ended);
    return stack_pointer_of(
        replace_ended_thread(w, ended, nl_sim_take_ready_lane(w, index, later)));
}
#else
void nl_sim_thread_entry(void *argument) {
    nl_sim_worker *w = argument;
    nl_sim_fiber_entered();
    for (;;) {
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
        resume_next_thread(w);
    }
}
#endif

/* Chooses the next thread like follow, in a launch without schedule and clusters. */
NL_SIM_INLINE nl_sim_thread *choose_next_unscheduled(nl_sim_worker *w) {
    unsigned ended = w->current;
    uint32_t later = find_ready_lanes_after(w, ended);
    if (__builtin_expect(later == 0, 0))
        return choose_next_thread(w);
    mark_lane_ended(w, ended);
    return replace_ended_thread(w, ended, nl_sim_take_ready_lane(w, ended / NL_SIM_LANES, later));
}

void nl_sim_thread_entry_observed(void *argument) {
    nl_sim_worker *w = argument;
    nl_sim_fiber_entered();
    int is_plain = w->profile && !w->job->schedule && !w->cluster;
    for (;;) {
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
        if (!is_plain && w->observer)
            w->observer->end_thread(w, w->current);
        nl_sim_thread *next = is_plain ? choose_next_unscheduled(w) : choose_next_thread(w);
        if (next)
            nl_sim_fiber_leave(&next->fiber);
    }
}

void nl_sim_thread_exit(unsigned thread) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->fibers) {
        w->current = thread;
        nl_sim_worker_leave_block(w, NL_SIM_EXIT);
    }
    if (w->observer)
        w->observer->end_thread(w, thread);
    unsigned next = complete_waits_for(w, thread);
    w->current = next;
    if (!w->thread[next].fiber.sp)
        nl_sim_assign_stack(w, next);
    nl_sim_stacks_release(&w->stacks, w->thread[thread].stack);
    nl_sim_fiber_leave(&w->thread[next].fiber);
}
