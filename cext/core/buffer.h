/* core/buffer: a piece of device memory with an owner.
 *
 * Device arrays and their views share one buffer by reference count. A buffer that only streams
 * ordered with the legacy default stream have used is freed in stream order (cuMemFreeAsync on
 * stream 0); one that another stream has touched (`foreign`) is freed after the device is idle. So
 * nothing is reused while work needs it. */
#ifndef NL_CORE_BUFFER_H
#define NL_CORE_BUFFER_H

#include "core/device.h"

typedef struct nl_buffer nl_buffer;
typedef void (*nl_buffer_finalizer)(void *owner);

struct nl_buffer {
    uint64_t references;
    CUdeviceptr address; /* 0 for size 0 */
    size_t size;
    nl_device *device;
    uint64_t foreign;    /* set (never cleared) when a non-blocking stream uses it */
    int wrapped;         /* belongs to someone else */
    int pooled;          /* from cuMemAllocAsync */
    uint64_t ticket;     /* pooled: the number of its allocation on the device */
    uint64_t generation; /* of the device */
    nl_postponed later;
    nl_buffer_finalizer finalizer; /* wrapped memory: called instead of freeing, may be NULL */
    void *owner;
};

/* size 0 gives address 0 and no driver call. */
int nl_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* Memory that belongs to someone else; finalizer(owner) runs with the last reference. */
int nl_buffer_wrap(nl_device *dev, CUdeviceptr address, size_t size, nl_buffer_finalizer finalizer,
                   void *owner, nl_buffer **out, nl_error *err);
void nl_buffer_retain(nl_buffer *buffer);
void nl_buffer_release(nl_buffer *buffer); /* accepts NULL; never raises; may wait for the device */
/* To be called before work on `stream` touches the buffer. `blocking`: the stream is ordered with
 * the legacy default stream; then there is nothing to do. Otherwise the buffer becomes foreign, and
 * the stream is made to wait for its allocation. Never waits itself. */
int nl_buffer_use(nl_buffer *buffer, CUstream stream, int blocking, nl_error *err);
size_t nl_buffer_live(void); /* for leak tests */

#endif
