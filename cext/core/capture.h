/* core/capture: active stream captures of all threads, and the objects that they use.
 *
 * Captures use relaxed mode: work on streams outside the capture runs normally. However, the
 * default stream must not be used while a stream that is ordered with the default stream is
 * captured. During a capture, memory is therefore allocated without the driver's pool, and releases
 * of all objects are postponed. */
#ifndef NL_CORE_CAPTURE_H
#define NL_CORE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"
#include "driver/driver.h"

/* A capture; member of the graph that the capture creates. */
typedef struct nl_capture {
    const void *device; /* of the stream */
    void *owner;        /* see nl_capture_retain_owner */
    const void *thread; /* the thread that began the capture */
    CUstream stream;
    unsigned long long id;
    CUresult invalidated; /* the error that made the capture incomplete */
    void **things;        /* objects that captured work uses, sorted by address */
    size_t count, capacity;
    struct nl_capture *next;
} nl_capture;

extern uint64_t nl_capture_count;
/* Returns whether this process is capturing a stream. */
static inline int nl_capture_is_any_active(void) {
    return __builtin_expect(nl_atomic_load(&nl_capture_count) != 0, 0);
}

/* Call nl_capture_open before the driver begins a capture: from then on, no memory is freed on the
 * default stream. Call nl_capture_close after the capture, and then execute the postponed
 * releases. */
void nl_capture_open(void);
void nl_capture_close(void);
/* Reads the stream's capture id and adds the capture to the list. Call this function between
 * nl_capture_open and nl_capture_close, in the thread that captures. Returns -1 if the driver call
 * fails. */
int nl_capture_register(nl_capture *capture, CUstream stream, nl_error *err);
/* Removes the capture from the list: no more objects are recorded, and `owner` is no longer used.
 * Returns 1 when called for the first time, later 0. */
int nl_capture_unregister(nl_capture *capture);
int nl_capture_is_active(const nl_capture *capture);

/* Records whether the calling thread is using a stream that another library captures. During such
 * use, no device memory is allocated, because the graph of the other library does not own the
 * memory and would use it after its release. */
extern NL_THREAD_LOCAL int nl_capture_is_foreign;
/* Between nl_capture_relax_mode and nl_capture_restore_mode, the calling thread may make calls that
 * are not allowed during a capture, such as a wait for work outside it. `mode` receives the
 * thread's previous mode. Returns 0 or -1. */
int nl_capture_relax_mode(int *mode, nl_error *err);
void nl_capture_restore_mode(int mode);

/* Returns the id of the stream's capture, also if another library captures it, or 0 if the stream
 * is not captured. */
unsigned long long nl_capture_id_of_stream(CUstream stream);
/* Returns whether this library is capturing the stream. */
int nl_capture_has_stream(CUstream stream);
/* Returns the owner of the stream's capture, after calling retain(owner), or NULL if there is
 * none. */
void *nl_capture_retain_owner(CUstream stream, void (*retain)(void *owner));
/* Returns whether this library is capturing a stream of the device, in any thread. */
int nl_capture_is_on_device(const void *device);
/* Returns whether the calling thread is capturing a stream. */
int nl_capture_is_active_in_thread(void);
/* Returns the stream that the calling thread captures, which is used for work without an explicit
 * stream, or NULL if this library is not capturing the stream. */
CUstream nl_capture_stream_of_thread(void);
/* Records that work on `stream` uses the object. Returns 1 if the object was added, 2 if it was
 * already recorded, 0 if the stream is not being captured, -1 on an error. */
int nl_capture_keep_alive(CUstream stream, void *thing, nl_error *err);

#endif
