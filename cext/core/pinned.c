/* core/pinned: implements a table of page-locked blocks, which one lock protects. The pages of a
 * block belong to this file and stay mapped until the process ends. So a reset of the device
 * invalidates only the page-locking, never memory that a caller uses; then the block is page-locked
 * again for the next device that uses it. */
#include "core/pinned.h"

#include <sys/mman.h>
#include "core/pack.h"
#include "core/plan.h"

#define MAX_BLOCKS 32

static nl_pinned blocks[MAX_BLOCKS];
static nl_mutex lock = NL_MUTEX_INIT;
static int lent; /* number of blocks lent */

static int is_entry_live(const nl_pinned *b) {
    return b->device != NULL && b->generation == nl_atomic_load(&b->device->generation);
}

/* Returns a block that is page-locked for this device, else a block that is not page-locked, else
 * NULL. */
static nl_pinned *find_block_lock_held(const nl_device *dev) {
    nl_pinned *empty = NULL;
    for (int i = 0; i < MAX_BLOCKS; i++) {
        nl_pinned *b = &blocks[i];
        if (b->taken)
            continue;
        if (!is_entry_live(b))
            empty = empty != NULL ? empty : b;
        else if (b->device == dev)
            return b;
    }
    return empty;
}

static int fill_entry(nl_device *dev, nl_pinned *b, nl_error *err) {
    enum { PORTABLE = 1, DEVICEMAP = 2 };
    if (b->host == NULL) {
        void *pages =
            mmap(NULL, NL_PINNED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            return nl_error_no_memory(err, NL_PINNED_BYTES);
        b->host = pages;
    }
    if (NL_CU(err, MemHostRegister, b->host, NL_PINNED_BYTES, PORTABLE | DEVICEMAP) < 0)
        return -1;
    if (NL_CU(err, MemHostGetDevicePointer, &b->address, b->host, 0) < 0) {
        nl_driver_print_failure(nl_cu.MemHostUnregister(b->host), "cuMemHostUnregister");
        return -1;
    }
    b->device = dev;
    b->generation = nl_atomic_load(&dev->generation);
    return 0;
}

/* Makes blocks available again that the device has finished using, or whose context was reset. */
static void recover_blocks_lock_held(void) {
    for (int i = 0; i < MAX_BLOCKS && lent > 0; i++) {
        nl_pinned *b = &blocks[i];
        if (b->lent == NULL ||
            (is_entry_live(b) && nl_cu.EventQuery(b->lent) == CUDA_ERROR_NOT_READY))
            continue;
        if (is_entry_live(b))
            nl_driver_print_failure(nl_cu.EventDestroy(b->lent), "cuEventDestroy");
        b->lent = NULL;
        b->taken = 0;
        lent--;
    }
}

int nl_pinned_acquire(nl_device *dev, nl_pinned **out, nl_error *err) {
    nl_mutex_lock(&lock);
    if (lent > 0)
        recover_blocks_lock_held();
    nl_pinned *b = find_block_lock_held(dev);
    if (b != NULL)
        b->taken = 1;
    nl_mutex_unlock(&lock);
    if (b != NULL && !is_entry_live(b) && fill_entry(dev, b, err) < 0) {
        b->device = NULL;
        nl_pinned_release(b);
        return -1;
    }
    *out = b;
    return 0;
}

void nl_pinned_release(nl_pinned *block) {
    if (block == NULL)
        return;
    nl_mutex_lock(&lock);
    block->taken = 0;
    nl_mutex_unlock(&lock);
}

/* If no event can be created, the block remains in use until the process ends. */
void nl_pinned_release_after_work(nl_pinned *block, CUstream stream) {
    nl_error ignored;
    CUevent event;
    if (block == NULL || NL_CU(&ignored, EventCreate, &event, CU_EVENT_DISABLE_TIMING) < 0)
        return;
    if (NL_CU(&ignored, EventRecord, event, stream) < 0) {
        nl_driver_print_failure(nl_cu.EventDestroy(event), "cuEventDestroy");
        return;
    }
    nl_mutex_lock(&lock);
    block->lent = event;
    lent++;
    nl_mutex_unlock(&lock);
}

static nl_pinned *acquire_idle_block(void) {
    nl_mutex_lock(&lock);
    int i = 0;
    while (i < MAX_BLOCKS && (blocks[i].taken || !is_entry_live(&blocks[i])))
        i++;
    if (i < MAX_BLOCKS)
        blocks[i].taken = 1;
    nl_mutex_unlock(&lock);
    return i < MAX_BLOCKS ? &blocks[i] : NULL;
}

void nl_pinned_unlock(void) {
    nl_pinned *b;
    while ((b = acquire_idle_block()) != NULL) {
        if (nl_device_bind_for_release(b->device, b->generation))
            nl_driver_print_failure(nl_cu.MemHostUnregister(b->host), "cuMemHostUnregister");
        b->device = NULL;
        nl_pinned_release(b);
    }
}

int nl_pinned_count_locked(void) {
    int count = 0;
    nl_mutex_lock(&lock);
    for (int i = 0; i < MAX_BLOCKS; i++)
        count += is_entry_live(&blocks[i]);
    nl_mutex_unlock(&lock);
    return count;
}

void nl_pinned_gather(char *dense, const nl_layout *dense_layout, const char *host,
                      const nl_layout *host_layout) {
    nl_plan p = {.to = (CUdeviceptr)(uintptr_t)dense, .from = (CUdeviceptr)(uintptr_t)host};
    if (nl_plan_make(&p, dense_layout, host_layout))
        nl_pack_gather((char *)(uintptr_t)p.to, (const char *)(uintptr_t)p.from, p.axes, p.rank,
                       p.width);
}

void nl_pinned_scatter(char *host, const nl_layout *host_layout, const char *dense,
                       const nl_layout *dense_layout) {
    nl_plan p = {.to = (CUdeviceptr)(uintptr_t)dense, .from = (CUdeviceptr)(uintptr_t)host};
    if (nl_plan_make(&p, dense_layout, host_layout))
        nl_pack_scatter((char *)(uintptr_t)p.from, (const char *)(uintptr_t)p.to, p.axes, p.rank,
                        p.width);
}
