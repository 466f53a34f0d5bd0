/* sim/driver/context: the simulated devices, each with its one (primary) context, and which is
 * current. */
#ifndef NL_SIM_DRIVER_CONTEXT_H
#define NL_SIM_DRIVER_CONTEXT_H

#include "sim/driver/stream.h"

typedef struct nl_sim_context {
    int device;
    uint64_t retained; /* 0: not active */
    uint64_t epoch;    /* goes up when the context is destroyed */
    size_t stack_limit, printf_limit;
    uint64_t release_threshold;
    uint64_t pool_used, pool_high; /* bytes from asynchronous allocation */
    /* under the lock of all streams: */
    nl_sim_stream *streams, *legacy;
    nl_sim_pending fault; /* of a stream that is gone */
} nl_sim_context;

int nl_sim_context_open(int devices);
int nl_sim_context_count(void);
nl_sim_context *nl_sim_context_at(int device);
int nl_sim_context_is(const void *handle);
CUresult nl_sim_context_retain(int device, nl_sim_context **out);
CUresult nl_sim_context_release(int device);
/* Waits for everything and destroys all that was made in it; it stays retained as often as it was.
 */
void nl_sim_context_reset(nl_sim_context *context);

/* Of the calling thread; NULL if it has none. */
nl_sim_context *nl_sim_context_current(void);
void nl_sim_context_set_current(nl_sim_context *context);
/* What a stream argument means to the calling thread; NULL if it means nothing. */
nl_sim_stream *nl_sim_context_stream(nl_sim_context *context, CUstream handle);

/* Are we in a child of the process that opened the simulator? Then nothing works any more. */
int nl_sim_context_forked(void);

#endif
