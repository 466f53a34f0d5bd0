/* sim/driver/exec: creates and launches executable graphs. An executable graph has a copy of every
 * operation of its graph; a launch enqueues copies of these operations in the launching stream. */
#ifndef NL_SIM_DRIVER_EXEC_H
#define NL_SIM_DRIVER_EXEC_H

#include "sim/driver/graph.h"
#include "sim/driver/streams.h"

typedef struct nl_sim_exec nl_sim_exec;

CUresult nl_sim_exec_create(const nl_sim_graph *graph, nl_sim_exec **exec);
void nl_sim_exec_destroy(nl_sim_exec *exec);
CUresult nl_sim_exec_launch(nl_sim_exec *exec, nl_sim_stream *stream);
/* Returns the executable graph's copy of a node's operation, or NULL if `node` is not in the
 * graph. */
const nl_sim_op *nl_sim_exec_find_operation(const nl_sim_exec *exec, const void *node);
/* Replaces the operation of a node. */
void nl_sim_exec_replace_operation(nl_sim_exec *exec, const void *node, nl_sim_op *op);

#endif
