/* core/capture: captures of streams that are under way, in whatever thread, and what they touch.
 *
 * Captures are relaxed: what is put into streams outside of the capture just runs. But the default
 * stream may not be touched while a stream that is ordered with it is captured, so meanwhile memory
 * is allocated outside of the pool, and releases of anything are put off. */
#ifndef NL_CORE_CAPTURE_H
#define NL_CORE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"
#include "driver/driver.h"

/* Part of the graph that it becomes. */
typedef struct nl_capture {
    const void *device; /* whose stream it is */
    void *owner;        /* see nl_capture_owner */
    const void *thread; /* that began it */
    CUstream stream;
    unsigned long long id;
    CUresult invalidated; /* why what was captured is not complete */
    void **things;        /* that captured work uses, sorted by address */
    size_t count, capacity;
    struct nl_capture *next;
} nl_capture;

extern uint64_t nl_capture_count;
/* Is anything being captured in this process? */
static inline int nl_capture_under_way(void) {
    return __builtin_expect(nl_atomic_load(&nl_capture_count) != 0, 0);
}

/* Before the driver begins one: from here on nothing is freed on the default stream. And when it is
 * over; releases that have been put off are the caller's to make up for. */
void nl_capture_open(void);
void nl_capture_close(void);
/* Between them, from this thread: asks for the stream's number. -1 if the driver does not tell. */
int nl_capture_enter(nl_capture *capture, CUstream stream, nl_error *err);
/* No more work is noted, and the owner is needed no longer: 1, for the first who asks. */
int nl_capture_leave(nl_capture *capture);
int nl_capture_is_going(const nl_capture *capture);

/* The calling thread's work goes to a stream that another library captures. Then no device memory
 * is allocated: the graph does not own it, and would use it after its release. */
extern NL_THREAD_LOCAL int nl_capture_is_foreign;
/* Between them, this thread may make calls that a capture refuses otherwise, such as a wait for
 * work outside of it. `mode` is the thread's own mode. 0 or -1. */
int nl_capture_relax(int *mode, nl_error *err);
void nl_capture_restore(int mode);

/* The number of the stream's capture, by whomever; 0 if it is not captured. */
unsigned long long nl_capture_of(CUstream stream);
/* Is work on this stream being captured by one of ours? */
int nl_capture_has(CUstream stream);
/* The owner of that capture, on which `retain` has been called; NULL if there is none. */
void *nl_capture_owner(CUstream stream, void (*retain)(void *owner));
/* Is a stream of this device being captured by one of ours, in any thread? */
int nl_capture_is_on(const void *device);
/* Did the calling thread begin a capture that goes on? */
int nl_capture_is_here(void);
/* The stream that it captures, where work goes that names none; NULL: it captures none. */
CUstream nl_capture_stream(void);
/* Work on `stream` is going to use the thing: 1 if that is noted now, 2 if it was before, 0 if the
 * stream is not being captured. */
int nl_capture_note(CUstream stream, void *thing, nl_error *err);

#endif
