/* core/bounce: copies between pageable host memory and the device, through page-locked memory and
 * with several threads. */
#ifndef NL_CORE_BOUNCE_H
#define NL_CORE_BOUNCE_H

#include "core/device.h"

/* Maximum bytes of an upload on a stream that copies its source to page-locked memory and returns
 * without waiting for the stream. */
#define NL_BOUNCE_ASIDE ((size_t)8 << 20)
#define NL_BOUNCE_PARTS 64

typedef struct nl_bounce_settings {
    int to_device, to_host; /* threads */
    int to_new;             /* maximum number of threads for copies into untouched pages */
    size_t chunk;           /* maximum bytes of a chunk, which one thread copies */
    size_t ring;            /* bytes of the page-locked ring */
    size_t group;           /* maximum bytes of one copy to the device */
    size_t least;  /* minimum bytes of a copy, below which the driver's own copy is faster */
    size_t shared; /* see nl_bounce_count_shared */
    int polls;     /* number of polls of a waiting thread before it sleeps */
    int always;    /* for tests: use core/bounce even if device memory is host memory */
} nl_bounce_settings;

/* A block of host memory and its destination. */
typedef struct nl_bounce_part {
    CUdeviceptr device;
    const char *host;
    size_t size;
} nl_bounce_part;

/* Changes the settings whose new value is greater than 0, and `always` in any case. Returns all
 * settings. If `settings` is NULL, changes nothing. */
nl_bounce_settings nl_bounce_configure(const nl_bounce_settings *settings);
/* Copies several blocks to the device. Returns 1 when all blocks have been read and their copies
 * are submitted to the stream. Returns 0, without copying, if the driver's own copy should be used,
 * or -1 on an error. dev must be bound. */
int nl_bounce_send(nl_device *dev, const nl_bounce_part *parts, int count, CUstream stream,
                   nl_error *err);
/* Copies one block to the host. Returns 1 when the copy is complete; 0 and -1 have the same meaning
 * as for nl_bounce_send. */
int nl_bounce_receive(nl_device *dev, CUdeviceptr device, void *host, size_t size, CUstream stream,
                      nl_error *err);
/* Returns whether the device can access this host memory directly (page-locked or unified
 * memory). */
int nl_bounce_is_locked(const void *host);
/* Returns whether page-locked memory of this size is within the limit and makes the driver's copies
 * faster. */
int nl_bounce_can_lock(size_t size);
/* Returns whether a copy of this size should use several threads. */
int nl_bounce_is_faster(size_t size);
size_t nl_bounce_min_size(void);
/* Rounds a size up to a power of two, 64 KiB or more: with few different sizes, page-locked blocks
 * are reused more often. */
size_t nl_bounce_round_size(size_t size);
/* Returns the maximum total size in bytes of the host operands of a call for which a kernel should
 * read page-locked memory directly. A kernel that reads its operands from
 * page-locked memory must read each element only once. */
int64_t nl_bounce_count_shared(void);

#endif
