/* sim/driver/call: the prologue of every driver call, which checks its arguments and finds its
 * context and stream. */
#ifndef NL_SIM_DRIVER_CALL_H
#define NL_SIM_DRIVER_CALL_H

#include "sim/driver/capture.h"
#include "sim/driver/context.h"
#include "sim/driver/inflight.h"
#include "sim/driver/lasterror.h"

/* cuInit calls nl_sim_call_initialise. Before cuInit, and in a forked child, nl_sim_call_state
 * returns CUDA_ERROR_NOT_INITIALIZED, otherwise CUDA_SUCCESS. */
CUresult nl_sim_call_initialise(void);
CUresult nl_sim_call_state(void);
/* Returns whether `device` is the ordinal of a simulated device. */
int nl_sim_call_has_device(CUdevice device);
/* Returns the stream of a stream argument of the calling thread, or NULL if the argument is
 * invalid. */
nl_sim_stream *nl_sim_call_stream(nl_sim_context *context, CUstream handle);

enum { NL_SIM_NOWHERE = -1, NL_SIM_REFUSED = -2 };
/* Adds one to the calls in progress of the current context's device. Returns the device to pass to
 * nl_sim_call_leave. */
static inline int nl_sim_call_enter(void) {
    nl_sim_context *context = nl_sim_context_current();
    if (!context)
        return NL_SIM_NOWHERE;
    return nl_sim_inflight_begin_call(context->device) ? context->device : NL_SIM_REFUSED;
}
static inline void nl_sim_call_leave(const int *device) {
    if (*device >= 0)
        nl_sim_inflight_end_call(*device);
}

/* NL_SIM_BEGIN must be the first statement of every driver call; it clears the calling thread's
 * last error. */
#define NL_SIM_BEGIN() \
    int inside_ __attribute__((cleanup(nl_sim_call_leave))) = nl_sim_call_enter(); \
    do { \
        CUresult state_ = nl_sim_call_state(); \
        if (state_ != CUDA_SUCCESS) \
            return state_; \
        if (inside_ == NL_SIM_REFUSED) \
            return CUDA_ERROR_CONTEXT_IS_DESTROYED; \
        nl_sim_lasterror_clear(); \
    } while (0)

/* A variant of NL_SIM_BEGIN for calls that need a context: declares `context`, the calling thread's
 * current context. */
#define NL_SIM_BEGIN_IN(context) \
    NL_SIM_BEGIN(); \
    nl_sim_context *context = nl_sim_context_current(); \
    if (!context) \
    return CUDA_ERROR_INVALID_CONTEXT

/* Declares the variable `stream`, the stream of a handle. */
#define NL_SIM_ANY_STREAM(stream, context, handle) \
    nl_sim_stream *stream = nl_sim_call_stream(context, handle); \
    if (!stream) \
    return CUDA_ERROR_INVALID_HANDLE

#define NL_SIM_CHECK(call) \
    do { \
        CUresult checked_ = (call); \
        if (checked_ != CUDA_SUCCESS) \
            return checked_; \
    } while (0)

/* A variant of NL_SIM_ANY_STREAM for calls that enqueue work in the stream: it also returns the
 * error if a capture forbids the work. */
#define NL_SIM_STREAM(stream, context, handle) \
    NL_SIM_ANY_STREAM(stream, context, handle); \
    NL_SIM_CHECK(nl_sim_capture_admit_operation(stream))

#define NL_SIM_REQUIRE(condition) \
    do { \
        if (!(condition)) \
            return CUDA_ERROR_INVALID_VALUE; \
    } while (0)

#endif
