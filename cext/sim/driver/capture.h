/* sim/driver/capture: recording a stream's operations instead of running them.
 *
 * While a stream is being captured, what is issued to it goes into a graph. An event recorded there
 * and waited for by another stream draws that stream into the capture (a fork); the graph keeps the
 * order of issue, which is one of the orders that the streams and events allow. What the real
 * driver forbids meanwhile is forbidden here, with its own statuses. */
#ifndef NL_SIM_DRIVER_CAPTURE_H
#define NL_SIM_DRIVER_CAPTURE_H

#include "sim/driver/graph.h"
#include "sim/driver/streams.h"

typedef struct nl_sim_capture nl_sim_capture;

CUresult nl_sim_capture_begin(nl_sim_stream *stream);
CUresult nl_sim_capture_end(nl_sim_stream *stream, nl_sim_graph **graph);
/* status, and for an active capture the rest; each may be NULL. */
CUresult nl_sim_capture_info(nl_sim_stream *stream, int *status, unsigned long long *id,
                             nl_sim_graph **graph, const CUgraphNode **nodes, size_t *count);
int nl_sim_capture_has(nl_sim_stream *stream);
/* May the stream be given work, or be waited for? For nl_sim_capture_refuse also: it is not being
 * captured. Where not, the capture that forbids it is invalidated. */
CUresult nl_sim_capture_admit(nl_sim_stream *stream);
CUresult nl_sim_capture_refuse(nl_sim_stream *stream);
CUresult nl_sim_capture_refuse_context(nl_sim_context *context);

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

#endif
