/* sim/engine/scheduler: converts blocks to fibers, and makes the less frequent scheduling
 * decisions. */
#include "sim/engine/scheduler.h"

#include "base/lock.h"
#include "sim/engine/cluster.h"
#include "sim/engine/deadlock.h"
#include "sim/engine/fault.h"
#include "sim/engine/interleave.h"
#include "sim/engine/job.h"
#include "sim/engine/schedule.h"

enum {
    /* number of turns of each thread without progress in its block after which other blocks run */
    PATIENT_YIELDS = 4,
    PATIENT_SLICES = 256,
    FICKLE_SLICES =
        /* in shuffled order, average number of turns (or fewer) after which other blocks run */
    32,
    PATIENT_READS = 1000,
};

/* Fibers */

void nl_sim_scheduler_lacks_stack(nl_sim_worker *w, unsigned thread) {
    nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0,
                       "not enough memory for the stacks of the block's threads", thread,
                       (nl_sim_site){.file = NULL});
}

void nl_sim_scheduler_begin(nl_sim_worker *w, unsigned first) {
    w->fibers = 1;
    w->live = w->threads - first;
    w->ready_warps = 0;
    w->grid_waiting = w->yields = w->slices = w->slice = w->at_atomic = 0;
    w->active_waiting = w->shuffled;
    w->barrier.arrived = 0;
    memset(w->tile_arrived, 0, sizeof w->tile_arrived);
    for (unsigned i = 0; i < w->warps; i++) {
        unsigned low = i * NL_SIM_LANES, count = w->threads - low;
        uint32_t lanes = count < NL_SIM_LANES ? (1u << count) - 1 : UINT32_MAX;
        if (first > low)
            lanes = first - low >= NL_SIM_LANES ? 0 : lanes & (UINT32_MAX << (first - low));
        nl_sim_warp *warp = &w->warp[i];
        warp->live = lanes;
        warp->ready = 0;
        warp->barrier = warp->grid = warp->active = warp->yielded = 0;
        warp->group_count = warp->alone = 0;
        nl_sim_wake_thread(w, i, lanes);
    }
    if (w->job->schedule)
        nl_sim_deadlock_begin(w);
    for (unsigned i = first; i < w->threads; i++) {
        w->thread[i].fiber.sp = NULL;
        w->thread[i].wait = NL_SIM_WAIT_NONE;
        w->thread[i].worked = 0;
        w->thread[i].pc = NULL;
        w->thread[i].touched = 0;
        w->thread[i].named = NULL;
    }
}

void nl_sim_scheduler_convert_to_fibers(nl_sim_worker *w, unsigned thread) {
    if (w->replaying)
        nl_sim_worker_leave_block(w, NL_SIM_REPLAYED);
    nl_sim_job_set_synchronises(w->job);
    nl_sim_scheduler_begin(w, thread);
    (void)nl_sim_take_ready_lane(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    w->current = thread;
    w->thread[thread].fiber = w->root;
    w->thread[thread].stack = w->root_stack;
}

/* Functions for lanes that wait until no other lane of their warp can run. */

/* Returns the mask of the lanes in `set` that wait at the same position as `lane`. */
static uint32_t lanes_waiting_with(const nl_sim_thread *lanes, uint32_t set, uint32_t lane) {
    uint32_t together = 0;
    NL_SIM_FOR_LANES(other, set) {
        if (nl_sim_same_site(lanes[lane].site, lanes[other].site))
            together |= 1u << other;
    }
    return together;
}

static uint32_t find_stepping_lanes(const nl_sim_thread *lanes, uint32_t set) {
    uint32_t stepping = 0;
    NL_SIM_FOR_LANES(lane, set) {
        if (lanes[lane].wait == NL_SIM_WAIT_WARP + NL_SIM_WARP_STEP)
            stepping |= 1u << lane;
    }
    return stepping;
}

/* Returns the mask of the lanes in `stepping` whose next access is at the earliest position in the
 * program. If the same lanes have read PATIENT_READS times, they probably wait for another lane, so
 * the function returns all lanes. */
static uint32_t find_next_stepping_lanes(nl_sim_warp *warp, const nl_sim_thread *lanes,
                                         uint32_t stepping) {
    uint32_t place = UINT32_MAX, set = 0;
    NL_SIM_FOR_LANES(lane, stepping) {
        place = lanes[lane].argument < place ? lanes[lane].argument : place;
    }
    NL_SIM_FOR_LANES(lane, stepping) {
        if (lanes[lane].argument == place)
            set |= 1u << lane;
    }
    warp->alone = set == warp->active || place & 1 ? 0 : warp->alone + 1;
    if (warp->alone < PATIENT_READS)
        return set;
    warp->alone = 0;
    return warp->active;
}

void nl_sim_scheduler_complete_active(nl_sim_worker *w) {
    for (unsigned i = 0; i < w->warps && w->active_waiting > w->shuffled; i++) {
        nl_sim_warp *warp = &w->warp[i];
        if (!warp->active || (warp->ready & ~warp->yielded))
            continue;
        nl_sim_thread *lanes = &w->thread[i * NL_SIM_LANES];
        uint32_t stepping = find_stepping_lanes(lanes, warp->active);
        uint32_t set = stepping ? find_next_stepping_lanes(warp, lanes, stepping) : warp->active;
        NL_SIM_FOR_LANES(lane, set & ~stepping) {
            lanes[lane].value = lanes_waiting_with(lanes, set & ~stepping, lane);
        }
        w->active_waiting -= (unsigned)__builtin_popcount(set);
        warp->active &= ~set;
        nl_sim_wake_thread(w, i, set);
    }
}

/* Turns */

void nl_sim_scheduler_handle_no_ready_thread(nl_sim_worker *w) {
    if (!w->cluster_waiting)
        nl_sim_report_stuck_block(w);
    nl_sim_cluster_wait_for_blocks(w);
}

/* Returns a random bit among the set bits. */
static unsigned pick_random_bit(nl_sim_worker *w, uint32_t bits) {
    for (uint64_t n = nl_sim_interleave_random(w->job, (uint64_t)__builtin_popcount(bits)); n; n--)
        bits &= bits - 1;
    return (unsigned)__builtin_ctz(bits);
}

unsigned nl_sim_scheduler_pick_random_thread(nl_sim_worker *w) {
    if (w->active_waiting > w->shuffled)
        nl_sim_scheduler_complete_active(w);
    if (!w->ready_warps)
        nl_sim_scheduler_handle_no_ready_thread(w);
    unsigned warp = pick_random_bit(w, w->ready_warps);
    return nl_sim_take_ready_lane(w, warp, 1u << pick_random_bit(w, w->warp[warp].ready));
}

int nl_sim_scheduler_take_scheduled_thread(nl_sim_worker *w) {
    int thread = w->job->schedule ? nl_sim_schedule_choose_thread(w) : -1;
    if (thread < 0)
        return -1;
    return (int)nl_sim_take_ready_lane(w, (unsigned)thread / NL_SIM_LANES,
                                       nl_sim_lane_bit((unsigned)thread));
}

/* Lets other blocks run. */
static void run_other_blocks(nl_sim_worker *w, int needed) {
    nl_sim_interleave_pass_token(w, needed);
    if (w->cluster_waiting)
        nl_sim_cluster_wake_crossed(w);
    if (nl_sim_job_is_stopped(w->job))
        nl_sim_report_stopped_grid(w);
}

/* Lets other blocks run if each live thread has had `most` turns without progress. */
static void yield_to_other_blocks(nl_sim_worker *w, unsigned *count, unsigned most) {
    if (!w->job->interleaver || ++*count < most * w->live)
        return;
    *count = 0;
    run_other_blocks(w, 1);
}

/* Returns the thread that the launch's schedule selects, or else the next ready thread after
 * `thread`, round-robin over the block. The next thread may belong to another warp, because the
 * lanes of this warp may wait for that warp. */
static unsigned pick_next_ready_thread(nl_sim_worker *w, unsigned thread) {
    unsigned warp = thread / NL_SIM_LANES;
    int chosen = nl_sim_scheduler_take_scheduled_thread(w);
    if (chosen >= 0)
        return (unsigned)chosen;
    if (w->active_waiting)
        nl_sim_scheduler_complete_active(w);
    uint32_t later = w->warp[warp].ready & nl_sim_bits_above(thread % NL_SIM_LANES);
    if (later)
        return nl_sim_take_ready_lane(w, warp, later);
    uint32_t warps = w->ready_warps & nl_sim_bits_above(warp);
    if (!warps) {
        warps = w->ready_warps;
        if (w->cluster_waiting)
            nl_sim_cluster_wake_crossed(w);
        if (!w->job->interleaver)
            /* lets other blocks run after each round over the threads, because progress of another
             * block may be needed */
            nl_thread_yield();
    }
    warp = (unsigned)__builtin_ctz(warps);
    return nl_sim_take_ready_lane(w, warp, w->warp[warp].ready);
}

static void report_if_deadlocked(nl_sim_worker *w) {
    if (!w->job->schedule)
        return;
    if (w->cluster_waiting)
        nl_sim_cluster_wake_crossed(w);
    if (nl_sim_deadlock_is_detected(w))
        nl_sim_report_deadlock(w);
}

void nl_sim_scheduler_preempt(nl_sim_worker *w) {
    unsigned thread = w->current;
    nl_sim_thread *t = &w->thread[thread];
    t->site = (nl_sim_site){.file = NULL};
    t->wait = NL_SIM_WAIT_TURN;
    if (nl_sim_job_is_stopped(w->job))
        nl_sim_report_stopped_grid(w);
    report_if_deadlocked(w);
    unsigned fickle = w->live < FICKLE_SLICES ? w->live + 1 : FICKLE_SLICES;
    if (w->job->schedule && nl_sim_schedule_must_change_block(w))
        run_other_blocks(w, 1);
    if (w->at_atomic || (w->shuffled && nl_sim_interleave_random(w->job, fickle) == 0)) {
        w->at_atomic = 0;
        run_other_blocks(w, 0);
    }
    yield_to_other_blocks(w, &w->slices, PATIENT_SLICES);
    nl_sim_wake_thread(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    nl_sim_switch_to(w, thread,
                     w->shuffled ? nl_sim_scheduler_pick_random_thread(w)
                                 : pick_next_ready_thread(w, thread));
    t->wait = NL_SIM_WAIT_NONE;
}

void nl_sim_scheduler_yield(unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter_waiting_operation(thread);
    nl_sim_thread *t = &w->thread[thread];
    unsigned warp = thread / NL_SIM_LANES;
    t->site = site;
    t->wait = NL_SIM_WAIT_SPIN;
    if (nl_sim_job_is_stopped(w->job))
        nl_sim_report_stopped_grid(w);
    report_if_deadlocked(w);
    yield_to_other_blocks(w, &w->yields, PATIENT_YIELDS);
    w->warp[warp].yielded |= nl_sim_lane_bit(thread);
    nl_sim_wake_thread(w, warp, nl_sim_lane_bit(thread));
    nl_sim_switch_to(w, thread,
                     w->shuffled ? nl_sim_scheduler_pick_random_thread(w)
                                 : pick_next_ready_thread(w, thread));
    t->wait = NL_SIM_WAIT_NONE;
}
