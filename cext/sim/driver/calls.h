/* sim/driver/calls: what the files of the simulated driver share. Each fills its part of the table
 * with thin functions that check arguments and answer as the real driver does; the work is in sim/.
 */
#ifndef NL_SIM_DRIVER_CALLS_H
#define NL_SIM_DRIVER_CALLS_H

#include "driver/driver.h"
#include "sim/driver/capture.h"
#include "sim/driver/context.h"
#include "sim/driver/inflight.h"
#include "sim/driver/outcome.h"

/* CUDA_ERROR_NOT_INITIALIZED before cuInit and in a forked child. */
CUresult nl_sim_calls_state(void);
/* Number of devices; ordinals below it are valid. */
int nl_sim_calls_has_device(CUdevice device);

void nl_sim_calls_fill_device(nl_driver *table);
void nl_sim_calls_fill_memory(nl_driver *table);
void nl_sim_calls_fill_ipc(nl_driver *table);
void nl_sim_calls_fill_copy(nl_driver *table);
void nl_sim_calls_fill_stream(nl_driver *table);
void nl_sim_calls_fill_module(nl_driver *table);
void nl_sim_calls_fill_launch(nl_driver *table);
void nl_sim_calls_fill_graph(nl_driver *table);

enum { NL_SIM_NOWHERE = -1, NL_SIM_REFUSED = -2 };
/* The device that a call is in, for nl_sim_calls_leave. */
static inline int nl_sim_calls_enter(void) {
    nl_sim_context *context = nl_sim_context_current();
    if (!context)
        return NL_SIM_NOWHERE;
    return nl_sim_inflight_enter(context->device) ? context->device : NL_SIM_REFUSED;
}
static inline void nl_sim_calls_leave(const int *device) {
    if (*device >= 0)
        nl_sim_inflight_leave(*device);
}

/* First in every call. What an earlier call of this thread reported is no longer the last fault. */
#define NL_SIM_BEGIN() \
    int inside_ __attribute__((cleanup(nl_sim_calls_leave))) = nl_sim_calls_enter(); \
    do { \
        CUresult state_ = nl_sim_calls_state(); \
        if (state_ != CUDA_SUCCESS) \
            return state_; \
        if (inside_ == NL_SIM_REFUSED) \
            return CUDA_ERROR_CONTEXT_IS_DESTROYED; \
        nl_sim_outcome_forget(); \
    } while (0)

/* The same for calls that need a context: declares `context`. */
#define NL_SIM_BEGIN_IN(context) \
    NL_SIM_BEGIN(); \
    nl_sim_context *context = nl_sim_context_current(); \
    if (!context) \
    return CUDA_ERROR_INVALID_CONTEXT

/* Declares `stream` for a handle. */
#define NL_SIM_ANY_STREAM(stream, context, handle) \
    nl_sim_stream *stream = nl_sim_context_stream(context, handle); \
    if (!stream) \
    return CUDA_ERROR_INVALID_HANDLE

#define NL_SIM_CHECK(call) \
    do { \
        CUresult checked_ = (call); \
        if (checked_ != CUDA_SUCCESS) \
            return checked_; \
    } while (0)

/* The same for calls that give it work, which captures may forbid. */
#define NL_SIM_STREAM(stream, context, handle) \
    NL_SIM_ANY_STREAM(stream, context, handle); \
    NL_SIM_CHECK(nl_sim_capture_admit(stream))

#define NL_SIM_REQUIRE(condition) \
    do { \
        if (!(condition)) \
            return CUDA_ERROR_INVALID_VALUE; \
    } while (0)

#endif
