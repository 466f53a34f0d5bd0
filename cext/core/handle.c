/* core/handle: only one thread at a time may use a library handle, so each handle has a lock that
 * is held during a call. One further lock per library protects the library's list of handles. */
#include "core/handle.h"

#include "base/mem.h"

enum {
    MAX_HANDLES = 32
    /* maximum number of handles per library, exceeded only while all handles are in use */
};

static struct {
    nl_mutex lock;
    nl_handle *first;
    int count;
    uint64_t clock;
} kept[NL_CUDALIB_COUNT] = {
    {NL_MUTEX_INIT, NULL, 0, 0},
    {NL_MUTEX_INIT, NULL, 0, 0},
    {NL_MUTEX_INIT, NULL, 0, 0},
    {NL_MUTEX_INIT, NULL, 0, 0},
};

static nl_handle *find_handle_lock_held(nl_cudalib library, const nl_device *dev, CUstream stream) {
    uint64_t generation = nl_atomic_load(&dev->generation);
    for (nl_handle *h = kept[library].first; h; h = h->next)
        if (h->device == dev && h->stream == stream && h->generation == generation)
            return h;
    return NULL;
}

int nl_handle_exists(nl_cudalib library, const nl_device *dev, CUstream stream) {
    nl_mutex_lock(&kept[library].lock);
    const nl_handle *found = find_handle_lock_held(library, dev, stream);
    int ready = found && found->users == 0;
    nl_mutex_unlock(&kept[library].lock);
    return ready;
}

static void unlink_handle_lock_held(nl_cudalib library, nl_handle *h) {
    nl_handle **place = &kept[library].first;
    while (*place != h)
        place = &(*place)->next;
    *place = h->next;
    kept[library].count--;
    nl_mutex_destroy(&h->lock);
    nl_mem_free(h);
}

/* Removes handles whose resources a device reset has destroyed. */
static void forget_lost_handles_lock_held(nl_cudalib library) {
    for (nl_handle *h = kept[library].first, *next; h; h = next) {
        next = h->next;
        if (h->users == 0 && h->generation != nl_atomic_load(&h->device->generation))
            unlink_handle_lock_held(library, h);
    }
}

static nl_handle *oldest_handle_lock_held(nl_cudalib library, const nl_device *dev) {
    nl_handle *oldest = NULL;
    for (nl_handle *h = kept[library].first; h; h = h->next)
        if (h->device == dev && h->users == 0 && (!oldest || h->used < oldest->used))
            oldest = h;
    return oldest;
}

static nl_handle *create_handle_lock_held(nl_cudalib library, nl_device *dev, nl_error *err) {
    nl_handle *made = nl_mem_zalloc(sizeof *made, err);
    if (!made || nl_cudalib_create(library, &made->number, err) < 0) {
        nl_mem_free(made);
        return NULL;
    }
    nl_mutex_init(&made->lock);
    made->device = dev;
    made->generation = nl_atomic_load(&dev->generation);
    made->next = kept[library].first;
    kept[library].first = made;
    kept[library].count++;
    return made;
}

/* Returns the handle of the stream; creates a new handle if there is none. If the library has
 * MAX_HANDLES handles, reuses the device's least recently used handle for this stream. */
static nl_handle *acquire_handle_lock_held(nl_cudalib library, nl_device *dev, CUstream stream,
                                           nl_error *err) {
    nl_handle *h = find_handle_lock_held(library, dev, stream);
    if (h)
        return h;
    forget_lost_handles_lock_held(library);
    if (kept[library].count >= MAX_HANDLES)
        h = oldest_handle_lock_held(library, dev);
    if (!h)
        h = create_handle_lock_held(library, dev, err);
    if (!h)
        return NULL;
    if (nl_cudalib_set_stream(library, h->number, stream, err) < 0)
        return NULL;
    h->stream = stream;
    h->has_workspace = 0; /* cublasSetStream also selects cuBLAS's own workspace */
    return h;
}

int nl_handle_lock(nl_cudalib library, nl_device *dev, CUstream stream, nl_handle **out,
                   nl_error *err) {
    nl_mutex_lock(&kept[library].lock);
    nl_handle *h = acquire_handle_lock_held(library, dev, stream, err);
    if (h) {
        h->users++;
        h->used = ++kept[library].clock;
    }
    nl_mutex_unlock(&kept[library].lock);
    if (!h)
        return -1;
    nl_mutex_lock(&h->lock);
    *out = h;
    return 0;
}

size_t nl_handle_workspace_size(const nl_device *dev) {
    return (size_t)(dev->compute_major >= 9 ? 32 : 4) << 20;
}

/* Makes cuBLAS use its own workspace again, which is a side effect of cublasSetStream. */
static int restore_own_workspace(nl_handle *h, nl_error *err) {
    if (!h->has_workspace)
        return 0;
    if (nl_cudalib_set_stream(NL_CUBLAS, h->number, h->stream, err) < 0)
        return -1;
    h->has_workspace = 0;
    return 0;
}

static int set_workspace(nl_handle *h, const nl_workspace *workspace, nl_error *err) {
    void *memory = (void *)(uintptr_t)workspace->address;
    if (memory == NULL)
        return restore_own_workspace(h, err);
    h->has_workspace = 1; /* also if the call fails */
    return NL_BLAS(err, SetWorkspace_v2, h->number, memory, workspace->size);
}

static void unlock_handle(nl_cudalib library, nl_handle *h) {
    nl_mutex_unlock(&h->lock);
    nl_mutex_lock(&kept[library].lock);
    h->users--;
    nl_mutex_unlock(&kept[library].lock);
}

int nl_handle_lock_with_workspace(nl_cudalib library, nl_device *dev, CUstream stream,
                                  const nl_workspace *workspace, nl_handle **out, nl_error *err) {
    nl_handle *h = NULL;
    if (nl_handle_lock(library, dev, stream, &h, err) < 0)
        return -1;
    if (library == NL_CUBLAS && set_workspace(h, workspace, err) < 0) {
        unlock_handle(library, h);
        return -1;
    }
    *out = h;
    return 0;
}

int nl_handle_unlock(nl_cudalib library, nl_handle *h, nl_error *err) {
    int result = restore_own_workspace(h, err);
    unlock_handle(library, h);
    return result;
}
