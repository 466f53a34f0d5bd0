/* core/hostblock: host memory that the device can access: reusable page-locked blocks,
 * write-combined memory and managed memory.
 *
 * The reusable blocks are pages mapped by this file and registered with the driver, not memory
 * allocated by the driver. So memory that a user still holds remains valid as ordinary memory when
 * a device is reset. */
#ifndef NL_CORE_HOSTBLOCK_H
#define NL_CORE_HOSTBLOCK_H

#include "core/device.h"

/* The minimum size of a host result that uses a block of the pool. For smaller results,
 * page-locking costs more than it saves. */
#define NL_HOSTBLOCK_LEAST ((size_t)256 << 10)

typedef enum {
    /* for results: page-locked from the second use on (a large block: fourth), within the limit */
    NL_HOST_RESULT,
    NL_HOST_LOCKED,         /* page-locked */
    NL_HOST_MAPPED,         /* page-locked, and a kernel may use it until the device is idle */
    NL_HOST_WRITE_COMBINED, /* allocated by the driver; the host should only write to it */
    NL_HOST_MANAGED,        /* allocated by the driver, which moves it between host and device */
} nl_host_kind;

typedef struct nl_host_block {
    nl_block block; /* capacity: bytes of the pages */
    nl_host_kind kind;
    void *memory;
    size_t size;         /* the requested size */
    uint64_t turns;      /* number of times that the block was taken from the pool */
    int unlockable;      /* registering it has failed once */
    nl_device *device;   /* device for which the block was registered or allocated, or NULL */
    uint64_t generation; /* of `device` */
    CUevent event;       /* recorded after the last copy for which no thread waited, or NULL */
    nl_device *event_device;
    uint64_t event_generation;
    nl_postponed later;
} nl_host_block;

/* Sets the maximum number of bytes that may be page-locked for results, which is also the maximum
 * that the pool keeps for reuse. */
void nl_hostblock_set_limit(size_t bytes);
size_t nl_hostblock_limit(void);
/* Takes a block of at least `size` bytes. dev must be bound. The memory is not initialised.
 * `flags`: of cuMemAllocManaged. */
int nl_hostblock_alloc(nl_device *dev, size_t size, nl_host_kind kind, unsigned flags,
                       nl_host_block **out, nl_error *err);
/* Page-locks the block. dev must be bound. */
int nl_hostblock_lock(nl_host_block *block, nl_device *dev, nl_error *err);
/* Returns whether the block is page-locked, so that the device can copy from and to it directly. */
int nl_hostblock_is_locked(const nl_host_block *block);
/* Returns the address of the block in device code. */
int nl_hostblock_device_address(const nl_host_block *block, CUdeviceptr *address, nl_error *err);
/* Returns the block to the pool or to the driver. Accepts NULL. Never fails. The release may make
 * driver calls and wait for the devices. */
void nl_hostblock_release(nl_host_block *block);
/* Releases a block like nl_hostblock_release, even if work on `stream` of `dev` may still use the
 * block. Waits for the stream only if no event can be recorded or the pool refuses the block. */
void nl_hostblock_release_after(nl_host_block *block, nl_device *dev, CUstream stream);
/* Frees unused blocks, the oldest first, until at most `keep` bytes remain. */
void nl_hostblock_trim(size_t keep);
nl_pool_statistics nl_hostblock_statistics(size_t *locked);
void nl_hostblock_reset_peak(void);
size_t nl_hostblock_live(void); /* for leak tests */

#endif
