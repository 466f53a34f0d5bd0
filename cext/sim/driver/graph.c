/* sim/driver/graph: stores a graph as a linked list of operations. */
#include "sim/driver/graph.h"

#include <stdlib.h>

nl_sim_graph *nl_sim_graph_create(void) {
    return calloc(1, sizeof(nl_sim_graph));
}

void nl_sim_graph_destroy(nl_sim_graph *graph) {
    for (nl_sim_op *op = graph->head, *next; op; op = next) {
        next = op->next;
        nl_sim_op_destroy(op);
    }
    free(graph);
}

void nl_sim_graph_add(nl_sim_graph *graph, nl_sim_op *op) {
    op->next = NULL;
    if (graph->tail)
        graph->tail->next = op;
    else
        graph->head = op;
    graph->tail = op;
    graph->count++;
}
