/* sim/check/launch: the state of the checkers for one launch (job->check). */
#ifndef NL_SIM_CHECK_LAUNCH_H
#define NL_SIM_CHECK_LAUNCH_H

#include "driver/checks.h"
#include "sim/check/finding.h"
#include "sim/engine/worker.h"

struct nl_sim_race;
struct nl_sim_profile;

typedef struct nl_sim_check {
    nl_checks wanted;
    const nl_sim_object *image;          /* the instrumented image, used to find source lines */
    const nl_sim_parameters *parameters; /* NULL: not available */
    int traps_reals;          /* whether the processor signals NaN and infinity (reals.h) */
    struct nl_sim_race *race; /* NULL: no search for races */
    struct nl_sim_undo *undo; /* undo log of a launch that may be repeated, else NULL */
    int allocates;            /* the kernel has allocated memory */
    /* result of the exact search: the schedule determined the order of some atomics (race.h) */
    int depends;
    int every;                         /* every access is checked (racereport.h) */
    struct nl_sim_profile *profile;    /* NULL: no profile (profile.h) */
    struct nl_sim_asynccopies *copies; /* NULL: no asynchronous copy yet */
    nl_sim_findings findings;
} nl_sim_check;

/* Sets the block, thread and order of a finding to those of the running thread of `w`, and adds the
 * finding to the list. */
void nl_sim_launch_check_report(nl_sim_worker *w, nl_sim_finding *finding);
/* Returns whether the check of this bit is enabled in the launch that `w` executes. */
int nl_sim_launch_check_is_on(const nl_sim_worker *w, unsigned bit);

#endif
