/* core/buffer: a piece of device memory with an owner.
 *
 * Device arrays and their views share one buffer by reference count. A buffer that only streams
 * ordered with the legacy default stream have used is freed in stream order (cuMemFreeAsync on stream
 * 0); one that another stream has touched (`foreign`) is freed by cuMemFree, which waits. So nothing
 * is reused while work needs it. */
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
    int foreign;                   /* set (never cleared) when a non-blocking stream uses it */
    int pooled;                    /* from cuMemAllocAsync */
    nl_buffer_finalizer finalizer; /* wrapped memory: called instead of freeing, may be NULL */
    void *owner;
};

/* size 0 gives address 0 and no driver call. */
int nl_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* Memory that belongs to someone else; finalizer(owner) runs with the last reference. */
int nl_buffer_wrap(nl_device *dev, CUdeviceptr address, size_t size, nl_buffer_finalizer finalizer,
                   void *owner, nl_buffer **out, nl_error *err);
void nl_buffer_retain(nl_buffer *buffer);
void nl_buffer_release(nl_buffer *buffer); /* accepts NULL; never raises */
size_t nl_buffer_live(void);               /* for leak tests */

#endif
