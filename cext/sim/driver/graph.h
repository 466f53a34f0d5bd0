/* sim/driver/graph: what has been captured: operations, in the order in which they were issued. */
#ifndef NL_SIM_DRIVER_GRAPH_H
#define NL_SIM_DRIVER_GRAPH_H

#include "sim/driver/op.h"

typedef struct nl_sim_graph {
    nl_sim_op *head, *tail;
    size_t count;
} nl_sim_graph;

/* An empty one; NULL without memory. */
nl_sim_graph *nl_sim_graph_create(void);
void nl_sim_graph_destroy(nl_sim_graph *graph);
/* It owns the operation from now on. */
void nl_sim_graph_add(nl_sim_graph *graph, nl_sim_op *op);

#endif
