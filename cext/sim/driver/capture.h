/* sim/driver/capture: recording a stream's operations instead of running them, and graphs of them.
 *
 * While a stream is being captured, what is issued to it goes into a list. An event recorded there
 * and waited for by another stream draws that stream into the capture (a fork); the list keeps the
 * order of issue, which is one of the orders that the streams and events allow. A graph owns the
 * list, an executable graph has a copy of every operation, and launching one issues copies of those
 * to the launching stream. What the real driver forbids meanwhile is forbidden here, with its own
 * statuses. */
#ifndef NL_SIM_DRIVER_CAPTURE_H
#define NL_SIM_DRIVER_CAPTURE_H

#include "sim/driver/stream.h"

struct nl_sim_context;
typedef struct nl_sim_capture nl_sim_capture;
typedef struct nl_sim_graph nl_sim_graph;
typedef struct nl_sim_exec nl_sim_exec;

CUresult nl_sim_capture_begin(nl_sim_stream *stream);
CUresult nl_sim_capture_end(nl_sim_stream *stream, nl_sim_graph **graph);
/* status, and for an active capture the rest; each may be NULL. */
CUresult nl_sim_capture_info(nl_sim_stream *stream, int *status, unsigned long long *id,
                             nl_sim_graph **graph, const CUgraphNode **nodes, size_t *count);
int nl_sim_capture_has(nl_sim_stream *stream);
/* May the stream be given work, or be waited for? For nl_sim_capture_refuse also: it is not being
 * captured. Where not, the capture that forbids it is spoilt. */
CUresult nl_sim_capture_admit(nl_sim_stream *stream);
CUresult nl_sim_capture_refuse(nl_sim_stream *stream);
CUresult nl_sim_capture_refuse_context(struct nl_sim_context *context);

/* With the lock of all streams: */
void nl_sim_capture_add_lock_held(nl_sim_stream *stream, nl_sim_op *op);
/* The stream's handle is destroyed. */
void nl_sim_capture_lose_lock_held(nl_sim_stream *stream);

/* What an event remembers of a capture. */
typedef struct nl_sim_mark {
    nl_sim_capture *capture;
    nl_sim_stream *stream; /* valid as long as the capture goes on */
    uint64_t count;
} nl_sim_mark;

/* Records: 1 if the stream is being captured, else the mark is wiped out and 0. */
int nl_sim_capture_mark_lock_held(nl_sim_stream *stream, nl_sim_mark *mark);
void nl_sim_capture_unmark_lock_held(nl_sim_mark *mark);
/* The stream waits for the mark: 1 and *status if that is a matter of captures, else 0. */
int nl_sim_capture_wait_lock_held(nl_sim_stream *stream, const nl_sim_mark *mark, CUresult *status);
CUresult nl_sim_capture_refuse_mark_lock_held(const nl_sim_mark *mark);

/* A copy of `size` bytes of an operation, which is in no stream yet. */
nl_sim_op *nl_sim_op_copy(const nl_sim_op *op, size_t size);

void nl_sim_graph_destroy(nl_sim_graph *graph);
CUresult nl_sim_exec_create(const nl_sim_graph *graph, nl_sim_exec **exec);
void nl_sim_exec_destroy(nl_sim_exec *exec);
CUresult nl_sim_exec_launch(nl_sim_exec *exec, nl_sim_stream *stream);
/* The operation of a node of the graph, or NULL. */
const nl_sim_op *nl_sim_exec_find(const nl_sim_exec *exec, const void *node);
/* Another in its place. */
void nl_sim_exec_replace(nl_sim_exec *exec, const void *node, nl_sim_op *op);

#endif
