/* core/wait: the driver is asked again and again whether it is done, as its own waiting would do.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/wait.h"

#include <time.h>
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/lock.h"
#include "core/capture.h"

enum { NAP_NS = 100000 }; /* between questions, once it has taken longer than NL_INTERRUPT_NS */

static uint32_t ended;

void nl_wait_give_up(void) {
    nl_atomic_store32(&ended, 1);
}

typedef CUresult query_fn(void *handle);

static CUresult query_stream(void *handle) {
    return nl_cu.StreamQuery(handle);
}
static CUresult query_event(void *handle) {
    return nl_cu.EventQuery(handle);
}

/* 0 when there is nothing more to wait for, or it must be waited for in the driver's own way.
 *
 * In a thread that captures nothing is asked, because a question may invalidate the capture, and
 * another status may come of the second call. What a question has answered is the answer for the
 * same reason. */
static int wait(query_fn *query, void *handle, const char *call, nl_error *err) {
    CUresult status;
    uint64_t begun = 0, asked = 0;
    if (nl_cu.ends_waits || !nl_interrupt_is_possible(0) || nl_capture_is_here())
        return 0;
    while ((status = query(handle)) == CUDA_ERROR_NOT_READY) {
        uint64_t time = nl_clock_ns();
        if (begun == 0)
            begun = asked = time;
        if (time - asked >= NL_INTERRUPT_NS && nl_interrupt_is_requested()) {
            nl_wait_give_up();
            nl_interrupt_report("only the wait has ended: what runs on the GPU goes on");
            return nl_error_set(err, NL_ERR_RUNTIME, "interrupted");
        }
        if (time - asked >= NL_INTERRUPT_NS)
            asked = time;
        if (time - begun >= NL_INTERRUPT_NS)
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        else
            nl_thread_pause();
    }
    return nl_driver_check(status, call, err);
}

/* The driver's own call comes last in any case: it prints what kernels have printed. */

int nl_wait_stream(CUstream stream, nl_error *err) {
    return wait(query_stream, stream, "cuStreamSynchronize", err) < 0
               ? -1
               : NL_CU(err, StreamSynchronize, stream);
}

int nl_wait_event(CUevent event, nl_error *err) {
    return wait(query_event, event, "cuEventSynchronize", err) < 0
               ? -1
               : NL_CU(err, EventSynchronize, event);
}

/* The default stream is done when all that are ordered with it are; few are not. */
int nl_wait_context(nl_error *err) {
    return wait(query_stream, NULL, "cuCtxSynchronize", err) < 0 ? -1 : NL_CU0(err, CtxSynchronize);
}

int nl_wait_was_ended(void) {
    return (int)nl_atomic_load32(&ended);
}
