/* sim/driver/graph: a captured graph, which stores operations in the order in which they were
 * issued. */
#ifndef NL_SIM_DRIVER_GRAPH_H
#define NL_SIM_DRIVER_GRAPH_H

#include "sim/driver/op.h"

typedef struct nl_sim_graph {
    nl_sim_op *head, *tail;
    size_t count;
} nl_sim_graph;

/* Returns an empty graph, or NULL if memory runs out. */
nl_sim_graph *nl_sim_graph_create(void);
void nl_sim_graph_destroy(nl_sim_graph *graph);
/* Appends an operation to the graph, which takes ownership of it. */
void nl_sim_graph_add(nl_sim_graph *graph, nl_sim_op *op);

#endif
