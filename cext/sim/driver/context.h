/* sim/driver/context: the contexts of simulated devices, one for each device, and the current
 * context of a thread. */
#ifndef NL_SIM_DRIVER_CONTEXT_H
#define NL_SIM_DRIVER_CONTEXT_H

#include <stdint.h>
#include "base/fault.h"
#include "driver/cuda_abi.h"

typedef struct nl_sim_stream nl_sim_stream;

/* A fault of the context that was not yet reported. */
typedef struct nl_sim_pending {
    CUresult status; /* CUDA_SUCCESS: no fault */
    uint64_t id;
    nl_fault *fault; /* details of the fault; NULL if memory ran out */
} nl_sim_pending;

typedef struct nl_sim_context {
    int device;
    uint64_t retained; /* reference count; 0: not active */
    uint64_t epoch;    /* a number that increases when the context is destroyed */
    size_t stack_limit, printf_limit;
    uint64_t release_threshold;
    uint64_t pool_used, pool_high; /* bytes allocated from the pool */
    /* the lock of all streams protects the following members */
    nl_sim_stream *streams, *legacy;
    nl_sim_pending fault; /* of a destroyed stream */
} nl_sim_context;

int nl_sim_context_count(void);
void nl_sim_context_set_count(int count);
nl_sim_context *nl_sim_context_at(int device);
int nl_sim_context_is_handle(const void *handle);

/* Returns the calling thread's current context, or NULL. */
nl_sim_context *nl_sim_context_current(void);
void nl_sim_context_set_current(nl_sim_context *context);

/* Returns whether this is a forked child of the process that opened the simulator. In a forked
 * child, all driver calls return an error. */
int nl_sim_context_is_forked(void);
void nl_sim_context_reset_in_child(void); /* call this in a forked child */

#endif
