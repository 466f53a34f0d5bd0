/* sim/check/launch: helper functions that all checkers use. */
#include "sim/check/launch.h"

#include "sim/debuginfo/lines.h"
#include "sim/engine/caller.h"
#include "sim/engine/job.h"

int nl_sim_launch_check_is_on(const nl_sim_worker *w, unsigned bit) {
    return w->job->check && (w->job->check->wanted.mask & bit);
}

/* If the finding is in a function of a header, finds the line of the user's source that calls this
 * function. */
static void find_call(nl_sim_worker *w, nl_sim_finding *f) {
    nl_sim_site site = f->site, header = {.file = NULL};
    if (f->pc && !site.file && !nl_sim_lines_find_call(w->job->image, f->pc, &site, &header))
        return;
    if (!header.file)
        (void)nl_sim_caller_find(w, w->current, site, &f->call);
}

void nl_sim_launch_check_report(nl_sim_worker *w, nl_sim_finding *f) {
    const nl_sim_dim *block = &w->job->launch.block;
    f->block = w->index;
    f->thread = (nl_sim_dim){w->current % block->x, w->current / block->x % block->y,
                             w->current / block->x / block->y};
    f->order = w->next;
    find_call(w, f);
    nl_sim_findings_add(&w->job->check->findings, f);
}
