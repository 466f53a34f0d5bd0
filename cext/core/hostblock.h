/* core/hostblock: host memory that the device can reach: page-locked blocks that are used again,
 * write-combined and managed memory.
 *
 * The blocks are pages of our own that are registered with the driver, not memory of the driver's:
 * what a user still holds survives the reset of a device, as ordinary memory. */
#ifndef NL_CORE_HOSTBLOCK_H
#define NL_CORE_HOSTBLOCK_H

#include "core/device.h"

/* Host results from this size on lie in blocks of the pool; below, locking pages costs more than it
 * saves. */
#define NL_HOSTBLOCK_LEAST ((size_t)256 << 10)

typedef enum {
    NL_HOST_RESULT, /* page-locked from its second use on, if large its fourth, within the limit */
    NL_HOST_LOCKED, /* page-locked */
    NL_HOST_MAPPED, /* the same, and a kernel may use it until the device is idle */
    NL_HOST_WRITE_COMBINED, /* the driver's; the host should only write it */
    NL_HOST_MANAGED,        /* the driver's; it moves between host and device */
} nl_host_kind;

typedef struct nl_host_block {
    nl_block block; /* capacity: bytes of the pages */
    nl_host_kind kind;
    void *memory;
    size_t size;         /* what was asked for */
    uint64_t turns;      /* how often it has been taken */
    int unlockable;      /* registering it failed once */
    nl_device *device;   /* where it was registered or allocated; NULL: nowhere */
    uint64_t generation; /* of the device */
    CUevent event;       /* behind the last copy that nobody waited for, or NULL */
    nl_device *event_device;
    uint64_t event_generation;
    nl_postponed later;
} nl_host_block;

/* How many bytes may be page-locked for results, and how many are kept for later. */
void nl_hostblock_set_limit(size_t bytes);
size_t nl_hostblock_limit(void);
/* dev must be bound. The memory is not initialised. `flags`: of cuMemAllocManaged. */
int nl_hostblock_take(nl_device *dev, size_t size, nl_host_kind kind, unsigned flags,
                      nl_host_block **out, nl_error *err);
/* Page-locks it. dev must be bound. */
int nl_hostblock_lock(nl_host_block *block, nl_device *dev, nl_error *err);
/* Can the device copy from and to it without the driver's help? */
int nl_hostblock_is_locked(const nl_host_block *block);
/* Where kernels find it. */
int nl_hostblock_device_address(const nl_host_block *block, CUdeviceptr *address, nl_error *err);
/* Gives it back; accepts NULL; never raises; may make driver calls. */
void nl_hostblock_give(nl_host_block *block);
/* The same while work on a stream of `dev` may still use it. May wait if it must. */
void nl_hostblock_give_after(nl_host_block *block, nl_device *dev, CUstream stream);
/* Gives what is kept back to the system, the oldest first, until no more than `keep` bytes are. */
void nl_hostblock_trim(size_t keep);
nl_pool_statistics nl_hostblock_statistics(size_t *locked);
void nl_hostblock_reset_peak(void);
size_t nl_hostblock_live(void); /* for leak tests */

#endif
