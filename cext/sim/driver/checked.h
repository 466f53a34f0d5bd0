/* sim/driver/checked: runs a launch with checks, in one schedule or in several. */
#ifndef NL_SIM_DRIVER_CHECKED_H
#define NL_SIM_DRIVER_CHECKED_H

#include "driver/checks.h"
#include "driver/cuda_abi.h"
#include "sim/debuginfo/object.h"
#include "sim/driver/stream.h"
#include "sim/engine/job.h"

typedef struct nl_sim_checked {
    const nl_checks *checks;
    const nl_sim_object *image;
    const nl_sim_parameters *parameters; /* NULL: unavailable */
    int traps_reals;
    nl_sim_stream *stream; /* the stream in which the job is enqueued */
} nl_sim_checked;

/* Runs the grid. On failure, job->fault is set. */
CUresult nl_sim_checked_run(const nl_sim_checked *what, nl_sim_job *job);

#endif
