/* core/buffer: a piece of device memory with an owner.
 *
 * Device arrays and their views share one buffer by reference count. With the last reference the
 * memory goes into the device's cache (core/pool), from where the next buffer of about that size
 * takes it without a driver call. A buffer remembers which streams have used it, as far as that
 * matters: the default stream alone, streams ordered with it, others. By that it is ready at once,
 * when the default stream has joined the ordered ones, or when the device has been idle. So nothing
 * is reused while work needs it, and releasing never waits. */
#ifndef NL_CORE_BUFFER_H
#define NL_CORE_BUFFER_H

#include "core/device.h"

typedef struct nl_buffer nl_buffer;
typedef void (*nl_buffer_finalizer)(void *owner);

enum {                        /* besides the default stream, it was used by */
       NL_BUFFER_JOINED = 1,  /* streams ordered with the legacy default stream */
       NL_BUFFER_FOREIGN = 2, /* other streams, or by nobody knows whom */
       NL_BUFFER_NOTED = 4,   /* no stream so far: a graph has its address */
};

struct nl_buffer {
    nl_block block; /* capacity: what was allocated */
    uint64_t references;
    CUdeviceptr address; /* 0 for size 0 */
    size_t size;
    nl_device *device;
    uint64_t users;
    int wrapped;         /* belongs to someone else */
    int pooled;          /* from cuMemAllocAsync */
    uint64_t ticket;     /* 0, or the number of its allocation in the default stream's order */
    uint64_t generation; /* of the device */
    nl_postponed later;
    nl_buffer_finalizer finalizer; /* wrapped memory: called instead of freeing, may be NULL */
    void *owner;
};

/* size 0 gives address 0 and no driver call. May wait for the device. */
int nl_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* The same past nl_buffer_set_allocator. */
int nl_buffer_alloc_own(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* nl_buffer_alloc where that takes no driver call: from the cache. Else NULL. dev must be bound. */
nl_buffer *nl_buffer_take(nl_device *dev, size_t size);
/* Memory that belongs to someone else; finalizer(owner) runs with the last reference. */
int nl_buffer_wrap(nl_device *dev, CUdeviceptr address, size_t size, nl_buffer_finalizer finalizer,
                   void *owner, nl_buffer **out, nl_error *err);
void nl_buffer_retain(nl_buffer *buffer);
void nl_buffer_release(nl_buffer *buffer); /* accepts NULL; never raises */
/* In two steps: the first makes no driver call and calls no finalizer; where one is needed it
 * returns the buffer, for the second. Accepts NULL. */
nl_buffer *nl_buffer_drop(nl_buffer *buffer);
void nl_buffer_destroy(nl_buffer *dropped);

int nl_buffer_use_elsewhere(nl_buffer *buffer, CUstream stream, int blocking, nl_error *err);
/* To be called before work on `stream` touches the buffer. `blocking`: the stream is ordered with
 * the legacy default stream. Otherwise the stream is made to wait for its allocation. Never waits
 * itself. */
static inline int nl_buffer_use(nl_buffer *buffer, CUstream stream, int blocking, nl_error *err) {
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_LEGACY)
        return 0;
    return nl_buffer_use_elsewhere(buffer, stream, blocking, err);
}
/* An upload on the default stream may not be complete: the next use of any buffer on a stream that
 * is not ordered with the default stream waits for it. */
void nl_buffer_note_upload(nl_device *dev);
/* Its address was given away: whoever has it may use any stream. */
void nl_buffer_expose(nl_buffer *buffer);
/* A graph will use it whose owner keeps it: it must stay where it is. */
void nl_buffer_fix(nl_buffer *buffer);
/* Everything that used it has been waited for. */
void nl_buffer_settle(nl_buffer *buffer);

/* Gives what is cached back to the system: all but `keep` bytes. Waits for the device. */
int nl_buffer_trim(nl_device *dev, size_t keep, nl_error *err);
/* The process ends: what is cached is given back, so that tools which look for leaks find none.
 * Does not wait, for a kernel may run for ever, and calls no finalizers. */
void nl_buffer_exit(void);
/* Memory from somebody else's allocator, for every device: fills *out with a wrapped buffer. NULL:
 * none. */
typedef int (*nl_buffer_allocator)(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
void nl_buffer_set_allocator(nl_buffer_allocator allocator);
size_t nl_buffer_live(void); /* for leak tests */

#endif
