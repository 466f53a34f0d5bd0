/* core/buffer: reference-counted device memory.
 *
 * A device array and its views share one buffer. When the last reference is released, the memory
 * goes to the device's cache (core/pool), and the next buffer of about that size reuses it without
 * a driver call. A buffer records which kinds of streams have used it: only the default stream,
 * streams ordered with it, or other streams. Depending on the kinds of streams, the memory of a
 * buffer can be reused immediately, after the default stream has joined the ordered streams, or
 * after the device has been idle. So no memory is reused while work uses it, and the release of a
 * buffer to the cache does not wait. */
#ifndef NL_CORE_BUFFER_H
#define NL_CORE_BUFFER_H

#include "core/device.h"

typedef struct nl_buffer nl_buffer;
typedef void (*nl_buffer_finalizer)(void *owner);

enum {                        /* flags: which streams besides the default stream have used the
                               * buffer */
       NL_BUFFER_JOINED = 1,  /* used on streams ordered with the legacy default stream */
       NL_BUFFER_FOREIGN = 2, /* other streams, or unknown ones */
       NL_BUFFER_NOTED = 4,   /* no stream has used the buffer yet, but a graph contains its
                               * address */
};

struct nl_buffer {
    nl_block block; /* capacity: the allocated bytes */
    uint64_t references;
    CUdeviceptr address; /* 0 for size 0 */
    size_t size;
    nl_device *device;
    uint64_t users;
    int wrapped;         /* set if the memory belongs to another owner */
    int pooled;          /* from cuMemAllocAsync */
    CUstream ordered;    /* the stream of nl_buffer_alloc_ordered, or NULL */
    uint64_t ticket;     /* 0, or the sequence number of the buffer's allocation on the default
                          * stream */
    uint64_t generation; /* of `device` */
    nl_postponed later;
    nl_buffer_finalizer finalizer; /* for wrapped memory, the function to call instead of freeing
                                    * it; may be NULL */
    void *owner;
};

/* Allocates `size` bytes. For size 0, the address is 0 and no driver call is made. May wait for the
 * device. */
int nl_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* Allocates memory like nl_buffer_alloc, but ignores the allocator of nl_buffer_set_allocator. */
int nl_buffer_alloc_pooled(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
/* Allocates memory for work on one explicit stream only, in the order of that stream: the stream
 * does not wait for other streams, and no stream waits for it. The memory of this buffer does not
 * need nl_buffer_order_with_stream, and is freed in the order of the stream, which must exist until
 * the last reference is released. Without the driver's pool, this function calls nl_buffer_alloc,
 * then nl_buffer_order_with_stream. */
int nl_buffer_alloc_ordered(nl_device *dev, size_t size, CUstream stream, int blocking,
                            nl_buffer **out, nl_error *err);
/* Gets a buffer from the cache, without a driver call. Returns NULL if the cache has no suitable
 * block. dev must be bound. */
nl_buffer *nl_buffer_reuse(nl_device *dev, size_t size);
/* Makes a buffer for memory of another owner. finalizer(owner) is called when the last reference is
 * released. */
int nl_buffer_wrap_memory(nl_device *dev, CUdeviceptr address, size_t size,
                          nl_buffer_finalizer finalizer, void *owner, nl_buffer **out,
                          nl_error *err);
void nl_buffer_retain(nl_buffer *buffer);
void nl_buffer_release(nl_buffer *buffer); /* accepts NULL; never fails */
/* The steps of nl_buffer_release. nl_buffer_drop_reference releases a reference without making
 * driver calls or calling finalizers. If driver calls or a finalizer are needed,
 * nl_buffer_drop_reference returns the buffer, which the caller must pass to nl_buffer_destroy.
 * Both functions accept NULL. */
nl_buffer *nl_buffer_drop_reference(nl_buffer *buffer);
void nl_buffer_destroy(nl_buffer *dropped);

int nl_buffer_order_with_other_stream(nl_buffer *buffer, CUstream stream, int blocking,
                                      nl_error *err);
/* Call nl_buffer_order_with_stream before work on `stream` accesses the buffer. `blocking` is set
 * if the stream is ordered with the legacy default stream. Makes a stream that is not ordered with
 * the legacy default stream wait for the allocation of the buffer; the host waits only if the
 * stream is being captured. */
static inline int nl_buffer_order_with_stream(nl_buffer *buffer, CUstream stream, int blocking,
                                              nl_error *err) {
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_LEGACY)
        return 0;
    return nl_buffer_order_with_other_stream(buffer, stream, blocking, err);
}
/* Records that an upload on the default stream may not be complete: the next use of any buffer on a
 * stream that is not ordered with the default stream waits for the upload. */
void nl_buffer_record_upload(nl_device *dev);
/* Records that the buffer's address was passed to code that may use the buffer on any stream. */
void nl_buffer_mark_exposed(nl_buffer *buffer);
/* Records that a graph will use the buffer's address. The owner of the graph keeps the buffer
 * alive; the buffer must not be moved. */
void nl_buffer_forbid_move(nl_buffer *buffer);
/* Records that all work that used the buffer is complete. */
void nl_buffer_forget_users(nl_buffer *buffer);

/* Returns cached memory to the system until at most `keep` bytes are cached. Waits for the
 * device. */
int nl_buffer_trim_cache(nl_device *dev, size_t keep, nl_error *err);
/* Frees all cached memory at the end of the process, so that leak checkers find none. Calls no
 * finalizers, and does not wait, because a kernel may run forever. */
void nl_buffer_empty_caches_at_exit(void);
/* Allocation function of another library, used for all devices: sets *out to a buffer that wraps
 * the library's memory. NULL restores this library's allocation. */
typedef int (*nl_buffer_allocator)(nl_device *dev, size_t size, nl_buffer **out, nl_error *err);
void nl_buffer_set_allocator(nl_buffer_allocator allocator);
size_t nl_buffer_live_count(void); /* number of live buffers, for leak tests */

#endif
