/* sim/check/shuffle: who reads by index or by exclusive or from a lane outside of the mask is
 * reported.
 *
 * By __shfl_down_sync many read so in right programs, and do not use what they get: the upper lanes
 * in each step of a reduction, or those that look first whether there is such a lane. So there a
 * doubtful value is followed down the steps of a reduction, that is as long as each distance is
 * less than the one before: a lane that brings another value than before has used what it got. If
 * the doubt reaches the lowest lane of the mask, the result is wrong. */
#include "sim/check/shuffle.h"

#include <stdio.h>
#include "base/mem.h"
#include "sim/check/check.h"
#include "sim/engine/job.h"

typedef struct doubt {
    uint64_t order;   /* of the block, plus 1 */
    uint64_t brought; /* to the shuffle before */
    unsigned distance;
    int open; /* what it got there is doubtful */
} doubt;

struct nl_sim_doubts {
    doubt of[NL_SIM_MAX_THREADS];
};

#define FOR_LANES(lane, set) \
    for (uint32_t left_ = (set), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

static void report(nl_sim_worker *w, unsigned thread, const char *what) {
    const nl_sim_thread *t = &w->thread[thread];
    nl_sim_finding f = {.kind = NL_CHECK_SYNC, .site = t->site};
    unsigned current = w->current;
    if (nl_sim_findings_know(&w->job->check->findings, NL_CHECK_SYNC, NULL, t->site, 0, w->next))
        return;
    snprintf(f.text, sizeof f.text, "%s", what);
    w->current = thread;
    nl_sim_check_report(w, &f);
    w->current = current;
}

static void report_outside(nl_sim_worker *w, unsigned thread, unsigned source) {
    const nl_sim_thread *t = &w->thread[thread];
    char text[200];
    int by_index = (t->argument & NL_SIM_SHUFFLE_XOR) == NL_SIM_SHUFFLE_INDEX;
    snprintf(
        text, sizeof text,
        "calls %s with mask 0x%08x and gets the value of lane %u, which the mask does not name",
        by_index ? "__shfl_sync" : "__shfl_xor_sync", t->mask, source);
    report(w, thread, text);
}

static void report_sum(nl_sim_worker *w, unsigned thread) {
    char text[200];
    snprintf(text, sizeof text,
             "calls __shfl_down_sync with mask 0x%08x, and what it gets was made of values from "
             "lanes that the mask does not name",
             w->thread[thread].mask);
    report(w, thread, text);
}

static void follow(nl_sim_worker *w, unsigned first, const nl_sim_group *group) {
    nl_sim_thread *lanes = &w->thread[first];
    doubt *doubts = &w->doubts->of[first];
    unsigned distance = 0, lowest = (unsigned)__builtin_ctz(group->mask);
    uint32_t used = 0; /* lanes that have used a doubtful value */
    FOR_LANES(lane, group->arrived) {
        unsigned far = lanes[lane].argument % NL_SIM_LANES - lane;
        distance = far > distance ? far : distance;
    }
    FOR_LANES(lane, group->arrived) {
        const doubt *d = &doubts[lane];
        if (d->order == w->next + 1 && d->open && distance < d->distance &&
            d->brought != lanes[lane].value)
            used |= 1u << lane;
    }
    FOR_LANES(lane, group->arrived) {
        unsigned source = lanes[lane].argument % NL_SIM_LANES;
        int gets = (used | ~group->mask) >> source & 1;
        if (lane == lowest && (used & (1u << lane | 1u << source)))
            report_sum(w, first + lane);
        doubts[lane] = (doubt){.order = w->next + 1,
                               .brought = lanes[lane].value,
                               .distance = distance,
                               .open = gets || (used >> lane & 1)};
    }
}

void nl_sim_shuffle_look(nl_sim_worker *w, unsigned warp, const nl_sim_group *group) {
    unsigned first = warp * NL_SIM_LANES;
    const nl_sim_thread *lanes = &w->thread[first];
    unsigned how = lanes[__builtin_ctz(group->arrived)].argument & NL_SIM_SHUFFLE_XOR;
    if (group->op != NL_SIM_WARP_SHFL || how == NL_SIM_SHUFFLE_UP || group->mask == UINT32_MAX ||
        !nl_sim_check_is_on(w, NL_CHECK_SYNC))
        return;
    if (how == NL_SIM_SHUFFLE_DOWN) {
        if (w->doubts || (w->doubts = nl_mem_keep(sizeof *w->doubts)))
            follow(w, first, group);
        return;
    }
    FOR_LANES(lane, group->arrived) {
        unsigned source = lanes[lane].argument % NL_SIM_LANES;
        if (!(group->mask >> source & 1))
            report_outside(w, first + lane, source);
    }
}
