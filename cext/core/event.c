/* core/event: implements events by the driver's events. Events that are older than a device reset
 * are invalid: their use is an error, and destroying them frees only host memory. */
#include "core/event.h"

#include "base/mem.h"

static uint64_t live;

size_t nl_event_live(void) {
    return nl_atomic_load(&live);
}

int nl_event_create(nl_device *dev, int timing, nl_event **out, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_event *event = nl_mem_zalloc(sizeof *event, err);
    if (event == NULL)
        return -1;
    if (NL_CU(err, EventCreate, &event->handle, timing ? 0 : CU_EVENT_DISABLE_TIMING) < 0) {
        nl_mem_free(event);
        return -1;
    }
    event->device = dev;
    event->generation = nl_atomic_load(&dev->generation);
    nl_atomic_add(&live, 1);
    *out = event;
    return 0;
}

static void destroy_event(void *thing) {
    nl_event *event = thing;
    if (nl_device_bind_for_release(event->device, event->generation)) {
        nl_driver_print_failure(nl_cu.EventDestroy(event->handle), "cuEventDestroy");
    }
    nl_atomic_sub(&live, 1);
    nl_mem_free(event);
}

void nl_event_destroy(nl_event *event) {
    if (event != NULL && !nl_device_postpone_release(&event->later, destroy_event, event))
        destroy_event(event);
}

static int bind_event_device(nl_event *event, nl_error *err) {
    if (nl_device_check_generation(event->device, event->generation, err) < 0)
        return -1;
    return nl_device_bind(event->device, err);
}

int nl_event_record(nl_event *event, CUstream stream, nl_error *err) {
    if (bind_event_device(event, err) < 0)
        return -1;
    return NL_CU(err, EventRecord, event->handle, stream);
}

int nl_event_query(nl_event *event, int *done, nl_error *err) {
    if (bind_event_device(event, err) < 0)
        return -1;
    CUresult status = nl_cu.EventQuery(event->handle);
    *done = status == CUDA_SUCCESS;
    return status == CUDA_ERROR_NOT_READY ? 0 : nl_driver_check(status, "cuEventQuery", err);
}

int nl_event_synchronize(nl_event *event, nl_error *err) {
    if (bind_event_device(event, err) < 0)
        return -1;
    if (NL_CU(err, EventSynchronize, event->handle) < 0)
        return -1;
    nl_device_release_postponed();
    return 0;
}

/* The waiting stream may belong to another device than the event. The event's device is not bound,
 * because a default stream is that of the thread's current device. */
int nl_event_wait(nl_event *event, CUstream stream, nl_error *err) {
    if (nl_device_check_generation(event->device, event->generation, err) < 0)
        return -1;
    if (nl_device_current(err) == NULL)
        return -1;
    return NL_CU(err, StreamWaitEvent, stream, event->handle, 0);
}

int nl_event_elapsed(nl_event *start, nl_event *end, float *milliseconds, nl_error *err) {
    if (bind_event_device(start, err) < 0 || bind_event_device(end, err) < 0)
        return -1;
    if (NL_CU(err, EventElapsedTime, milliseconds, start->handle, end->handle) == 0)
        return 0;
    if (err->code == CUDA_ERROR_INVALID_HANDLE) {
        nl_error_prefix(err, "an event was not recorded yet, or was created without timing");
    } else if (err->code == CUDA_ERROR_NOT_READY) {
        nl_error_prefix(err, "an event has not happened yet: synchronize() with it first");
    }
    return -1;
}
