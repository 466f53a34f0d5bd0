/* sim/driver/graph: a captured graph: operations in the order of issue. */
#ifndef NL_SIM_DRIVER_GRAPH_H
#define NL_SIM_DRIVER_GRAPH_H

#include "sim/driver/op.h"

typedef struct nl_sim_graph {
    nl_sim_op *head, *tail;
    size_t count;
} nl_sim_graph;

/* Returns an empty graph; NULL without memory. */
nl_sim_graph *nl_sim_graph_create(void);
void nl_sim_graph_destroy(nl_sim_graph *graph);
/* Appends an operation, which the graph owns from now on. */
void nl_sim_graph_add(nl_sim_graph *graph, nl_sim_op *op);

#endif
