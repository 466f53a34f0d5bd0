/* core/buffer: allocates and frees device memory in the order of the default stream, and caches it
 * after its release.
 *
 * The last use of newly allocated memory (from cuMemAllocAsync on stream 0, or a block of the
 * cache) may still be pending on stream 0, or on a stream that stream 0 has joined. New work on
 * streams that are ordered with stream 0 runs after the pending use of the memory. Work on a
 * non-blocking stream is not ordered with stream 0. So nl_buffer_order_with_stream makes a
 * non-blocking stream wait for the device's fence, an event on stream 0; after a query has found
 * the fence complete, no wait is added. Tickets count allocations: a fence recorded when
 * `allocated` was n covers the first n of them; `settled` is the number of allocations that are
 * certainly complete. An upload that may not be complete also has a ticket: until the process has
 * used a non-blocking stream, no thread waits for a copy of pageable memory.
 *
 * Two streams that are ordered with stream 0 are not ordered with each other. Memory that was used
 * on one ordered stream may be used on another ordered stream only after an operation on stream 0
 * that runs between the two uses. The operation on stream 0, called a join, costs two driver calls
 * in total, for any number of waiting blocks. Blocks used on non-blocking streams wait until the
 * device has been idle. Waiting blocks accumulate until their number or size justifies a join or a
 * wait for the device; until then, new memory is allocated instead.
 *
 * A launch that returns before its work is complete needs memory for one stream only. Memory for
 * one stream is allocated and freed in the order of the stream (nl_buffer_alloc_ordered) and not
 * cached: if it were cached, launches on several streams would wait for each other at each join.
 *
 * Memory is also freed in stream order. A buffer used on foreign streams is freed after the whole
 * device is idle. (A synchronous cuMemFree would not wait: for memory from a pool, the driver
 * relies on the caller.) */
#include "core/buffer.h"

#include <stdio.h>
#include "base/mem.h"
#include "core/capture.h"

static uint64_t live;

size_t nl_buffer_live_count(void) {
    return nl_atomic_load(&live);
}

static nl_buffer_allocator allocator;

void nl_buffer_set_allocator(nl_buffer_allocator function) {
    nl_atomic_store_entry(&allocator, function);
}

static void initialize_buffer(nl_buffer *buffer, nl_device *dev, size_t size) {
    buffer->references = 1;
    buffer->size = size;
    buffer->device = dev;
    nl_atomic_add(&live, 1);
}

static nl_buffer *new_buffer(nl_device *dev, size_t size, nl_error *err) {
    nl_buffer *buffer = nl_mem_zalloc(sizeof *buffer, err);
    if (buffer == NULL)
        return NULL;
    buffer->generation = nl_atomic_load(&dev->generation);
    initialize_buffer(buffer, dev, size);
    return buffer;
}

static void delete_buffer(nl_buffer *buffer) {
    nl_atomic_sub(&live, 1);
    nl_mem_free(buffer);
}

/* ---- the fence ---- */

/* Records the fence on stream 0 after all allocations so far. Does nothing if the last record
 * already covers `ticket`. */
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

/* Waits on the host for the fence, because a captured stream cannot wait for an event of another
 * stream. */
static int wait_for_fence_lock_held(nl_device *dev, uint64_t ticket, nl_error *err) {
    int mode;
    if (nl_capture_relax_mode(&mode, err) < 0)
        return -1;
    int status = record_fence_lock_held(dev, ticket, err);
    if (status == 0)
        status = NL_CU(err, EventSynchronize, dev->fence);
    if (status == 0)
        nl_atomic_store(&dev->settled, dev->fence_ticket);
    nl_capture_restore_mode(mode);
    return status;
}

static int order_stream_after_ticket_lock_held(nl_device *dev, uint64_t ticket, CUstream stream,
                                               nl_error *err) {
    int captured = CU_STREAM_CAPTURE_STATUS_NONE;
    if (dev->settled >= ticket)
        return 0;
    if (NL_CU(err, StreamIsCapturing, stream, &captured) < 0)
        return -1;
    if (captured != CU_STREAM_CAPTURE_STATUS_NONE)
        return wait_for_fence_lock_held(dev, ticket, err);
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

static void mark_used_by_stream(nl_buffer *buffer, uint64_t user) {
    if (!(nl_atomic_load(&buffer->users) & user))
        nl_atomic_or(&buffer->users, user);
}

int nl_buffer_order_with_other_stream(nl_buffer *buffer, CUstream stream, int blocking,
                                      nl_error *err) {
    if (nl_capture_is_any_active() && !blocking) { /* launches of the graph will also use the
                                                    * buffer */
        nl_buffer_retain(buffer);
        int noted = nl_capture_keep_alive(stream, buffer, err);
        if (noted != 1)
            nl_buffer_release(buffer);
        if (noted != 0)
            return noted < 0 ? -1 : 0;
    }
    mark_used_by_stream(buffer, blocking ? NL_BUFFER_JOINED : NL_BUFFER_FOREIGN);
    if (blocking)
        return 0;
    nl_device *dev = buffer->device;
    uint64_t upload = nl_atomic_load(&dev->upload);
    uint64_t ticket = buffer->ticket > upload ? buffer->ticket : upload;
    if (nl_atomic_load(&dev->settled) >= ticket)
        return 0;
    if (nl_device_check_generation(dev, buffer->generation, err) < 0)
        return -1;
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_mutex_lock(&dev->lock);
    int status = order_stream_after_ticket_lock_held(dev, ticket, stream, err);
    nl_mutex_unlock(&dev->lock);
    return status;
}

void nl_buffer_record_upload(nl_device *dev) {
    uint64_t ticket = nl_atomic_add(&dev->allocated, 1) + 1, last;
    do
        last = nl_atomic_load(&dev->upload);
    while (last < ticket && !nl_atomic_compare_swap(&dev->upload, last, ticket));
}

void nl_buffer_mark_exposed(nl_buffer *buffer) {
    mark_used_by_stream(buffer, NL_BUFFER_FOREIGN);
}

void nl_buffer_forbid_move(nl_buffer *buffer) {
    mark_used_by_stream(buffer, NL_BUFFER_NOTED);
}

void nl_buffer_forget_users(nl_buffer *buffer) {
    nl_atomic_store(&buffer->users, 0);
}

/* ---- the cache ---- */

/* minimum total size, or minimum number, of waiting blocks for a join or a wait */
#define CROWD_BYTES ((size_t)64 << 20)
#define CROWD_BLOCKS 64

/* Makes stream 0 wait for all earlier work of the streams that are ordered with it; later work of
 * these streams waits for stream 0. If the join fails (a stream is being captured), the freed
 * blocks stay in the list of waiting blocks. */
static void join_streams_to_default(nl_device *dev) {
    nl_error ignored;
    uint64_t stamp = nl_pool_sequence(&dev->cache);
    nl_mutex_lock(&dev->lock);
    int status = record_fence_lock_held(dev, UINT64_MAX, &ignored);
    if (status == 0)
        status = NL_CU(&ignored, StreamWaitEvent, NULL, dev->fence, 0);
    nl_mutex_unlock(&dev->lock);
    if (status == 0)
        nl_pool_mark_ready(&dev->cache, NL_POOL_JOIN, stamp);
}

static int wait_until_idle(nl_device *dev, nl_error *err) {
    uint64_t stamp = nl_pool_sequence(&dev->cache);
    if (NL_CU0(err, CtxSynchronize) < 0)
        return -1;
    nl_pool_mark_ready(&dev->cache, NL_POOL_IDLE, stamp);
    return 0;
}

static nl_buffer *take_cached_block(nl_device *dev, size_t size, size_t capacity) {
    nl_buffer *buffer = (nl_buffer *)nl_pool_reuse(&dev->cache, capacity);
    if (buffer == NULL)
        return NULL;
    initialize_buffer(buffer, dev, size);
    buffer->users = 0;
    buffer->ticket = nl_atomic_add(&dev->allocated, 1) + 1;
    return buffer;
}

nl_buffer *nl_buffer_reuse(nl_device *dev, size_t size) {
    if (size == 0 || nl_atomic_load_entry(&allocator) != NULL || nl_capture_is_foreign)
        return NULL;
    return take_cached_block(dev, size, nl_pool_round(&dev->cache, size));
}

static void release_memory(nl_buffer *buffer) {
    if (buffer->pooled) {
        nl_atomic_add(&buffer->device->returned, buffer->block.capacity);
        nl_driver_print_failure(nl_cu.MemFreeAsync(buffer->address, buffer->ordered),
                                "cuMemFreeAsync");
    } else {
        nl_driver_print_failure(nl_cu.MemFree(buffer->address), "cuMemFree");
    }
}

/* Frees the oldest ready blocks until at most `keep` bytes are cached. Returns a ready block: only
 * work for which stream 0 waits still uses it. */
static void evict_blocks(nl_device *dev, size_t keep) {
    for (nl_block *b = nl_pool_evict_ready(&dev->cache, keep), *next; b != NULL; b = next) {
        next = b->next;
        release_memory((nl_buffer *)b);
        nl_mem_free(b);
    }
}

int nl_buffer_trim_cache(nl_device *dev, size_t keep, nl_error *err) {
    if (nl_device_bind(dev, err) < 0 || wait_until_idle(dev, err) < 0)
        return -1;
    evict_blocks(dev, keep);
    if (dev->pool == NULL)
        return 0;
    return NL_CU0(err, CtxSynchronize) < 0 ? -1 : NL_CU(err, MemPoolTrimTo, dev->pool, keep);
}

/* Frees all cached blocks, also those that wait for streams: the driver frees in stream order, or
 * waits. */
static void empty_cache(nl_device *dev) {
    nl_pool_mark_ready(&dev->cache, NL_POOL_IDLE, nl_pool_sequence(&dev->cache));
    evict_blocks(dev, 0);
}

void nl_buffer_empty_caches_at_exit(void) {
    nl_error ignored;
    if (!nl_device_are_usable() || nl_capture_is_any_active())
        return;
    for (int i = 0; nl_device_exists(i); i++) {
        nl_device *dev = nl_device_is_ready(i) ? nl_device_get(i, &ignored) : NULL;
        if (dev != NULL && nl_device_bind(dev, &ignored) == 0)
            empty_cache(dev);
    }
}

/* ---- allocating ---- */

/* The driver's pool is not used while a capture is in progress, because its allocations are
 * operations of the default stream. */
static CUresult allocate_memory(size_t size, const nl_buffer *buffer, CUdeviceptr *address) {
    if (buffer->pooled)
        return nl_cu.MemAllocAsync(address, size, buffer->ordered);
    return nl_cu.MemAlloc(address, size);
}

/* If memory runs out, returns the cached memory (that of the cache and of the driver's pool) to the
 * system, and tries once more. */
static CUresult allocate_after_trim(nl_device *dev, size_t size, const nl_buffer *buffer,
                                    CUdeviceptr *address) {
    nl_error problem;
    if (nl_buffer_trim_cache(dev, 0, &problem) < 0)
        return problem.code != 0 ? (CUresult)problem.code : CUDA_ERROR_OUT_OF_MEMORY;
    return allocate_memory(size, buffer, address);
}

/* Formats the pool's limit for a message, as "" if the pool has no limit. */
static void format_limit(size_t limit, char *text, size_t size) {
    text[0] = '\0';
    if (limit != SIZE_MAX)
        snprintf(text, size, ", memory_pool().limit is %zu", limit);
}

/* Fills err with the driver's text, preceded by the requested size and the amounts of free, used
 * and cached memory. */
static int set_out_of_memory_error(nl_device *dev, size_t size, CUresult status, nl_error *err) {
    size_t available = 0, total = 0;
    char limit[64];
    nl_pool_statistics s = nl_pool_read_statistics(&dev->cache);
    nl_driver_check(status, dev->has_memory_pools ? "cuMemAllocAsync" : "cuMemAlloc", err);
    if (status != CUDA_ERROR_OUT_OF_MEMORY || nl_cu.MemGetInfo(&available, &total) != CUDA_SUCCESS)
        return -1;
    format_limit(s.limit, limit, sizeof limit);
    nl_error_prefix(err,
                    "%zu bytes on device %d (%zu of %zu bytes are free; "
                    "arrays of this process use %zu and %zu more are held for reuse%s)",
                    size, dev->ordinal, available, total, s.used, s.cached, limit);
    return -1;
}

/* Gets a block from the cache. If no block is ready and enough blocks wait for streams, waits for
 * the device or joins the streams, and tries again. */
static nl_buffer *take_block_or_wait(nl_device *dev, size_t size, size_t capacity) {
    nl_error ignored;
    nl_buffer *buffer = take_cached_block(dev, size, capacity);
    if (buffer != NULL || nl_capture_is_any_active()) /* a capture forbids waiting */
        return buffer;
    if (nl_pool_is_crowded(&dev->cache, NL_POOL_IDLE, CROWD_BYTES, CROWD_BLOCKS)) {
        if (wait_until_idle(dev, &ignored) < 0)
            return NULL; /* the allocation reports the error */
    } else if (nl_pool_is_crowded(&dev->cache, NL_POOL_JOIN, CROWD_BYTES, CROWD_BLOCKS)) {
        join_streams_to_default(dev);
    } else {
        return NULL;
    }
    return take_cached_block(dev, size, capacity);
}

static int allocate_driver_memory(nl_device *dev, size_t capacity, nl_buffer *buffer,
                                  nl_error *err) {
    CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
    int capturing = nl_capture_is_any_active();
    buffer->pooled = dev->has_memory_pools && !capturing;
    if (nl_pool_reserve(&dev->cache, &buffer->block, capacity) == 0) {
        status = allocate_memory(capacity, buffer, &buffer->address);
        if (status == CUDA_ERROR_OUT_OF_MEMORY && !capturing)
            status = allocate_after_trim(dev, capacity, buffer, &buffer->address);
        nl_pool_end_allocation(&dev->cache, &buffer->block, status == CUDA_SUCCESS);
    }
    if (status != CUDA_SUCCESS)
        return set_out_of_memory_error(dev, buffer->size, status, err);
    if (buffer->pooled && buffer->ordered == NULL)
        buffer->ticket = nl_atomic_add(&dev->allocated, 1) + 1;
    return 0;
}

int nl_buffer_alloc(nl_device *dev, size_t size, nl_buffer **out, nl_error *err) {
    nl_buffer_allocator other = nl_atomic_load_entry(&allocator);
    if (nl_capture_is_foreign && size != 0)
        return nl_error_set(err, NL_ERR_RUNTIME,
                            "a call cannot allocate device memory "
                            "while another library captures its stream, "
                            "because the graph would use the memory after its release: "
                            "pass out=, and arrays allocated before the capture");
    if (other == NULL || size == 0)
        return nl_buffer_alloc_pooled(dev, size, out, err);
    return nl_device_bind(dev, err) < 0 ? -1 : other(dev, size, out, err);
}

int nl_buffer_alloc_pooled(nl_device *dev, size_t size, nl_buffer **out, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    size_t capacity = nl_pool_round(&dev->cache, size);
    nl_buffer *buffer = size != 0 ? take_block_or_wait(dev, size, capacity) : NULL;
    if (buffer == NULL) {
        buffer = new_buffer(dev, size, err);
        if (buffer == NULL)
            return -1;
        if (size != 0 && allocate_driver_memory(dev, capacity, buffer, err) < 0) {
            delete_buffer(buffer);
            return -1;
        }
    }
    *out = buffer;
    return 0;
}

int nl_buffer_alloc_ordered(nl_device *dev, size_t size, CUstream stream, int blocking,
                            nl_buffer **out, nl_error *err) {
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD || size == 0 ||
        !dev->has_memory_pools || nl_capture_is_any_active() ||
        nl_atomic_load_entry(&allocator) != NULL) {
        return nl_buffer_alloc(dev, size, out, err) < 0
                   ? -1
                   : nl_buffer_order_with_stream(*out, stream, blocking, err);
    }
    nl_buffer *buffer = nl_device_bind(dev, err) < 0 ? NULL : new_buffer(dev, size, err);
    if (buffer == NULL)
        return -1;
    buffer->ordered = stream;
    if (allocate_driver_memory(dev, nl_pool_round(&dev->cache, size), buffer, err) < 0) {
        delete_buffer(buffer);
        return -1;
    }
    *out = buffer;
    return 0;
}

int nl_buffer_wrap_memory(nl_device *dev, CUdeviceptr address, size_t size,
                          nl_buffer_finalizer finalizer, void *owner, nl_buffer **out,
                          nl_error *err) {
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

/* ---- releasing ---- */

/* Returns whether this file must free the buffer's memory. */
static int owns_memory(const nl_buffer *buffer) {
    return !buffer->wrapped && buffer->address != 0;
}

static nl_pool_state cache_state_of(const nl_buffer *buffer) {
    uint64_t users = nl_atomic_load(&buffer->users);
    if (users & NL_BUFFER_FOREIGN)
        return NL_POOL_IDLE;
    return users & NL_BUFFER_JOINED ? NL_POOL_JOIN : NL_POOL_READY;
}

/* Adds the buffer to the cache, without a driver call. Returns 0 if the cache does not accept
 * it. */
static int cache_buffer(nl_buffer *buffer) {
    nl_device *dev = buffer->device;
    if (buffer->ordered != NULL || !nl_device_are_usable() ||
        buffer->generation != nl_atomic_load(&dev->generation))
        return 0;
    nl_atomic_sub(&live,
                  1); /* after nl_pool_release_block another thread may already use the buffer */
    if (nl_pool_release_block(&dev->cache, &buffer->block, cache_state_of(buffer)))
        return 1;
    nl_atomic_add(&live, 1);
    return 0;
}

static void free_memory(nl_buffer *buffer) {
    nl_device *dev = buffer->device;
    nl_pool_subtract_used(&dev->cache, &buffer->block);
    if (!nl_device_bind_for_release(dev, buffer->generation))
        return;
    if (buffer->pooled && cache_state_of(buffer) == NL_POOL_IDLE &&
        !nl_device_wait_for_release(dev))
        return; /* the memory is leaked, because running work may still use it */
    release_memory(buffer);
}

/* The driver's pool returns memory to the system only when the process synchronizes. Without
 * trimming, a program that frees much memory without synchronizing would leave no memory for other
 * libraries. */
static void trim_driver_pool(nl_device *dev) {
    if (dev->pool == NULL || nl_atomic_load(&dev->returned) <= dev->largest_cache ||
        nl_capture_is_any_active() ||
        !nl_device_bind_for_release(dev, nl_atomic_load(&dev->generation)))
        return;
    nl_atomic_store(&dev->returned, 0);
    if (nl_device_wait_for_release(dev))
        nl_driver_print_failure(
            nl_cu.MemPoolTrimTo(dev->pool, nl_atomic_load(&dev->cache.cache_limit)),
            "cuMemPoolTrimTo");
}

/* Frees the oldest cached blocks until the buffer fits into the cache, and caches the buffer. */
static int evict_and_cache_buffer(nl_buffer *buffer) {
    nl_device *dev = buffer->device;
    uint64_t most = nl_atomic_load(&dev->cache.cache_limit);
    if (buffer->ordered != NULL || buffer->block.capacity > most ||
        !nl_device_bind_for_release(dev, buffer->generation))
        return 0;
    evict_blocks(dev, most - buffer->block.capacity);
    return cache_buffer(buffer);
}

static void destroy_buffer(void *thing) {
    nl_buffer *buffer = thing;
    if (owns_memory(buffer)) {
        nl_device *dev = buffer->device;
        if (cache_buffer(buffer) || evict_and_cache_buffer(buffer)) {
            trim_driver_pool(dev);
            return;
        }
        free_memory(buffer);
        trim_driver_pool(dev);
    }
    if (buffer->finalizer != NULL) {
        if (nl_atomic_load(&buffer->users) & NL_BUFFER_FOREIGN &&
            nl_device_bind_for_release(buffer->device, buffer->generation) &&
            !nl_device_wait_for_release(buffer->device)) {
            delete_buffer(buffer);
            return; /* a running kernel may still use the owner's memory: the owner is leaked */
        }
        buffer->finalizer(buffer->owner);
    }
    delete_buffer(buffer);
}

nl_buffer *nl_buffer_drop_reference(nl_buffer *buffer) {
    if (buffer == NULL || nl_atomic_sub(&buffer->references, 1) != 1)
        return NULL;
    if (owns_memory(buffer) ? cache_buffer(buffer) : 0)
        return NULL;
    if (owns_memory(buffer) || buffer->finalizer != NULL)
        return buffer;
    delete_buffer(buffer);
    return NULL;
}

void nl_buffer_destroy(nl_buffer *dropped) {
    if (dropped == NULL)
        return;
    if (dropped->ordered != NULL && nl_capture_is_any_active()) {
        /* the release may be postponed to a time when the stream does not exist any more */
        dropped->ordered = NULL;
        nl_buffer_mark_exposed(dropped);
    }
    if ((owns_memory(dropped) || dropped->finalizer != NULL) &&
        nl_device_postpone_release(&dropped->later, destroy_buffer, dropped))
        return;
    destroy_buffer(dropped);
}

void nl_buffer_release(nl_buffer *buffer) {
    nl_buffer_destroy(nl_buffer_drop_reference(buffer));
}
