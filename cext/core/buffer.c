/* core/buffer: device memory, allocated and freed in the order of the default stream.
 *
 * cuMemAllocAsync on stream 0 may hand out memory whose last use on stream 0 (or on a stream
 * ordered with it) is still to come. Work on ordered streams comes after that by itself. A
 * non-blocking stream does not, so nl_buffer_use makes it wait for an event on stream 0, the
 * device's fence, until the fence has been seen to be done once. The tickets count allocations: a
 * fence recorded when `allocated` was n covers the first n of them; `settled` is how many are known
 * to have happened. Freeing: stream order again, or for a foreign buffer after the whole device is
 * idle (a synchronous cuMemFree would not wait: for memory from a pool the driver trusts the
 * caller). */
#include "core/buffer.h"

#include "base/mem.h"
#include "core/graph.h"

static uint64_t live;

size_t nl_buffer_live(void) {
    return nl_atomic_load(&live);
}

static nl_buffer *new_buffer(nl_device *dev, size_t size, nl_error *err) {
    nl_buffer *buffer = nl_mem_zalloc(sizeof *buffer, err);
    if (buffer == NULL)
        return NULL;
    buffer->references = 1;
    buffer->size = size;
    buffer->device = dev;
    buffer->generation = nl_atomic_load(&dev->generation);
    nl_atomic_add(&live, 1);
    return buffer;
}

static void delete_buffer(nl_buffer *buffer) {
    nl_atomic_sub(&live, 1);
    nl_mem_free(buffer);
}

/* Not from the pool while something is captured: that goes by the default stream. */
static CUresult allocate(size_t size, int pooled, CUdeviceptr *address) {
    if (pooled)
        return nl_cu.MemAllocAsync(address, size, NULL);
    return nl_cu.MemAlloc(address, size);
}

/* Memory that is freed but still in the pool, in other sizes or waiting for work, is given back to
 * the system before giving up. */
static CUresult allocate_after_trim(nl_device *dev, size_t size, int pooled, CUdeviceptr *address) {
    CUresult status = nl_cu.CtxSynchronize();
    if (status == CUDA_SUCCESS && dev->pool != NULL)
        status = nl_cu.MemPoolTrimTo(dev->pool, 0);
    return status == CUDA_SUCCESS ? allocate(size, pooled, address) : status;
}

/* The driver's text, and in front of it how much was asked for and how much there is. */
static int refuse(nl_device *dev, size_t size, CUresult status, nl_error *err) {
    size_t available = 0, total = 0;
    nl_driver_check(status, dev->has_memory_pools ? "cuMemAllocAsync" : "cuMemAlloc", err);
    if (status == CUDA_ERROR_OUT_OF_MEMORY &&
        nl_cu.MemGetInfo(&available, &total) == CUDA_SUCCESS) {
        nl_error_prefix(err, "%zu bytes on device %d (%zu of %zu bytes are free)", size,
                        dev->ordinal, available, total);
    }
    return -1;
}

int nl_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_buffer *buffer = new_buffer(dev, size, err);
    if (buffer == NULL)
        return -1;
    if (size != 0) {
        /* Whole words: atomics on 8 and 16 bits are done on the word around them. */
        size_t words = size <= SIZE_MAX - 3 ? (size + 3) & ~(size_t)3 : size;
        int pooled = dev->has_memory_pools && !nl_graph_capturing();
        CUresult status = allocate(words, pooled, &buffer->address);
        if (status == CUDA_ERROR_OUT_OF_MEMORY && !nl_graph_capturing())
            status = allocate_after_trim(dev, words, pooled, &buffer->address);
        if (status != CUDA_SUCCESS) {
            delete_buffer(buffer);
            return refuse(dev, size, status, err);
        }
        buffer->pooled = pooled;
        if (buffer->pooled)
            buffer->ticket = nl_atomic_add(&dev->allocated, 1) + 1;
    }
    *out = buffer;
    return 0;
}

int nl_buffer_wrap(nl_device *dev, CUdeviceptr address, size_t size, nl_buffer_finalizer finalizer,
                   void *owner, nl_buffer **out, nl_error *err) {
    nl_buffer *buffer = new_buffer(dev, size, err);
    if (buffer == NULL)
        return -1;
    buffer->address = address;
    buffer->wrapped = 1;
    buffer->finalizer = finalizer;
    buffer->owner = owner;
    *out = buffer;
    return 0;
}

void nl_buffer_retain(nl_buffer *buffer) {
    nl_atomic_add(&buffer->references, 1);
}

static void free_memory(nl_buffer *buffer) {
    nl_device *dev = buffer->device;
    if (!nl_device_bind_for_release(dev, buffer->generation))
        return;
    if (!buffer->pooled) {
        nl_driver_report(nl_cu.MemFree(buffer->address), "cuMemFree");
        return;
    }
    if (buffer->foreign)
        nl_driver_report(nl_cu.CtxSynchronize(), "cuCtxSynchronize");
    nl_driver_report(nl_cu.MemFreeAsync(buffer->address, NULL), "cuMemFreeAsync");
}

/* Does releasing it call the driver? */
static int owns_memory(const nl_buffer *buffer) {
    return !buffer->wrapped && buffer->address != 0;
}

static void destroy(void *thing) {
    nl_buffer *buffer = thing;
    if (owns_memory(buffer))
        free_memory(buffer);
    if (buffer->finalizer != NULL)
        buffer->finalizer(buffer->owner);
    delete_buffer(buffer);
}

void nl_buffer_release(nl_buffer *buffer) {
    if (buffer == NULL || nl_atomic_sub(&buffer->references, 1) != 1)
        return;
    if (owns_memory(buffer) && nl_device_postpone(&buffer->later, destroy, buffer))
        return;
    destroy(buffer);
}

/* The event on stream 0 that covers every allocation so far; recorded anew only where it has to be.
 */
static int record_fence_lock_held(nl_device *dev, uint64_t ticket, nl_error *err) {
    if (dev->fence != NULL && dev->fence_ticket >= ticket)
        return 0;
    if (dev->fence == NULL && NL_CU(err, EventCreate, &dev->fence, CU_EVENT_DISABLE_TIMING) < 0) {
        return -1;
    }
    uint64_t allocated = nl_atomic_load(&dev->allocated);
    dev->fence_ticket = 0;
    if (NL_CU(err, EventRecord, dev->fence, NULL) < 0)
        return -1;
    dev->fence_ticket = allocated;
    return 0;
}

static int order_lock_held(nl_device *dev, uint64_t ticket, CUstream stream, nl_error *err) {
    if (dev->settled >= ticket)
        return 0;
    int old = dev->fence != NULL && dev->fence_ticket >= ticket;
    if (record_fence_lock_held(dev, ticket, err) < 0)
        return -1;
    if (old) {
        CUresult status = nl_cu.EventQuery(dev->fence);
        if (status == CUDA_SUCCESS) {
            nl_atomic_store(&dev->settled, dev->fence_ticket);
            return 0;
        }
        if (status != CUDA_ERROR_NOT_READY)
            return nl_driver_check(status, "cuEventQuery", err);
    }
    return NL_CU(err, StreamWaitEvent, stream, dev->fence, 0);
}

int nl_buffer_use(nl_buffer *buffer, CUstream stream, int blocking, nl_error *err) {
    if (blocking)
        return 0;
    nl_device *dev = buffer->device;
    if (nl_graph_capturing()) { /* the graph's launches will use it */
        int noted = nl_graph_note(stream, buffer, err);
        if (noted != 0)
            return noted < 0 ? -1 : 0;
    }
    nl_atomic_store(&buffer->foreign, 1);
    if (!buffer->pooled || nl_atomic_load(&dev->settled) >= buffer->ticket)
        return 0;
    if (nl_device_alive(dev, buffer->generation, err) < 0)
        return -1;
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_mutex_lock(&dev->lock);
    int status = order_lock_held(dev, buffer->ticket, stream, err);
    nl_mutex_unlock(&dev->lock);
    return status;
}
