/* core/hostblock: allocates host memory that the device can access: reusable page-locked blocks,
 * write-combined memory and managed memory.
 *
 * The reusable blocks are pages mapped by this file and registered with the driver, not memory
 * allocated by the driver. So memory that a user still uses remains valid as ordinary memory when a
 * device is reset. */
#ifndef NL_CORE_HOSTBLOCK_H
#define NL_CORE_HOSTBLOCK_H

#include "core/device.h"

/* Minimum size in bytes of a host result for which a block of the pool is used. For smaller
 * results, page-locking costs more than it saves. */
#define NL_HOSTBLOCK_LEAST ((size_t)256 << 10)

typedef enum {
    /* for results: page-locked from the second use on (large blocks: from the fourth use on),
     * within the limit */
    NL_HOST_RESULT,
    NL_HOST_LOCKED,         /* page-locked */
    NL_HOST_MAPPED,         /* page-locked memory that a kernel may use until the device is idle */
    NL_HOST_WRITE_COMBINED, /* memory allocated by the driver, to which the host should only
                             * write */
    NL_HOST_MANAGED,        /* managed memory, which the driver moves between host and device */
} nl_host_kind;

typedef struct nl_host_block {
    nl_block block; /* capacity: bytes of the pages */
    nl_host_kind kind;
    void *memory;
    size_t size;         /* the requested size */
    uint64_t turns;      /* number of times that the pool has returned the block */
    int unlockable;      /* registering it has failed once */
    nl_device *device;   /* device for which the block was registered or allocated, or NULL */
    uint64_t generation; /* of `device` */
    CUevent event;       /* event that is recorded after the last copy for which no thread has
                          * waited, or NULL */
    nl_device *event_device;
    uint64_t event_generation;
    nl_postponed later;
} nl_host_block;

/* Sets the maximum number of bytes that may be page-locked for results, which is also the maximum
 * size of unused blocks in the pool. */
void nl_hostblock_set_cache_limit(size_t bytes);
size_t nl_hostblock_cache_limit(void);
/* Returns a block of at least `size` bytes. dev must be bound. The memory is not initialized.
 * `flags` are those of cuMemAllocManaged. */
int nl_hostblock_alloc(nl_device *dev, size_t size, nl_host_kind kind, unsigned flags,
                       nl_host_block **out, nl_error *err);
/* Page-locks the block. dev must be bound. */
int nl_hostblock_lock(nl_host_block *block, nl_device *dev, nl_error *err);
/* Returns whether the block is page-locked, so that the device can copy from and to it directly. */
int nl_hostblock_is_locked(const nl_host_block *block);
/* Returns the address of the block in device code. */
int nl_hostblock_device_address(const nl_host_block *block, CUdeviceptr *address, nl_error *err);
/* Returns the block to the pool or to the driver. Accepts NULL. Never returns an error. The release
 * may make driver calls and wait for the devices. */
void nl_hostblock_release(nl_host_block *block);
/* Releases a block like nl_hostblock_release, even if work on `stream` of `dev` may still use the
 * block. Waits for the stream only if no event can be recorded or the pool refuses the block. */
void nl_hostblock_release_after_work(nl_host_block *block, nl_device *dev, CUstream stream);
/* Frees unused blocks, the oldest first, until at most `keep` bytes remain. */
void nl_hostblock_trim(size_t keep);
nl_pool_statistics nl_hostblock_statistics(size_t *locked);
void nl_hostblock_reset_peak(void);
size_t nl_hostblock_live_count(void); /* for leak tests */

#endif
