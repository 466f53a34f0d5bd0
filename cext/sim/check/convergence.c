/* sim/check/convergence: finds barriers that complete only because some threads have ended, and
 * collectives whose mask includes lanes that have ended or do not exist.
 *
 * CUDA requires that every thread of the block reaches the barrier, and every lane of the mask the
 * collective. A GPU does not wait for threads that have exited, so programs that violate this rule
 * often work by chance. __syncwarp() is checked less strictly, because nearly all programs use the
 * default mask: lanes that have done nothing, as after `if (i >= n) return;`, may be missing. Lanes
 * that the block does not have are reported only if a lane reads a value from them. */
#include "sim/check/convergence.h"

#include <stdio.h>
#include "sim/check/check.h"
#include "sim/engine/caller.h"
#include "sim/engine/job.h"
#include "sim/engine/report.h"

enum { MAX_RANGES = 8 };

#define FOR_LANES(lane, set) \
    for (uint32_t left_ = (set), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

typedef struct ranges {
    unsigned count, length;
    char text[160];
} ranges;

static void append_range(ranges *r, unsigned first, unsigned last) {
    size_t left = sizeof r->text - r->length;
    int more;
    if (r->count++ > MAX_RANGES)
        return;
    if (r->count > MAX_RANGES)
        more = snprintf(r->text + r->length, left, ", ...");
    else if (first == last)
        more = snprintf(r->text + r->length, left, "%s%u", r->count > 1 ? ", " : "", first);
    else
        more =
            snprintf(r->text + r->length, left, "%s%u-%u", r->count > 1 ? ", " : "", first, last);
    r->length += more > 0 && (size_t)more < left ? (unsigned)more : 0;
}

static nl_sim_dim thread_index(const nl_sim_worker *w, unsigned thread) {
    const nl_sim_dim *block = &w->job->launch.block;
    return (nl_sim_dim){thread % block->x, thread / block->x % block->y,
                        thread / block->x / block->y};
}

/* Returns whether a missing thread should be reported. No missing thread is reported after another
 * error, because that error may be the reason why the thread ended. */
static int should_report_missing(nl_sim_worker *w, nl_sim_site site) {
    nl_sim_findings *all = &w->job->check->findings;
    if (!nl_sim_launch_check_is_on(w, NL_CHECK_SYNC) ||
        (all->count && !(all->all[0].kind & NL_CHECK_SYNC)))
        return 0;
    return !nl_sim_findings_contain(all, NL_CHECK_SYNC, NULL, site, 0, w->next);
}

static void append_thread(nl_sim_worker *w, nl_sim_finding *f, unsigned thread, nl_sim_site site) {
    f->kind = NL_CHECK_SYNC;
    f->site = site;
    f->block = w->index;
    f->thread = thread_index(w, thread);
    f->order = w->next;
    (void)nl_sim_caller_find(w, thread, site, &f->call);
    nl_sim_findings_add(&w->job->check->findings, f);
}

void nl_sim_convergence_check_barrier(nl_sim_worker *w) {
    ranges ended = {.count = 0};
    unsigned some = w->threads;
    if (w->live == w->threads || !w->live || !should_report_missing(w, w->barrier.site))
        return;
    for (unsigned i = 0; i < w->threads; i++) {
        unsigned first = i;
        while (i < w->threads && !(w->warp[i / NL_SIM_LANES].live >> i % NL_SIM_LANES & 1))
            i++;
        if (i > first)
            append_range(&ended, first, i - 1);
        if (i < w->threads && some == w->threads)
            some = i;
    }
    nl_sim_finding f = {.pc = NULL};
    snprintf(f.text, sizeof f.text, "waits in %s, where thread%s %s never came: ended before it",
             nl_sim_report_operation(w, NL_SIM_WAIT_BLOCK + (unsigned)w->barrier.op, 0),
             w->threads - w->live > 1 ? "s" : "", ended.text);
    append_thread(w, &f, some, w->barrier.site);
}

/* Returns whether a lane of `set` reads from a lane of `absent`. */
static int reads_from_absent_lane(const nl_sim_thread *lanes, uint32_t set, uint32_t absent) {
    FOR_LANES(lane, set) {
        if (absent >> lanes[lane].argument % NL_SIM_LANES & 1)
            return 1;
    }
    return 0;
}

static int has_lane_worked(const nl_sim_thread *lanes, uint32_t set) {
    FOR_LANES(lane, set) {
        if (lanes[lane].worked)
            return 1;
    }
    return 0;
}

static void append_lanes(ranges *r, unsigned first, uint32_t set) {
    while (set) {
        unsigned from = (unsigned)__builtin_ctz(set), to = from;
        while (to < NL_SIM_LANES - 1 && set >> (to + 1) & 1)
            to++;
        append_range(r, first + from, first + to);
        set = to == NL_SIM_LANES - 1 ? 0 : set & (UINT32_MAX << (to + 1));
    }
}

void nl_sim_convergence_check_warp(nl_sim_worker *w, unsigned warp, const nl_sim_group *group) {
    unsigned first = warp * NL_SIM_LANES, count = w->threads - first;
    nl_sim_thread *lanes = &w->thread[first];
    uint32_t there = count < NL_SIM_LANES ? (1u << count) - 1 : UINT32_MAX;
    uint32_t ended = group->mask & ~group->arrived & there;
    uint32_t never = group->mask & ~group->arrived & ~there;
    ranges who = {.count = 0};
    nl_sim_finding f = {.pc = NULL};
    FOR_LANES(arrived, group->arrived) {
        lanes[arrived].worked = 1;
    }
    if (group->op == NL_SIM_WARP_SYNC && !has_lane_worked(lanes, ended))
        return;
    if (!ended &&
        (group->op != NL_SIM_WARP_SHFL || !reads_from_absent_lane(lanes, group->arrived, never)))
        return;
    unsigned lane = (unsigned)__builtin_ctz(group->arrived);
    if (!should_report_missing(w, lanes[lane].site))
        return;
    append_lanes(&who, ended ? first : 0, ended ? ended : never);
    if (ended)
        snprintf(f.text, sizeof f.text,
                 "calls %s with mask 0x%08x, which includes thread%s %s: ended without calling it",
                 nl_sim_report_operation(w, lanes[lane].wait, lanes[lane].argument), group->mask,
                 ended & (ended - 1) ? "s" : "", who.text);
    else
        snprintf(f.text, sizeof f.text,
                 "calls %s with mask 0x%08x, of which this warp does not have lanes %s, "
                 "and reads a value of these lanes",
                 nl_sim_report_operation(w, lanes[lane].wait, lanes[lane].argument), group->mask,
                 who.text);
    append_thread(w, &f, first + lane, lanes[lane].site);
}
