/* sim/engine/barrier: implements barriers of a block: the last thread to arrive makes the other
 * threads ready and continues. */
#include "sim/engine/barrier.h"

#include "sim/engine/fault.h"
#include "sim/engine/gridbarrier.h"
#include "sim/engine/observer.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"

void nl_sim_barrier_release(nl_sim_worker *w) {
    nl_sim_barrier *b = &w->barrier;
    if (b->mixed)
        nl_sim_report_stuck_block(w);
    switch ((nl_sim_block_op)b->op) {
    case NL_SIM_BARRIER:
    case NL_SIM_BARRIER_COUNT:
        b->result = (int)b->count;
        break;
    case NL_SIM_BARRIER_AND:
        b->result = b->count == b->arrived;
        break;
    case NL_SIM_BARRIER_OR:
        b->result = b->count != 0;
        break;
    }
    b->arrived = 0;
    if (w->job->schedule)
        nl_sim_schedule_count_progress(w->job->schedule);
    if (w->observer)
        w->observer->barrier(w);
    for (unsigned i = 0; i < w->warps; i++) {
        nl_sim_wake_thread(w, i, w->warp[i].barrier);
        w->warp[i].barrier = 0;
    }
}

NL_SIM_INLINE void count_arrival(nl_sim_worker *w, nl_sim_block_op op, int value, unsigned thread,
                                 nl_sim_site site) {
    nl_sim_thread *t = &w->thread[thread];
    nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    w->barrier.count += value != 0;
    w->barrier.arrived++;
    t->site = site;
    t->wait = (uint8_t)(NL_SIM_WAIT_BLOCK + op);
    warp->barrier |= nl_sim_lane_bit(thread);
    warp->yielded &= ~nl_sim_lane_bit(thread);
}

/* Records the arrival of `thread`; returns 1 if it must wait for other threads. */
NL_SIM_INLINE int record_arrival(nl_sim_worker *w, nl_sim_block_op op, int value, unsigned thread,
                                 nl_sim_site site) {
    nl_sim_barrier *b = &w->barrier;
    if (b->arrived == 0) {
        b->op = (int)op;
        b->site = site;
        b->count = 0;
        b->mixed = 0;
    } else if (b->op != (int)op || !nl_sim_same_site(b->site, site)) {
        b->mixed = 1;
    }
    count_arrival(w, op, value, thread, site);
    if (b->arrived < w->live)
        return 1;
    nl_sim_barrier_release(w);
    /* the last thread to arrive continues without a switch */
    (void)nl_sim_take_ready_lane(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    w->thread[thread].wait = NL_SIM_WAIT_NONE;
    return 0;
}

#ifdef NL_SIM_TRAMPOLINES
static __attribute__((noinline)) void *
arrive_in_general(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site, void *sp) {
    nl_sim_worker *w = nl_sim_enter_waiting_operation(thread);
    if (!record_arrival(w, op, value, thread, site))
        return NULL;
    unsigned next = nl_sim_pick_next_thread(w, thread);
    nl_sim_prepare_resume(w, next);
    if (next == thread)
        return NULL;
    w->thread[thread].fiber.sp = sp;
    return w->thread[next].fiber.sp;
}

/* Handles the most frequent case without a call: other threads wait at the same barrier, and the
 * next lane can run or start. Without a call, the compiler need not save registers. */
void *nl_sim_barrier_arrive(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site,
                            void *sp) {
    nl_sim_worker *w = nl_sim_worker_current;
    const nl_sim_barrier *b = &w->barrier;
    unsigned index = thread / NL_SIM_LANES;
    uint32_t later = w->warp[index].ready & nl_sim_bits_above(thread % NL_SIM_LANES);
    if (__builtin_expect(!w->fibers || b->arrived == 0 || b->arrived + 1 >= w->live ||
                             b->op != (int)op || b->site.file != site.file ||
                             b->site.line != site.line || b->site.column != site.column ||
                             later == 0 || w->active_waiting != 0 || w->stacks.free_count == 0,
                         0))
        return arrive_in_general(op, value, thread, site, sp);
    count_arrival(w, op, value, thread, site);
    unsigned next = nl_sim_take_ready_lane(w, index, later);
    nl_sim_thread *t = &w->thread[next];
    w->current = next;
    t->wait = NL_SIM_WAIT_NONE;
    w->thread[thread].fiber.sp = sp;
    if (!t->fiber.sp) {
        t->stack = w->stacks.free[--w->stacks.free_count];
        nl_sim_fiber_prepare(&t->fiber, &w->stacks.all[t->stack], w->thread_entry, w);
    }
    return t->fiber.sp;
}
#else
int nl_sim_barrier_wait(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter_waiting_operation(thread);
    if (record_arrival(w, op, value, thread, site)) {
        nl_sim_suspend(w, thread);
        w->thread[thread].wait = NL_SIM_WAIT_NONE;
    }
    return w->barrier.result;
}
#endif

void nl_sim_barrier_note_grid_crossing(nl_sim_worker *w) {
    if (w->job->schedule)
        nl_sim_schedule_count_progress(w->job->schedule);
    if (w->observer)
        w->observer->grid_barrier(w);
    if (nl_sim_gridbarrier_arrive(w, w->grid_site) < 0)
        nl_sim_report_stopped_grid(w);
    w->grid_waiting = 0;
    for (unsigned i = 0; i < w->warps; i++) {
        nl_sim_wake_thread(w, i, w->warp[i].grid);
        w->warp[i].grid = 0;
    }
}

void nl_sim_barrier_wait_grid(unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter_waiting_operation(thread);
    if (!w->job->launch.cooperative)
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, 0,
                           "a barrier over the whole grid needs a cooperative launch", thread,
                           site);
    nl_sim_thread *t = &w->thread[thread];
    t->site = site;
    t->wait = NL_SIM_WAIT_GRID;
    w->grid_site = site;
    w->warp[thread / NL_SIM_LANES].grid |= nl_sim_lane_bit(thread);
    if (++w->grid_waiting < w->live) {
        nl_sim_suspend(w, thread);
    } else {
        nl_sim_barrier_note_grid_crossing(w);
        (void)nl_sim_take_ready_lane(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    }
    t->wait = NL_SIM_WAIT_NONE;
}
