/* sim/driver/context: the simulated devices' contexts, one for each, and which is current. */
#ifndef NL_SIM_DRIVER_CONTEXT_H
#define NL_SIM_DRIVER_CONTEXT_H

#include <stdint.h>
#include "base/fault.h"
#include "driver/cuda_abi.h"

typedef struct nl_sim_stream nl_sim_stream;

/* A fault that nobody has been told of yet. */
typedef struct nl_sim_pending {
    CUresult status; /* CUDA_SUCCESS: there is none */
    uint64_t id;
    nl_fault *fault; /* NULL: there was no memory for it */
} nl_sim_pending;

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

int nl_sim_context_count(void);
void nl_sim_context_set_count(int count);
nl_sim_context *nl_sim_context_at(int device);
int nl_sim_context_is(const void *handle);

/* Of the calling thread; NULL if it has none. */
nl_sim_context *nl_sim_context_current(void);
void nl_sim_context_set_current(nl_sim_context *context);

/* Are we in a child of the process that opened the simulator? Then nothing works any more. */
int nl_sim_context_forked(void);
void nl_sim_context_forget(void); /* in that child */

#endif
