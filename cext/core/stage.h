/* core/stage: copies between pageable host memory and the device, by way of page-locked memory and
 * with several threads. */
#ifndef NL_CORE_STAGE_H
#define NL_CORE_STAGE_H

#include "core/transfer.h"

/* From this size on it is faster than the driver's own way, which is one thread's. */
#define NL_STAGE_LEAST ((size_t)256 << 10)
/* Up to this size an upload on a stream is copied aside and not waited for. */
#define NL_STAGE_ASIDE ((size_t)8 << 20)

typedef struct nl_stage_settings {
    int to_device, to_host; /* threads */
    size_t chunk;           /* bytes that a thread copies at a time */
    int always;             /* also where device memory is host memory, for tests */
} nl_stage_settings;

/* Zeros, and NULL, leave what is. Returns what is then. */
nl_stage_settings nl_stage_configure(const nl_stage_settings *settings);
/* 1 when the copy is done, 0 if there is no gain in it (nothing has happened), -1. dev is bound. */
int nl_stage_copy(nl_device *dev, nl_direction direction, CUdeviceptr device, void *host,
                  size_t size, CUstream stream, nl_error *err);
/* Is it memory that the device reaches by itself? */
int nl_stage_is_locked(const void *host);
/* Is page-locked memory of this size to be had, and of any use here? */
int nl_stage_can_lock(size_t size);
/* And is a copy of this size worth it? */
int nl_stage_is_worth(size_t size);

#endif
