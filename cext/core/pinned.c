/* core/pinned: a table of blocks under one lock. A block lives until the process ends or its device
 * is reset, which frees it; the entry is then used for another. */
#include "core/pinned.h"

#include "core/pack.h"
#include "core/plan.h"

#define MOST_BLOCKS 32

static nl_pinned blocks[MOST_BLOCKS];
static nl_mutex lock = NL_MUTEX_INIT;

static int is_live(const nl_pinned *b) {
    return b->device != NULL && b->generation == nl_atomic_load(&b->device->generation);
}

/* One that is ready for this device, else an entry without memory, else NULL. */
static nl_pinned *find_lock_held(const nl_device *dev) {
    nl_pinned *empty = NULL;
    for (int i = 0; i < MOST_BLOCKS; i++) {
        nl_pinned *b = &blocks[i];
        if (b->taken)
            continue;
        if (!is_live(b))
            empty = empty != NULL ? empty : b;
        else if (b->device == dev)
            return b;
    }
    return empty;
}

static int fill(nl_device *dev, nl_pinned *b, nl_error *err) {
    void *host = NULL;
    if (NL_CU(err, MemHostAlloc, &host, NL_PINNED_BYTES,
              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) < 0)
        return -1;
    if (NL_CU(err, MemHostGetDevicePointer, &b->address, host, 0) < 0) {
        nl_driver_report(nl_cu.MemFreeHost(host), "cuMemFreeHost");
        return -1;
    }
    b->host = host;
    b->device = dev;
    b->generation = nl_atomic_load(&dev->generation);
    return 0;
}

int nl_pinned_take(nl_device *dev, nl_pinned **out, nl_error *err) {
    nl_mutex_lock(&lock);
    nl_pinned *b = find_lock_held(dev);
    if (b != NULL)
        b->taken = 1;
    nl_mutex_unlock(&lock);
    if (b != NULL && !is_live(b) && fill(dev, b, err) < 0) {
        b->device = NULL;
        nl_pinned_give(b);
        return -1;
    }
    *out = b;
    return 0;
}

void nl_pinned_give(nl_pinned *block) {
    if (block == NULL)
        return;
    nl_mutex_lock(&lock);
    block->taken = 0;
    nl_mutex_unlock(&lock);
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
