/* sim/engine/nested: launches inside of kernels. What a grid launches is kept with its job, and
 * runs when the grid has ended: CUDA promises no more, since a grid cannot wait for what it
 * launches. So the one who ran the job collects its children and runs them. */
#ifndef NL_SIM_ENGINE_NESTED_H
#define NL_SIM_ENGINE_NESTED_H

#include "sim/engine/job.h"

typedef struct nl_sim_child {
    struct nl_sim_child *next;
    nl_sim_kernel kernel;
    nl_sim_launch launch;
    nl_sim_history history;
    int is_tail;
    unsigned depth;     /* 1: launched by what the host launched */
    nl_sim_site site;   /* of the launch, */
    const char *parent; /* in this kernel */
    void *args[];       /* and behind them the values */
} nl_sim_child;

/* nl_sim_ops.launch */
void nl_sim_nested_launch(const nl_sim_nested *what, unsigned thread);
/* Puts what a grid that has ended has launched before all of `pending`: in the order of the
 * launches, the tails last. */
void nl_sim_nested_collect(nl_sim_job *job, nl_sim_child **pending);
/* The first of them, which is the caller's to free; NULL: there is none. */
nl_sim_child *nl_sim_nested_take(nl_sim_child **pending);

#endif
