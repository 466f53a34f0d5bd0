/* core/graph: work of a stream, captured once and launched any number of times.
 *
 * While a capture is under way (core/capture.h) its graph notes the buffers that captured work
 * touches and keeps them; a launch makes its stream come after their allocations, as any other use
 * does. */
#ifndef NL_CORE_GRAPH_H
#define NL_CORE_GRAPH_H

#include "core/buffer.h"
#include "core/capture.h"
#include "core/launch.h"
#include "core/stream.h"

typedef struct nl_graph {
    uint64_t references;
    nl_device *device;
    uint64_t generation; /* of the device */
    nl_stream *stream;   /* that is captured; held until the capture ends */
    nl_capture capture;  /* its things are buffers, retained */
    CUgraph handle;
    CUgraphExec exec;
    uint64_t updated;      /* launches have got other arguments than it has noted */
    uint64_t touches_host; /* copies from or to host memory are in it */
    nl_event *done;        /* recorded after each launch, if so */
    nl_mutex lock;         /* of `exec`: the driver wants one call at a time */
    nl_postponed later;
} nl_graph;

/* Begins. `owner` has to stay alive until nl_graph_leave. */
int nl_graph_begin(nl_stream *stream, void *owner, nl_graph **out, nl_error *err);
/* No more work is noted, and the owner is needed no longer: 1, for the first who asks. He has to
 * call one of the next two. */
int nl_graph_leave(nl_graph *graph);
/* Ends the capture and makes it launchable; on failure the capture is over too. */
int nl_graph_end(nl_graph *graph, nl_error *err);
/* Ends the capture and forgets what was captured. */
void nl_graph_abandon(nl_graph *graph);
/* Is its capture under way? */
int nl_graph_is_going(nl_graph *graph);
void nl_graph_retain(nl_graph *graph);
void nl_graph_release(nl_graph *graph); /* accepts NULL; of one whose capture is over */
size_t nl_graph_live(void);             /* for leak tests */

/* The operation that was captured last on this stream. */
int nl_graph_last_node(CUstream stream, CUgraphNode *node, nl_error *err);

/* Launches. `blocking`: the stream is ordered with the legacy default stream. */
int nl_graph_launch(nl_graph *graph, CUstream stream, int blocking, nl_error *err);
/* Brings what launching needs to the device, so that the first launch is no slower. */
int nl_graph_upload(nl_graph *graph, CUstream stream, nl_error *err);
/* Other arguments for a captured launch of `kernel`. */
int nl_graph_set_values(nl_graph *graph, CUgraphNode node, const nl_kernel *kernel,
                        const nl_launch *shape, void **values, nl_error *err);
/* Waits for the launches so far, if they use host memory. */
void nl_graph_settle(nl_graph *graph);

#endif
