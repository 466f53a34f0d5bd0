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
    int has_workspace;   /* which is not the library's */
    nl_mutex lock;
    struct nl_handle *next;
} nl_handle;

/* Memory on the device that a library may write to as it likes. */
typedef struct nl_workspace {
    CUdeviceptr address; /* 0: there is none */
    size_t size;
} nl_workspace;

/* How much cuBLAS has of its own: NVIDIA's advice. */
size_t nl_handle_workspace_size(const nl_device *dev);

/* The handle, for this thread alone until it leaves; the device is bound and the library open. May
 * wait for another thread, or for the library's own loading: call without the interpreter's lock,
 * unless nl_handle_is_ready. */
int nl_handle_enter(nl_cudalib library, nl_device *dev, CUstream stream, nl_handle **out,
                    nl_error *err);
/* The same; where there is a workspace, the library uses it until the handle is left, and not its
 * own, which calls that graphs have captured would share with others that run at the same time. For
 * cuBLAS, whose calls are given none. A workspace that leaving could not take is taken here. */
int nl_handle_enter_with(nl_cudalib library, nl_device *dev, CUstream stream,
                         const nl_workspace *workspace, nl_handle **out, nl_error *err);
/* -1 where the library does not give its workspace up; the handle is left all the same. */
int nl_handle_leave(nl_cudalib library, nl_handle *handle, nl_error *err);
/* Is there one that nobody uses? */
int nl_handle_is_ready(nl_cudalib library, const nl_device *dev, CUstream stream);

#endif
