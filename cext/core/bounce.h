/* core/bounce: copies between pageable host memory and the device, by way of page-locked memory and
 * with several threads. */
#ifndef NL_CORE_BOUNCE_H
#define NL_CORE_BOUNCE_H

#include "core/device.h"

/* Up to this size an upload on a stream is copied aside and not waited for. */
#define NL_BOUNCE_ASIDE ((size_t)8 << 20)
#define NL_BOUNCE_PARTS 64

typedef struct nl_bounce_settings {
    int to_device, to_host; /* threads */
    int to_new;             /* threads for copies into pages that nobody has touched, at most */
    size_t chunk;           /* bytes that a thread copies at a time, at most */
    size_t ring;            /* bytes of page-locked memory that they go through */
    size_t group;           /* bytes that go to the device as one copy, at most */
    size_t least;  /* bytes from which they are faster than the driver's own, one thread's */
    size_t shared; /* see nl_bounce_shared */
    int polls;     /* of a thread that waits, before it sleeps */
    int always;    /* also where device memory is host memory, for tests */
} nl_bounce_settings;

/* A block of host memory and where it goes. */
typedef struct nl_bounce_part {
    CUdeviceptr device;
    const char *host;
    size_t size;
} nl_bounce_part;

/* Zeros, and NULL, leave what is. Returns what is then. */
nl_bounce_settings nl_bounce_configure(const nl_bounce_settings *settings);
/* Several blocks at once. 1: they have been read and are on their way, in the order of the stream;
 * 0: there is no gain in it, and nothing has happened; -1. dev is bound. */
int nl_bounce_send(nl_device *dev, const nl_bounce_part *parts, int count, CUstream stream,
                   nl_error *err);
/* 1 when the copy is done, 0 and -1 as above. */
int nl_bounce_receive(nl_device *dev, CUdeviceptr device, void *host, size_t size, CUstream stream,
                      nl_error *err);
/* Is it memory that the device reaches by itself? */
int nl_bounce_is_locked(const void *host);
/* Is page-locked memory of this size to be had, and of any use here? */
int nl_bounce_can_lock(size_t size);
/* And is a copy of this size worth the copying threads? */
int nl_bounce_is_worth(size_t size);
size_t nl_bounce_least(void);
/* Page-locked memory of few sizes is used again more often. */
size_t nl_bounce_round(size_t size);
/* Up to how many bytes in all a kernel had better use the operands of a call, which it reads once,
 * where they are in page-locked memory. */
int64_t nl_bounce_shared(void);

#endif
