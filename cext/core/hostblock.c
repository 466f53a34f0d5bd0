/* core/hostblock: implements a pool of pages for host memory that the device accesses.
 *
 * Page-locking costs more than copying the same pages. A result that is computed once should be
 * pageable, but one that is computed repeatedly should be page-locked. So a block for results is
 * registered with the driver when the pool returns it for the second time. The pages of a reused
 * block have been touched, which makes page-locking faster. Copies by several threads are nearly as
 * fast with a large block that is not page-locked, so a large block is registered only at its
 * fourth use.
 *
 * A block that an asynchronous copy still reads is released with an event that is recorded after
 * the copy. The pool reuses the block only after its event has happened; calls that allocate a
 * block check the events. Registered memory is never unmapped before it is unregistered: if
 * unregistering fails, the pages stay mapped. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/hostblock.h"

#include <sys/mman.h>
#include "base/mem.h"
#include "core/wait.h"

#define PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE_BLOCK ((size_t)64 << 20)
#define TURNS_OF_LARGE 4

static nl_pool pool;
static nl_mutex busy_lock = NL_MUTEX_INIT; /* held while waiting blocks are removed */
static uint64_t opened, locked_bytes, live;

static void reset_pool_in_child(void) {
    nl_mutex_init(&pool.lock);
    nl_mutex_init(&busy_lock);
}

static void initialize_pool(void) {
    static nl_mutex once = NL_MUTEX_INIT;
    nl_mutex_lock(&once);
    if (!opened) {
        nl_pool_init(&pool, 0);
        nl_thread_call_in_child(reset_pool_in_child);
        nl_atomic_store(&opened, 1);
    }
    nl_mutex_unlock(&once);
}

static nl_pool *get_opened_pool(void) {
    if (__builtin_expect(!nl_atomic_load(&opened), 0))
        initialize_pool();
    return &pool;
}

size_t nl_hostblock_live_count(void) {
    return nl_atomic_load(&live);
}

nl_pool_statistics nl_hostblock_statistics(size_t *locked) {
    *locked = nl_atomic_load(&locked_bytes);
    return nl_pool_read_statistics(get_opened_pool());
}

void nl_hostblock_reset_peak(void) {
    nl_pool_reset_peak(get_opened_pool());
}

/* ----------------------------------------------------------------------------------------- pages
 */

static size_t round_up_to(size_t size, size_t to) {
    return (size + to - 1) / to * to;
}

/* Maps pages, aligned to huge pages if the size is at least one huge page. The driver locks each
 * page separately: locking 4 MB of huge pages takes 0.4 ms, locking 3 MB of small pages 1 to 3
 * ms. */
static void *map_pages(size_t size) {
    size_t extra = size >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *all =
        mmap(NULL, size + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    if (!extra)
        return all;
    char *begin = (char *)round_up_to((uintptr_t)all, HUGE_PAGE);
    if (begin > all)
        munmap(all, (size_t)(begin - all));
    if (begin + size < all + size + extra)
        munmap(begin + size, (size_t)(all + extra - begin));
#ifdef MADV_HUGEPAGE
    (void)madvise(begin, size, MADV_HUGEPAGE);
#endif
    return begin;
}

int nl_hostblock_is_locked(const nl_host_block *b) {
    return b->device != NULL && b->generation == nl_atomic_load(&b->device->generation);
}

int nl_hostblock_lock(nl_host_block *b, nl_device *dev, nl_error *err) {
    enum { PORTABLE = 1, DEVICEMAP = 2 };
    if (nl_hostblock_is_locked(b))
        return 0;
    if (NL_CU(err, MemHostRegister, b->memory, b->block.capacity, PORTABLE | DEVICEMAP) < 0)
        return -1;
    if (b->device == NULL)
        nl_atomic_add(&locked_bytes, b->block.capacity);
    b->device = dev;
    b->generation = nl_atomic_load(&dev->generation);
    return 0;
}

/* Unregisters the pages; returns 0 if the driver still has them registered. */
static int unlock_pages(nl_host_block *b) {
    if (b->device == NULL)
        return 1;
    if (nl_hostblock_is_locked(b) && nl_device_are_usable()) {
        if (!nl_device_bind_for_release(b->device, b->generation))
            return 0;
        CUresult status = nl_cu.MemHostUnregister(b->memory);
        nl_driver_print_failure(status, "cuMemHostUnregister");
        if (status != CUDA_SUCCESS)
            return 0;
    }
    nl_atomic_sub(&locked_bytes, b->block.capacity);
    b->device = NULL;
    return 1;
}

static void destroy_event(nl_host_block *b) {
    if (b->event != NULL && nl_device_bind_for_release(b->event_device, b->event_generation))
        nl_driver_print_failure(nl_cu.EventDestroy(b->event), "cuEventDestroy");
    b->event = NULL;
}

static void free_pages(nl_host_block *b) {
    destroy_event(b);
    if (unlock_pages(b))
        munmap(b->memory, b->block.capacity);
    nl_mem_free(b);
}

static void evict_blocks(size_t keep) {
    for (nl_block *b = nl_pool_evict_ready(get_opened_pool(), keep), *next; b != NULL; b = next) {
        next = b->next;
        free_pages((nl_host_block *)b);
    }
}

/* -------------------------------------------------------------------- blocks with pending
 * copies */

static int is_event_done(const nl_host_block *b) {
    if (b->event == NULL || !nl_device_are_usable() ||
        b->event_generation != nl_atomic_load(&b->event_device->generation))
        return 1;
    return nl_cu.EventQuery(b->event) != CUDA_ERROR_NOT_READY;
}

static void mark_idle_blocks_ready(void) {
    nl_block *b;
    nl_mutex_lock(&busy_lock);
    while ((b = nl_pool_first_block(get_opened_pool(), NL_POOL_IDLE)) != NULL &&
           is_event_done((nl_host_block *)b))
        nl_pool_mark_ready(get_opened_pool(), NL_POOL_IDLE, b->sequence);
    nl_mutex_unlock(&busy_lock);
}

void nl_hostblock_trim(size_t keep) {
    mark_idle_blocks_ready();
    evict_blocks(keep);
}

size_t nl_hostblock_cache_limit(void) {
    return nl_atomic_load(&get_opened_pool()->cache_limit);
}

void nl_hostblock_set_cache_limit(size_t bytes) {
    nl_pool_set_limits(get_opened_pool(), SIZE_MAX, bytes);
    nl_hostblock_trim(bytes);
}

/* ---------------------------------------------------------------------------------------- taking
 */

static int is_pooled(nl_host_kind kind) {
    return kind <= NL_HOST_MAPPED;
}

static nl_host_block *map_block(size_t capacity, nl_error *err) {
    nl_host_block *b = nl_mem_zalloc(sizeof *b, err);
    if (b == NULL)
        return NULL;
    b->memory = map_pages(capacity);
    if (b->memory == NULL) {
        nl_mem_free(b);
        nl_error_no_memory(err, capacity);
        return NULL;
    }
    /* cannot fail: this pool has no limit on memory in use */
    nl_pool_reserve(get_opened_pool(), &b->block, capacity);
    nl_pool_end_allocation(get_opened_pool(), &b->block, 1);
    return b;
}

/* Page-locks a block for results at its second use, or a large block at its fourth use, within the
 * limit. If registering fails, the block stays pageable and is never registered again. */
static void lock_reused_result(nl_host_block *b, nl_device *dev) {
    nl_error ignored;
    size_t most = nl_atomic_load(&get_opened_pool()->cache_limit),
           now = nl_atomic_load(&locked_bytes);
    if (b->turns < (b->block.capacity > LARGE_BLOCK ? TURNS_OF_LARGE : 2) || b->unlockable ||
        nl_hostblock_is_locked(b))
        return;
    if (now > most || b->block.capacity > most - now)
        return;
    b->unlockable = nl_hostblock_lock(b, dev, &ignored) < 0;
}

static int alloc_pages(nl_device *dev, size_t size, nl_host_kind kind, nl_host_block **out,
                       nl_error *err) {
    if (size > SIZE_MAX / 4)
        return nl_error_no_memory(err, size);
    size_t capacity = round_up_to(nl_pool_round(get_opened_pool(), size != 0 ? size : 1), PAGE);
    nl_host_block *b = (nl_host_block *)nl_pool_reuse(&pool, capacity);
    if (b == NULL && nl_pool_first_block(&pool, NL_POOL_IDLE) != NULL) {
        mark_idle_blocks_ready();
        b = (nl_host_block *)nl_pool_reuse(&pool, capacity);
    }
    if (b == NULL)
        b = map_block(capacity, err);
    if (b == NULL)
        return -1;
    nl_atomic_add(&live, 1);
    b->kind = kind;
    b->size = size;
    b->turns++;
    if (kind == NL_HOST_RESULT) {
        lock_reused_result(b, dev);
    } else if (nl_hostblock_lock(b, dev, err) < 0) {
        b->kind = NL_HOST_RESULT;
        nl_hostblock_release(b);
        return -1;
    }
    *out = b;
    return 0;
}

static int alloc_by_driver(nl_device *dev, size_t size, nl_host_kind kind, unsigned flags,
                           nl_host_block **out, nl_error *err) {
    size_t wanted = size != 0 ? size : 1;
    CUdeviceptr address = 0;
    nl_host_block *b = nl_mem_zalloc(sizeof *b, err);
    if (b == NULL)
        return -1;
    if (nl_device_add_export(dev, err) < 0) {
        nl_mem_free(b);
        return -1;
    }
    int status = kind == NL_HOST_MANAGED
                     ? NL_CU(err, MemAllocManaged, &address, wanted, flags)
                     : NL_CU(err, MemHostAlloc, &b->memory, wanted,
                             CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                                 CU_MEMHOSTALLOC_WRITECOMBINED);
    if (status < 0) {
        nl_device_drop_export(dev);
        nl_mem_free(b);
        return -1;
    }
    if (kind == NL_HOST_MANAGED)
        b->memory = (void *)(uintptr_t)address;
    nl_atomic_add(&live, 1);
    b->kind = kind;
    b->size = size;
    b->device = dev;
    b->generation = nl_atomic_load(&dev->generation);
    *out = b;
    return 0;
}

int nl_hostblock_alloc(nl_device *dev, size_t size, nl_host_kind kind, unsigned flags,
                       nl_host_block **out, nl_error *err) {
    return is_pooled(kind) ? alloc_pages(dev, size, kind, out, err)
                           : alloc_by_driver(dev, size, kind, flags, out, err);
}

int nl_hostblock_device_address(const nl_host_block *b, CUdeviceptr *address, nl_error *err) {
    if (b->device == NULL)
        return nl_error_set(err, NL_ERR_VALUE, "this memory is not mapped for a device");
    if (nl_device_check_generation(b->device, b->generation, err) < 0)
        return -1;
    *address = (CUdeviceptr)(uintptr_t)b->memory;
    if (b->kind == NL_HOST_MANAGED)
        return 0;
    return NL_CU(err, MemHostGetDevicePointer, address, b->memory, 0);
}

/* ---------------------------------------------------------------------------------------- giving
 */

/* Frees managed or write-combined memory. Kernels of every device may be using the memory, so the
 * function waits for all devices; if a kernel still runs, the memory is leaked. */
static void free_by_driver(nl_host_block *b) {
    int idle = nl_device_wait_for_all();
    if (idle && nl_device_bind_for_release(b->device, b->generation)) {
        if (b->kind == NL_HOST_MANAGED)
            nl_driver_print_failure(nl_cu.MemFree((CUdeviceptr)(uintptr_t)b->memory), "cuMemFree");
        else
            nl_driver_print_failure(nl_cu.MemFreeHost(b->memory), "cuMemFreeHost");
    }
    nl_device_drop_export(b->device);
    nl_mem_free(b);
}

static void destroy_hostblock(void *thing) {
    nl_host_block *b = thing;
    if (!is_pooled(b->kind)) {
        free_by_driver(b);
        return;
    }
    if (b->kind == NL_HOST_MAPPED && !nl_device_wait_for_all())
        return; /* the block is leaked, because a running kernel may still write to it */
    size_t most = nl_atomic_load(&get_opened_pool()->cache_limit);
    if (nl_pool_release_block(&pool, &b->block, NL_POOL_READY))
        return;
    if (b->block.capacity <= most) {
        nl_hostblock_trim(most - b->block.capacity);
        if (nl_pool_release_block(&pool, &b->block, NL_POOL_READY))
            return;
    }
    nl_pool_subtract_used(&pool, &b->block);
    free_pages(b);
}

void nl_hostblock_release(nl_host_block *b) {
    if (b == NULL)
        return;
    nl_atomic_sub(&live, 1);
    if (!nl_device_postpone_release(&b->later, destroy_hostblock, b))
        destroy_hostblock(b);
}

/* Records an event of this device after the work that is already submitted to the stream. */
static int record_stream_event(nl_host_block *b, nl_device *dev, CUstream stream, nl_error *err) {
    if (b->event != NULL &&
        (b->event_device != dev || b->event_generation != nl_atomic_load(&dev->generation)))
        destroy_event(b);
    if (nl_device_bind(dev, err) < 0)
        return -1;
    if (b->event == NULL) {
        if (NL_CU(err, EventCreate, &b->event, CU_EVENT_DISABLE_TIMING) < 0) {
            b->event = NULL;
            return -1;
        }
        b->event_device = dev;
        b->event_generation = nl_atomic_load(&dev->generation);
    }
    return NL_CU(err, EventRecord, b->event, stream);
}

void nl_hostblock_release_after_work(nl_host_block *b, nl_device *dev, CUstream stream) {
    nl_error ignored;
    if (b == NULL)
        return;
    if (record_stream_event(b, dev, stream, &ignored) == 0) {
        nl_atomic_sub(&live, 1);
        if (nl_pool_release_block(get_opened_pool(), &b->block, NL_POOL_IDLE))
            return;
        nl_atomic_add(&live, 1);
    }
    if (nl_device_bind(dev, &ignored) == 0 && !nl_wait_until_idle(stream)) {
        nl_atomic_sub(&live, 1);
        return; /* the block is leaked, because a running copy may still read it */
    }
    nl_hostblock_release(b);
}
