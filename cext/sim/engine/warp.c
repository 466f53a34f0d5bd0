/* sim/engine/warp: implements warp operations: lanes that arrive with the same operation and mask
 * form a group. A group is complete when it contains all lanes of the mask that have not exited.
 * The last lane to arrive computes the results of all lanes, makes the other lanes ready and
 * continues. Several groups of one warp may wait at the same time, if branches diverge.
 *
 * Before volatile accesses, the lanes of a warp synchronize implicitly, for programs that rely on
 * warps executing one instruction at a time. The implicit synchronization includes accesses to
 * global memory. The set of lanes that synchronize is not fixed: when no lane can run, the lanes
 * that are at the earliest position in the program continue, because on a GPU the other lanes would
 * wait for them at the point where branches reconverge. */
#include "sim/engine/warp.h"

#include "sim/engine/observer.h"
#include "sim/engine/report.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"

static uint64_t reduce_lanes(nl_sim_warp_op op, const nl_sim_thread *lanes, uint32_t set) {
    uint32_t first = (uint32_t)__builtin_ctz(set);
    uint32_t result = (uint32_t)lanes[first].value;
    NL_SIM_FOR_LANES(lane, set & (set - 1)) {
        uint32_t value = (uint32_t)lanes[lane].value;
        int less = op == NL_SIM_WARP_MIN_S || op == NL_SIM_WARP_MAX_S
                       ? (int32_t)value < (int32_t)result
                       : value < result;
        switch (op) {
        case NL_SIM_WARP_ADD:
            result += value;
            break;
        case NL_SIM_WARP_MIN_S:
        case NL_SIM_WARP_MIN_U:
            result = less ? value : result;
            break;
        case NL_SIM_WARP_MAX_S:
        case NL_SIM_WARP_MAX_U:
            result = less ? result : value;
            break;
        case NL_SIM_WARP_AND:
            result &= value;
            break;
        case NL_SIM_WARP_OR:
            result |= value;
            break;
        default:
            result ^= value;
            break;
        }
    }
    return result;
}

/* Returns the mask of the lanes in `set` whose value equals `value`. */
static uint32_t lanes_with_equal_value(const nl_sim_thread *lanes, uint32_t set, uint64_t value) {
    uint32_t result = 0;
    NL_SIM_FOR_LANES(lane, set) {
        if (lanes[lane].value == value)
            result |= 1u << lane;
    }
    return result;
}

/* Replaces the input values of the lanes of `set` by their results. */
static void compute_lane_results(nl_sim_warp_op op, nl_sim_thread *lanes, uint32_t set) {
    uint64_t brought[NL_SIM_LANES], result = 0;
    switch (op) {
    case NL_SIM_WARP_SYNC:
    case NL_SIM_WARP_ACTIVE:
    case NL_SIM_WARP_STEP:
        return;
    case NL_SIM_WARP_SHFL:
        NL_SIM_FOR_LANES(lane, set) {
            brought[lane] = lanes[lane].value;
        }
        NL_SIM_FOR_LANES(lane, set) {
            uint32_t source = lanes[lane].argument % NL_SIM_LANES;
            if (set >> source & 1)
                lanes[lane].value = brought[source];
        }
        return;
    case NL_SIM_WARP_MATRIX:
        result = lanes[__builtin_ctz(set)].value;
        break;
    case NL_SIM_WARP_MATCH_ANY:
        NL_SIM_FOR_LANES(lane, set) {
            brought[lane] = lanes_with_equal_value(lanes, set, lanes[lane].value);
        }
        NL_SIM_FOR_LANES(lane, set) {
            lanes[lane].value = brought[lane];
        }
        return;
    case NL_SIM_WARP_BALLOT:
        result = set & ~lanes_with_equal_value(lanes, set, 0);
        break;
    case NL_SIM_WARP_MATCH_ALL:
        result = lanes_with_equal_value(lanes, set, lanes[__builtin_ctz(set)].value);
        result = result == set ? set : 0;
        break;
    default:
        result = reduce_lanes(op, lanes, set);
        break;
    }
    NL_SIM_FOR_LANES(lane, set) {
        lanes[lane].value = result;
    }
}

/* Computes the results of a complete group, removes the group, and makes its lanes ready. */
static void complete_group(nl_sim_worker *w, unsigned index, nl_sim_group *group) {
    nl_sim_warp *warp = &w->warp[index];
    uint32_t set = group->arrived;
    if (__builtin_expect(group->mixed, 0))
        nl_sim_report_mixed_warp(w, index, set);
    if (w->job->schedule)
        nl_sim_schedule_count_progress(w->job->schedule);
    if (w->observer)
        w->observer->exchange(w, index, group);
    compute_lane_results((nl_sim_warp_op)group->op, &w->thread[index * NL_SIM_LANES], set);
    if (w->observer)
        w->observer->exchanged(w, index, group);
    *group = w->groups[index][--warp->group_count];
    nl_sim_wake_thread(w, index, set);
}

/* Finds the group that a lane at this source line joins. All lanes of a group must be at the same
 * line, because each shuffle, vote and reduction in the source is a separate instruction, and on a
 * GPU lanes that execute different instructions do not exchange values. For __syncwarp the lines
 * may differ. */
static nl_sim_group *find_group(nl_sim_worker *w, unsigned index, nl_sim_warp_op op, uint32_t mask,
                                int line) {
    nl_sim_warp *warp = &w->warp[index];
    for (unsigned i = 0; i < warp->group_count; i++) {
        nl_sim_group *group = &w->groups[index][i];
        if (group->mask == mask && group->op == (uint16_t)op) {
            group->mixed |= group->line != line && op != NL_SIM_WARP_SYNC;
            return group;
        }
    }
    nl_sim_group *group = &w->groups[index][warp->group_count++];
    *group = (nl_sim_group){.mask = mask, .op = (uint16_t)op, .line = line};
    return group;
}

static uint64_t wait_for_active_mask(nl_sim_worker *w, unsigned thread) {
    w->warp[thread / NL_SIM_LANES].active |= 1u << thread % NL_SIM_LANES;
    w->active_waiting++;
    nl_sim_suspend(w, thread);
    w->thread[thread].wait = NL_SIM_WAIT_NONE;
    return w->thread[thread].value;
}

unsigned long long nl_sim_warp_collective(nl_sim_warp_op op, unsigned mask,
                                          unsigned long long value, unsigned argument,
                                          unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter_waiting_operation(thread);
    unsigned index = thread / NL_SIM_LANES;
    uint32_t self = 1u << thread % NL_SIM_LANES;
    nl_sim_warp *warp = &w->warp[index];
    nl_sim_thread *t = &w->thread[thread];
    t->value = value;
    t->argument = argument;
    t->mask = mask;
    t->site = site;
    t->wait = (uint8_t)(NL_SIM_WAIT_WARP + op);
    if (op == NL_SIM_WARP_ACTIVE && w->observer)
        w->observer->active(w);
    if (op == NL_SIM_WARP_ACTIVE || op == NL_SIM_WARP_STEP)
        return wait_for_active_mask(w, thread);
    if (!(mask & self))
        nl_sim_report_bad_mask(w, thread);
    nl_sim_group *group = find_group(w, index, op, mask, site.line);
    group->arrived |= self;
    if (group->arrived == (mask & warp->live)) {
        complete_group(w, index, group);
        warp->ready &= ~self; /* the last lane to arrive continues without a switch */
        if (!warp->ready)
            w->ready_warps &= ~(1u << index);
    } else {
        nl_sim_suspend(w, thread);
    }
    t->wait = NL_SIM_WAIT_NONE;
    return t->value;
}

void nl_sim_warp_complete_groups(nl_sim_worker *w, unsigned index) {
    nl_sim_warp *warp = &w->warp[index];
    for (unsigned i = 0; i < warp->group_count;) {
        nl_sim_group *group = &w->groups[index][i];
        if (group->arrived == (group->mask & warp->live))
            /* does not advance i, because the last group was moved to index i */
            complete_group(w, index, group);
        else
            i++;
    }
}
