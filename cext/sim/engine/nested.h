/* sim/engine/nested: launches inside kernels (dynamic parallelism). The launches of a grid are
 * stored in its job and run after the grid has ended. Running the launches after the grid is
 * correct, because a grid cannot wait for its launches. The caller that ran the job must collect
 * its child launches and run them. */
#ifndef NL_SIM_ENGINE_NESTED_H
#define NL_SIM_ENGINE_NESTED_H

#include "sim/engine/job.h"

typedef struct nl_sim_child {
    struct nl_sim_child *next;
    nl_sim_kernel kernel;
    nl_sim_launch launch;
    nl_sim_history history;
    int is_tail;
    unsigned depth;     /* nesting depth, which is 1 if a grid of the host has made the launch */
    nl_sim_site site;   /* source line of the launch */
    const char *parent; /* kernel that contains the launch */
    void *args[];       /* followed by the values */
} nl_sim_child;

/* Implements nl_sim_ops.launch. */
void nl_sim_nested_launch(const nl_sim_nested *what, unsigned thread);
/* Inserts the launches of a finished grid before the launches in `pending`, in launch order, tail
 * launches last. */
void nl_sim_nested_take_pending(nl_sim_job *job, nl_sim_child **pending);
/* Removes and returns the first pending launch, which the caller must free, or returns NULL if
 * there is none. */
nl_sim_child *nl_sim_nested_pop(nl_sim_child **pending);

#endif
