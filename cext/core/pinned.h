/* core/pinned: small blocks of page-locked memory that the device reads and writes where they are.
 *
 * A call on a few host values copies them into such a block, launches once and waits once; nothing
 * is allocated on the way, for blocks are recycled. */
#ifndef NL_CORE_PINNED_H
#define NL_CORE_PINNED_H

#include "core/device.h"
#include "core/layout.h"

#define NL_PINNED_BYTES (64 << 10)

typedef struct nl_pinned {
    char *host;
    CUdeviceptr address; /* the same memory as the device sees it */
    nl_device *device;
    uint64_t generation; /* of the device */
    int taken;
    CUevent lent; /* after the work that may still use it, for which no thread waits; or NULL */
} nl_pinned;

/* A block of NL_PINNED_BYTES for `dev`, bound by the caller. *out is NULL where all blocks are in
 * use: then the caller does without. */
int nl_pinned_take(nl_device *dev, nl_pinned **out, nl_error *err);
/* After the device has finished with it. Accepts NULL. */
void nl_pinned_give(nl_pinned *block);

/* The same after a wait for the stream that was ended: the block is free when its work is done. */
void nl_pinned_lend(nl_pinned *block, CUstream stream);

/* Those that nobody uses are no longer locked, until they are taken again. */
void nl_pinned_unlock(void);
int nl_pinned_locked(void);

/* Strided host memory into a dense piece of host memory with another order of dimensions, and
 * back. */
void nl_pinned_gather(char *dense, const nl_layout *dense_layout, const char *host,
                      const nl_layout *host_layout);
void nl_pinned_scatter(char *host, const nl_layout *host_layout, const char *dense,
                       const nl_layout *dense_layout);

#endif
