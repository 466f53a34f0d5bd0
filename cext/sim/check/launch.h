/* sim/check/launch: what the checkers know of one launch (job->check). */
#ifndef NL_SIM_CHECK_LAUNCH_H
#define NL_SIM_CHECK_LAUNCH_H

#include "driver/checks.h"
#include "sim/check/finding.h"
#include "sim/engine/worker.h"

struct nl_sim_race;
struct nl_sim_profile;

typedef struct nl_sim_check {
    nl_checks wanted;
    const nl_sim_object *image;          /* the twin, for lines */
    const nl_sim_parameters *parameters; /* or NULL: not known */
    int traps_reals;                     /* the processor tells of NaN and infinity (reals.h) */
    struct nl_sim_race *race;            /* NULL: races are not looked for */
    struct nl_sim_undo *undo;            /* of a launch that may run again; NULL: it does not */
    int allocates;                       /* the kernel has allocated memory */
    int depends; /* exact: the schedule decided the order of some atomics (race.h); set at the end
                  */
    int every;   /* all accesses are looked at (conflict.h) */
    struct nl_sim_profile *profile;    /* NULL: accesses are not counted (profile.h) */
    struct nl_sim_asynccopies *copies; /* NULL: there were none yet */
    nl_sim_findings findings;
} nl_sim_check;

/* Reports what the running thread of `w` does at `pc` or `site`: fills block, thread and order. */
void nl_sim_check_report(nl_sim_worker *w, nl_sim_finding *finding);
/* Is the check wanted in the launch that `w` runs? */
int nl_sim_check_is_on(const nl_sim_worker *w, unsigned bit);

#endif
