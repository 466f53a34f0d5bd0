/* sim/driver/capture: records a stream's operations in a graph instead of running them.
 *
 * If another stream waits for an event that was recorded in a capture, that stream joins the
 * capture (a fork). The graph stores the order in which the operations were issued, which is one of
 * the orders that the streams and events allow. Calls that the real driver forbids during a capture
 * return its error codes. */
#ifndef NL_SIM_DRIVER_CAPTURE_H
#define NL_SIM_DRIVER_CAPTURE_H

#include "sim/driver/graph.h"
#include "sim/driver/streams.h"

typedef struct nl_sim_capture nl_sim_capture;

CUresult nl_sim_capture_begin(nl_sim_stream *stream);
CUresult nl_sim_capture_end(nl_sim_stream *stream, nl_sim_graph **graph);
/* Returns the capture status and, for an active capture, the other values; each pointer may be
 * NULL. */
CUresult nl_sim_capture_info(nl_sim_stream *stream, int *status, unsigned long long *id,
                             nl_sim_graph **graph, const CUgraphNode **nodes, size_t *count);
int nl_sim_capture_has_stream(nl_sim_stream *stream);
/* nl_sim_capture_admit_operation returns CUDA_SUCCESS if captures allow work and waits on the
 * stream, else the driver's error. nl_sim_capture_refuse_stream also returns an error if the stream
 * itself is being captured. If a capture forbids the call, the capture is invalidated. */
CUresult nl_sim_capture_admit_operation(nl_sim_stream *stream);
CUresult nl_sim_capture_refuse_stream(nl_sim_stream *stream);
CUresult nl_sim_capture_refuse_context(nl_sim_context *context);

/* Call the functions below with the lock of all streams held. */
void nl_sim_capture_add_op_lock_held(nl_sim_stream *stream, nl_sim_op *op);
/* Ends the capture of a stream whose handle is destroyed. */
void nl_sim_capture_remove_stream_lock_held(nl_sim_stream *stream);

/* A record of an event in a capture: the capture, and the position of the event in the captured
 * operations. */
typedef struct nl_sim_mark {
    nl_sim_capture *capture;
    nl_sim_stream *stream; /* the stream of the record; valid while the capture is active */
    uint64_t count;
} nl_sim_mark;

/* Records an event: returns 1 if the stream is being captured, otherwise clears the mark and
 * returns 0. */
int nl_sim_capture_set_mark_lock_held(nl_sim_stream *stream, nl_sim_mark *mark);
void nl_sim_capture_clear_mark_lock_held(nl_sim_mark *mark);
/* Makes a stream wait for the recorded event with this mark. Returns 1 and sets *status if the
 * event or the stream belongs to a capture, otherwise returns 0. */
int nl_sim_capture_wait_for_mark_lock_held(nl_sim_stream *stream, const nl_sim_mark *mark,
                                           CUresult *status);
CUresult nl_sim_capture_refuse_mark_lock_held(const nl_sim_mark *mark);

#endif
