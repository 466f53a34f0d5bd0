/* sim/check/shuffle: reports shuffles that read from a lane outside of the mask.
 *
 * __shfl_sync and __shfl_xor_sync are reported at the call. With __shfl_down_sync and
 * __shfl_up_sync, correct programs often read from a lane outside of the mask and ignore the value:
 * for example the upper lanes in each step of a reduction, and lanes that test afterwards whether
 * the source lane exists. These calls are therefore reported only if the program uses the undefined
 * value:
 *
 * - In a reduction by __shfl_down_sync, whose calls have decreasing distances. If a lane passes
 * another value to a call than to the previous call, it has used the value that it received from
 * the previous call. If the received value was undefined, the value that the lane passes is also
 * undefined. The program is reported if the lowest lane of the mask, which receives the result,
 * depends on an undefined value.
 * - In a store. The simulator returns UNDEFINED, a number that programs are unlikely to compute,
 * for a lane outside of the mask. The check reports a store of UNDEFINED to memory: it compares the
 *   stored bytes with UNDEFINED at the thread's next access, warp operation, barrier or end. */
#include "sim/check/shuffle.h"

#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "sim/check/check.h"
#include "sim/engine/job.h"
#include "sim/engine/shadow.h"

static const uint64_t UNDEFINED = 0xBADC0DE5BADC0DE5;

/* The last shuffles of a lane. */
typedef struct doubt {
    uint64_t order;  /* 1 + index of the block that executed the previous __shfl_down_sync */
    uint64_t passed; /* the value that the lane passed to the previous __shfl_down_sync */
    unsigned distance;
    int open; /* whether the value that the lane received from the previous __shfl_down_sync may be
               * undefined */
    /* 1 + index of the block in which the lane last received UNDEFINED; `site`, `mask`, `source`
     * and `how` belong to the call that returned UNDEFINED */
    uint64_t marked;
    nl_sim_site site;
    uint32_t mask;
    unsigned source;
    unsigned how;     /* NL_SIM_SHUFFLE_DOWN or NL_SIM_SHUFFLE_UP */
    uintptr_t stored; /* address of the lane's last store, of `size` bytes, or 0 if there was
                       * none */
    size_t size;
} doubt;

struct nl_sim_doubts {
    doubt of[NL_SIM_MAX_THREADS];
};

#define FOR_LANES(lane, set) \
    for (uint32_t left_ = (set), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

/* Returns whether a shuffle reads from a lane at a distance from the calling lane. */
static int is_relative(unsigned how) {
    return how == NL_SIM_SHUFFLE_DOWN || how == NL_SIM_SHUFFLE_UP;
}

static void report_shuffle(nl_sim_worker *w, unsigned thread, const char *what) {
    const nl_sim_thread *t = &w->thread[thread];
    nl_sim_finding f = {.kind = NL_CHECK_SYNC, .site = t->site};
    unsigned current = w->current;
    if (nl_sim_findings_contain(&w->job->check->findings, NL_CHECK_SYNC, NULL, t->site, 0, w->next))
        return;
    snprintf(f.text, sizeof f.text, "%s", what);
    w->current = thread;
    nl_sim_launch_check_report(w, &f);
    w->current = current;
}

static void report_source_outside_mask(nl_sim_worker *w, unsigned thread, unsigned source) {
    const nl_sim_thread *t = &w->thread[thread];
    char text[200];
    int by_index = (t->argument & NL_SIM_SHUFFLE_XOR) == NL_SIM_SHUFFLE_INDEX;
    snprintf(
        text, sizeof text,
        "calls %s with mask 0x%08x and gets the value of lane %u, which the mask does not name",
        by_index ? "__shfl_sync" : "__shfl_xor_sync", t->mask, source);
    report_shuffle(w, thread, text);
}

static void report_sum_of_unset_value(nl_sim_worker *w, unsigned thread) {
    char text[200];
    snprintf(
        text, sizeof text,
        "calls __shfl_down_sync with mask 0x%08x, "
        "and the value that it gets was computed from values of lanes that the mask does not name",
        w->thread[thread].mask);
    report_shuffle(w, thread, text);
}

static void follow_shuffled_values(nl_sim_worker *w, unsigned first, const nl_sim_group *group) {
    nl_sim_thread *lanes = &w->thread[first];
    doubt *doubts = &w->doubts->of[first];
    unsigned distance = 0, lowest = (unsigned)__builtin_ctz(group->mask);
    uint32_t used = 0; /* lanes that have used an undefined value */
    FOR_LANES(lane, group->arrived) {
        unsigned far = lanes[lane].argument % NL_SIM_LANES - lane;
        distance = far > distance ? far : distance;
    }
    FOR_LANES(lane, group->arrived) {
        const doubt *d = &doubts[lane];
        if (d->order == w->next + 1 && d->open && distance < d->distance &&
            d->passed != lanes[lane].value)
            used |= 1u << lane;
    }
    FOR_LANES(lane, group->arrived) {
        unsigned source = lanes[lane].argument % NL_SIM_LANES;
        int gets = (used | ~group->mask) >> source & 1;
        if (lane == lowest && (used & (1u << lane | 1u << source)))
            report_sum_of_unset_value(w, first + lane);
        doubts[lane].order = w->next + 1;
        doubts[lane].passed = lanes[lane].value;
        doubts[lane].distance = distance;
        doubts[lane].open = gets || (used >> lane & 1);
    }
}

static void report_value_outside_mask(nl_sim_worker *w, unsigned thread, const doubt *d) {
    char text[200];
    nl_sim_site site = w->thread[thread].site;
    snprintf(text, sizeof text,
             "calls %s with mask 0x%08x and stores the value of lane %u, "
             "which the mask does not name",
             d->how == NL_SIM_SHUFFLE_UP ? "__shfl_up_sync" : "__shfl_down_sync", d->mask,
             d->source);
    w->thread[thread].site = d->site;
    report_shuffle(w, thread, text);
    w->thread[thread].site = site;
}

void nl_sim_shuffle_clear_state(nl_sim_worker *w) {
    if (w->doubts)
        memset(w->doubts, 0, sizeof *w->doubts);
}

void nl_sim_shuffle_forget_value(nl_sim_worker *w, unsigned thread) {
    if (!w->doubts || !w->doubts->of[thread].stored)
        return;
    doubt *d = &w->doubts->of[thread];
    if (d->marked == w->next + 1 && memcmp((const void *)d->stored, &UNDEFINED, d->size) == 0)
        report_value_outside_mask(w, thread, d);
    d->stored = 0;
}

void nl_sim_shuffle_check_store(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind) {
    doubt *d = &w->doubts->of[w->current];
    unsigned plain = kind & (NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_RANGE);
    if (d->marked != w->next + 1)
        return;
    nl_sim_shuffle_forget_value(w, w->current);
    if (plain == NL_SIM_ACCESS_WRITE && (size == 4 || size == 8) &&
        address - nl_sim_shadow.low < nl_sim_shadow.span &&
        nl_sim_shadow_valid_length(address, size) == size) {
        d->stored = address;
        d->size = size;
    }
}

void nl_sim_shuffle_mark_values(nl_sim_worker *w, unsigned warp, const nl_sim_group *group) {
    unsigned first = warp * NL_SIM_LANES;
    nl_sim_thread *lanes = &w->thread[first];
    unsigned how = lanes[__builtin_ctz(group->arrived)].argument & NL_SIM_SHUFFLE_XOR;
    if (group->op != NL_SIM_WARP_SHFL || !is_relative(how) || !w->doubts ||
        group->mask == UINT32_MAX || !nl_sim_launch_check_is_on(w, NL_CHECK_SYNC))
        return;
    FOR_LANES(lane, group->arrived) {
        unsigned source = lanes[lane].argument % NL_SIM_LANES;
        doubt *d = &w->doubts->of[first + lane];
        if (group->mask >> source & 1)
            continue;
        lanes[lane].value = UNDEFINED;
        d->marked = w->next + 1;
        d->site = lanes[lane].site;
        d->mask = group->mask;
        d->source = source;
        d->how = how;
    }
}

void nl_sim_shuffle_check_sources(nl_sim_worker *w, unsigned warp, const nl_sim_group *group) {
    unsigned first = warp * NL_SIM_LANES;
    const nl_sim_thread *lanes = &w->thread[first];
    unsigned how = lanes[__builtin_ctz(group->arrived)].argument & NL_SIM_SHUFFLE_XOR;
    FOR_LANES(lane, group->arrived)
    nl_sim_shuffle_forget_value(w, first + lane);
    if (group->op != NL_SIM_WARP_SHFL || group->mask == UINT32_MAX ||
        !nl_sim_launch_check_is_on(w, NL_CHECK_SYNC))
        return;
    if (is_relative(how)) {
        if (!w->doubts && !(w->doubts = nl_mem_alloc_permanent(sizeof *w->doubts)))
            return;
        if (how == NL_SIM_SHUFFLE_DOWN)
            follow_shuffled_values(w, first, group);
        return;
    }
    FOR_LANES(lane, group->arrived) {
        unsigned source = lanes[lane].argument % NL_SIM_LANES;
        if (!(group->mask >> source & 1))
            report_source_outside_mask(w, first + lane, source);
    }
}
