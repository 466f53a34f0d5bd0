/* core/stream: streams, which are reference-counted. Only core/stream creates and destroys driver
 * streams. */
#ifndef NL_CORE_STREAM_H
#define NL_CORE_STREAM_H

#include "core/device.h"

typedef struct nl_stream {
    uint64_t references;
    CUstream handle;
    nl_device *device;
    int owned;           /* destroyed with the last reference */
    uint64_t order;      /* see nl_stream_read_blocking */
    uint64_t generation; /* of the device */
    unsigned number;     /* index among the created streams, which reports contain, or 0 for a
                          * wrapped stream */
    nl_postponed later;
} nl_stream;

int nl_stream_create(nl_device *dev, unsigned flags, int priority, nl_stream **out, nl_error *err);
/* Wraps a handle: 0, 1 (legacy), 2 (per thread) or a CUstream of another owner, which this library
 * never destroys. The function makes no driver call, so the use of an invalid handle is an error,
 * but not its wrapping. */
int nl_stream_wrap(nl_device *dev, CUstream handle, nl_stream **out, nl_error *err);
void nl_stream_retain(nl_stream *stream);
void nl_stream_release(nl_stream *stream); /* accepts NULL */
int nl_stream_synchronize(nl_stream *stream, nl_error *err);
int nl_stream_query(nl_stream *stream, int *done, nl_error *err);
int nl_stream_priority(nl_stream *stream, int *priority, nl_error *err);
/* Sets *blocking to whether the stream is ordered with the legacy default stream. */
int nl_stream_read_blocking(nl_stream *stream, int *blocking, nl_error *err);
/* Sets *blocking like nl_stream_read_blocking, for any stream handle, also of another library. */
int nl_stream_read_handle_blocking(CUstream handle, int *blocking, nl_error *err);
/* Makes later work on `after` wait for all work already submitted to `before`, by an event: the
 * host does not wait. NULL is the default stream. */
int nl_stream_order_after(nl_device *dev, CUstream after, CUstream before, nl_error *err);
/* Sets *captured to whether any library is capturing the stream. */
int nl_stream_is_captured(nl_device *dev, CUstream handle, int *captured, nl_error *err);
/* Treats a wrapped stream as not ordered with the legacy default stream, without reading its flags,
 * because a driver query could invalidate a capture. */
void nl_stream_assume_unordered(nl_stream *stream);
/* Returns whether this process has used a stream that is not ordered with the legacy default
 * stream. */
int nl_stream_unordered_seen(void);
size_t nl_stream_live_count(void); /* for leak tests */

#endif
