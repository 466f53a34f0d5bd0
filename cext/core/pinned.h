/* core/pinned: provides small blocks of page-locked memory that the device reads and writes
 * directly.
 *
 * A call with few host values copies the values into a page-locked block, launches once and waits
 * once. Blocks are reused, so the call allocates no memory. */
#ifndef NL_CORE_PINNED_H
#define NL_CORE_PINNED_H

#include "core/device.h"
#include "core/layout.h"

#define NL_PINNED_BYTES (64 << 10)

typedef struct nl_pinned {
    char *host;
    CUdeviceptr address; /* device address of the same memory */
    nl_device *device;
    uint64_t generation; /* of the device */
    int taken;
    /* event that is recorded after work that may still use the block and for which no thread waits,
     * or NULL */
    CUevent lent;
} nl_pinned;

/* Reserves a block of NL_PINNED_BYTES for `dev`, which must be bound. *out is NULL if all blocks
 * are in use: the caller must then work without a block. */
int nl_pinned_acquire(nl_device *dev, nl_pinned **out, nl_error *err);
/* Returns the block to the table. All device work that uses the block must be complete. Accepts
 * NULL. */
void nl_pinned_release(nl_pinned *block);

/* Releases a block after an interrupted wait for the stream: the block becomes available when the
 * work of the stream is complete. */
void nl_pinned_release_after_work(nl_pinned *block, CUstream stream);

/* Unlocks the pages of all unused blocks. A block is page-locked again at its next use. */
void nl_pinned_unlock(void);
int nl_pinned_count_locked(void);

/* These functions copy between strided host memory and a dense host block whose order of axes may
 * differ. */
void nl_pinned_gather(char *dense, const nl_layout *dense_layout, const char *host,
                      const nl_layout *host_layout);
void nl_pinned_scatter(char *host, const nl_layout *host_layout, const char *dense,
                       const nl_layout *dense_layout);

#endif
