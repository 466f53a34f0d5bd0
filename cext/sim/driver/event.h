/* sim/driver/event: CUDA events. */
#ifndef NL_SIM_DRIVER_EVENT_H
#define NL_SIM_DRIVER_EVENT_H

#include "sim/driver/streams.h"

typedef struct nl_sim_event nl_sim_event;

nl_sim_event *nl_sim_event_create(nl_sim_context *context, unsigned flags);
void nl_sim_event_close(nl_sim_event *event);
nl_sim_context *nl_sim_event_context(const nl_sim_event *event);
CUresult nl_sim_event_record(nl_sim_event *event, nl_sim_stream *stream);
CUresult nl_sim_event_enqueue_wait(nl_sim_stream *stream, nl_sim_event *event);
/* Returns CUDA_ERROR_CAPTURED_EVENT if the event was recorded in a capture, else CUDA_SUCCESS. */
CUresult nl_sim_event_check_query(nl_sim_event *event);
int nl_sim_event_is_done(nl_sim_event *event);
CUresult nl_sim_event_wait(nl_sim_event *event); /* also reports a fault of the event's stream */
CUresult nl_sim_event_elapsed(nl_sim_event *start, nl_sim_event *end, float *milliseconds);

#endif
