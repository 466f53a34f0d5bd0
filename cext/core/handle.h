/* core/handle: handles of CUDA's libraries, one for each device and stream, kept for all threads.
 * They are never destroyed while the device lives: what a graph has captured of them stays. */
#ifndef NL_CORE_HANDLE_H
#define NL_CORE_HANDLE_H

#include "core/device.h"
#include "driver/cudalib.h"

typedef struct nl_handle {
    uintptr_t number; /* what the library's functions take */
    /* of core/handle itself: */
    nl_device *device;
    CUstream stream;
    uint64_t generation; /* of the device */
    uint64_t used;       /* when it was last used */
    unsigned users;      /* that have entered, or wait to */
    nl_mutex lock;
    struct nl_handle *next;
} nl_handle;

/* The handle, for this thread alone until it leaves; the device is bound and the library open. May
 * wait for another thread, or for the library's own loading: call without the interpreter's lock,
 * unless nl_handle_is_ready. */
int nl_handle_enter(nl_cudalib library, nl_device *dev, CUstream stream, nl_handle **out,
                    nl_error *err);
void nl_handle_leave(nl_cudalib library, nl_handle *handle);
/* Is there one that nobody uses? */
int nl_handle_is_ready(nl_cudalib library, const nl_device *dev, CUstream stream);

#endif
