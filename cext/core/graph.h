/* core/graph: work of a stream that is captured once and can be launched repeatedly.
 *
 * During a capture (core/capture.h), the graph records and retains the buffers that captured work
 * uses. A launch makes its stream wait for the allocation of these buffers, like any other use. */
#ifndef NL_CORE_GRAPH_H
#define NL_CORE_GRAPH_H

#include "core/buffer.h"
#include "core/capture.h"
#include "core/event.h"
#include "core/launch.h"
#include "core/stream.h"

typedef struct nl_graph {
    uint64_t references;
    nl_device *device;
    uint64_t generation; /* of the device */
    nl_stream *stream;   /* the captured stream; retained until the capture ends */
    nl_capture capture;  /* its `things` are retained buffers */
    CUgraph handle;
    CUgraphExec exec;
    uint64_t updated;      /* set if nl_graph_set_arguments has changed arguments */
    uint64_t touches_host; /* set if the graph contains copies from or to host memory */
    nl_event *done;        /* recorded after each launch, if touches_host */
    nl_mutex lock;         /* protects `exec`: the driver allows one call at a time */
    nl_postponed later;
} nl_graph;

/* Begins a capture. `owner` must stay alive until nl_graph_stop_recording. */
int nl_graph_begin(nl_stream *stream, void *owner, nl_graph **out, nl_error *err);
/* Stops recording objects; `owner` is no longer used. Returns 1 when called for the first time,
 * later 0. If the result is 1, the caller must call nl_graph_end or nl_graph_abandon. */
int nl_graph_stop_recording(nl_graph *graph);
/* Ends the capture and makes the graph launchable. The capture has ended even if nl_graph_end
 * returns an error. */
int nl_graph_end(nl_graph *graph, nl_error *err);
/* Ends the capture and discards the captured work. */
void nl_graph_abandon(nl_graph *graph);
/* Returns whether the capture is active. */
int nl_graph_is_capturing(nl_graph *graph);
void nl_graph_retain(nl_graph *graph);
void nl_graph_release(nl_graph *graph); /* accepts NULL; the capture must be over */
size_t nl_graph_live_count(void);       /* for leak tests */

/* Sets *node to the last captured operation of this stream. */
int nl_graph_last_node(CUstream stream, CUgraphNode *node, nl_error *err);

/* Launches the graph. `blocking` is set if the stream is ordered with the legacy default stream. */
int nl_graph_launch(nl_graph *graph, CUstream stream, int blocking, nl_error *err);
/* Copies the launch data to the device, so that the first launch is as fast as later ones. */
int nl_graph_upload(nl_graph *graph, CUstream stream, nl_error *err);
/* Changes the arguments of a captured launch of `kernel`. */
int nl_graph_set_arguments(nl_graph *graph, CUgraphNode node, const nl_kernel *kernel,
                           const nl_launch *shape, void **values, nl_error *err);
/* Waits for earlier launches of the graph if they use host memory. */
void nl_graph_wait_for_launches(nl_graph *graph);

#endif
