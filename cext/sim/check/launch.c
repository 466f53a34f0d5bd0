/* sim/check/launch: what is asked of a launch, and told to it, by every checker. */
#include "sim/check/launch.h"

#include "sim/engine/job.h"

int nl_sim_check_is_on(const nl_sim_worker *w, unsigned bit) {
    return w->job->check && (w->job->check->wanted.mask & bit);
}

void nl_sim_check_report(nl_sim_worker *w, nl_sim_finding *f) {
    const nl_sim_dim *block = &w->job->launch.block;
    f->block = w->index;
    f->thread = (nl_sim_dim){w->current % block->x, w->current / block->x % block->y,
                             w->current / block->x / block->y};
    f->order = w->next;
    nl_sim_findings_add(&w->job->check->findings, f);
}
