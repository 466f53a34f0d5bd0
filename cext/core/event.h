/* core/event: CUDA events, each of which marks a position in the work of a stream. */
#ifndef NL_CORE_EVENT_H
#define NL_CORE_EVENT_H

#include "core/device.h"

typedef struct nl_event {
    CUevent handle;
    nl_device *device;
    uint64_t generation; /* of the device */
    nl_postponed later;
} nl_event;

int nl_event_create(nl_device *dev, int timing, nl_event **out, nl_error *err);
void nl_event_destroy(nl_event *event); /* accepts NULL */
int nl_event_record(nl_event *event, CUstream stream, nl_error *err);
int nl_event_query(nl_event *event, int *done, nl_error *err);
int nl_event_synchronize(nl_event *event, nl_error *err);
int nl_event_wait(nl_event *event, CUstream stream, nl_error *err);
int nl_event_elapsed(nl_event *start, nl_event *end, float *milliseconds, nl_error *err);
size_t nl_event_live(void); /* for leak tests */

#endif
