/* core/handle: caches handles of the CUDA libraries, one for each device and stream, shared by all
 * threads. Handles are not destroyed before a device reset, because captured graphs may use their
 * resources. */
#ifndef NL_CORE_HANDLE_H
#define NL_CORE_HANDLE_H

#include "core/device.h"
#include "driver/cudalib.h"

typedef struct nl_handle {
    uintptr_t number; /* the handle value that the library's functions accept */
    /* The following members are private. */
    nl_device *device;
    CUstream stream;
    uint64_t generation; /* of the device */
    uint64_t used;       /* value of a counter at the last use, to find the least recently used
                          * handle */
    unsigned users;      /* number of threads that use the handle or wait for it */
    int has_workspace;   /* a workspace of a caller is set */
    nl_mutex lock;
    struct nl_handle *next;
} nl_handle;

/* Device memory that a library may use as scratch memory. */
typedef struct nl_workspace {
    CUdeviceptr address; /* 0: none */
    size_t size;
} nl_workspace;

/* Returns the size of cuBLAS's own workspace that NVIDIA recommends for the device. */
size_t nl_handle_workspace_size(const nl_device *dev);

/* Returns a handle that only this thread uses until nl_handle_unlock. The device must be bound and
 * the library open. This function may wait for another thread or for the loading of the library:
 * call it without the interpreter's lock, unless nl_handle_exists returns 1. */
int nl_handle_lock(nl_cudalib library, nl_device *dev, CUstream stream, nl_handle **out,
                   nl_error *err);
/* Locks a handle like nl_handle_lock, and sets a workspace that cuBLAS uses until nl_handle_unlock.
 * Captured graphs need a separate workspace: concurrent launches would share cuBLAS's own
 * workspace. If workspace->address is 0, removes a workspace that an earlier nl_handle_unlock could
 * not remove. */
int nl_handle_lock_with_workspace(nl_cudalib library, nl_device *dev, CUstream stream,
                                  const nl_workspace *workspace, nl_handle **out, nl_error *err);
/* Removes the workspace and releases the handle. Returns -1 if the workspace could not be removed;
 * the handle is released in both cases. */
int nl_handle_unlock(nl_cudalib library, nl_handle *handle, nl_error *err);
/* Returns whether there is a handle for the stream that no thread is using. */
int nl_handle_exists(nl_cudalib library, const nl_device *dev, CUstream stream);

#endif
