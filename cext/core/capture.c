/* core/capture: implements the list of active captures, which is searched only while it is not
 * empty. A capture is identified by the driver's capture id of a stream, so that streams that
 * joined a capture through an event are also found. */
#include "core/capture.h"

#include <string.h>
#include "base/mem.h"

uint64_t nl_capture_count;
static nl_mutex lock = NL_MUTEX_INIT;
static nl_capture *under_way;
static NL_THREAD_LOCAL char here; /* its address identifies the thread */

NL_THREAD_LOCAL int nl_capture_is_foreign;

int nl_capture_relax_mode(int *mode, nl_error *err) {
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return NL_CU(err, ThreadExchangeStreamCaptureMode, mode);
}

void nl_capture_restore_mode(int mode) {
    nl_driver_print_failure(nl_cu.ThreadExchangeStreamCaptureMode(&mode),
                            "cuThreadExchangeStreamCaptureMode");
}

static void forget_captures_in_child(void) {
    nl_mutex_init(&lock);
    under_way = NULL;
    nl_atomic_store(&nl_capture_count, 0);
}

/* The driver does not report which capture the stream belongs to, so all captures are marked as
 * invalidated. */
static void mark_captures_invalidated(CUresult status) {
    nl_mutex_lock(&lock);
    for (nl_capture *c = under_way; c != NULL; c = c->next)
        c->invalidated = status;
    nl_mutex_unlock(&lock);
}

unsigned long long nl_capture_id_of_stream(CUstream stream) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    if (!nl_capture_is_any_active() || stream == NULL || stream == CU_STREAM_LEGACY)
        return 0;
    CUresult answer = nl_cu.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL);
    if (answer != CUDA_SUCCESS) {
        mark_captures_invalidated(answer);
        return 0;
    }
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

static nl_capture *find_capture_lock_held(unsigned long long id) {
    nl_capture *c = under_way;
    while (c != NULL && c->id != id)
        c = c->next;
    return c;
}

int nl_capture_has_stream(CUstream stream) {
    unsigned long long id = nl_capture_id_of_stream(stream);
    if (id == 0)
        return 0;
    nl_mutex_lock(&lock);
    int has = find_capture_lock_held(id) != NULL;
    nl_mutex_unlock(&lock);
    return has;
}

void *nl_capture_retain_owner(CUstream stream, void (*retain)(void *owner)) {
    unsigned long long id = nl_capture_id_of_stream(stream);
    void *owner = NULL;
    if (id == 0)
        return NULL;
    nl_mutex_lock(&lock);
    nl_capture *c = find_capture_lock_held(id);
    if (c != NULL) {
        owner = c->owner;
        retain(owner);
    }
    nl_mutex_unlock(&lock);
    return owner;
}

int nl_capture_is_on_device(const void *device) {
    int found = 0;
    if (!nl_capture_is_any_active())
        return 0;
    nl_mutex_lock(&lock);
    for (nl_capture *c = under_way; c != NULL && !found; c = c->next)
        found = c->device == device;
    nl_mutex_unlock(&lock);
    return found;
}

CUstream nl_capture_stream_of_thread(void) {
    CUstream stream = NULL;
    if (!nl_capture_is_any_active())
        return NULL;
    nl_mutex_lock(&lock);
    for (nl_capture *c = under_way; c != NULL && stream == NULL; c = c->next)
        stream = c->thread == &here ? c->stream : NULL;
    nl_mutex_unlock(&lock);
    return stream;
}

int nl_capture_is_active_in_thread(void) {
    return nl_capture_stream_of_thread() != NULL;
}

/* ---- the objects that a capture uses ---- */

/* Returns the index of the object in the sorted array, or the index at which to insert an absent
 * object. */
static size_t position_of_capture(const nl_capture *c, const void *thing) {
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)c->things[middle] < (uintptr_t)thing)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_object_lock_held(nl_capture *c, void *thing, nl_error *err) {
    size_t at = position_of_capture(c, thing);
    if (at < c->count && c->things[at] == thing)
        return 2;
    if (c->count == c->capacity) {
        size_t capacity = c->capacity != 0 ? 2 * c->capacity : 8;
        void **more = nl_mem_alloc(capacity * sizeof *more, err);
        if (more == NULL)
            return -1;
        if (c->count != 0)
            memcpy(more, c->things, c->count * sizeof *more);
        nl_mem_free(c->things);
        c->things = more;
        c->capacity = capacity;
    }
    memmove(&c->things[at + 1], &c->things[at], (c->count - at) * sizeof c->things[0]);
    c->things[at] = thing;
    c->count++;
    return 1;
}

int nl_capture_keep_alive(CUstream stream, void *thing, nl_error *err) {
    unsigned long long id = nl_capture_id_of_stream(stream);
    if (id == 0)
        return 0;
    nl_mutex_lock(&lock);
    nl_capture *c = find_capture_lock_held(id);
    int status = c != NULL ? add_object_lock_held(c, thing, err) : 0;
    nl_mutex_unlock(&lock);
    return status;
}

/* ---- begin and end ---- */

void nl_capture_open(void) {
    nl_thread_call_in_child(forget_captures_in_child);
    nl_atomic_add(&nl_capture_count, 1);
}

void nl_capture_close(void) {
    nl_atomic_sub(&nl_capture_count, 1);
}

int nl_capture_register(nl_capture *c, CUstream stream, nl_error *err) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (NL_CU(err, StreamGetCaptureInfo, stream, &status, &c->id, NULL, NULL, NULL) < 0)
        return -1;
    c->thread = &here;
    c->stream = stream;
    nl_mutex_lock(&lock);
    c->next = under_way;
    under_way = c;
    nl_mutex_unlock(&lock);
    return 0;
}

int nl_capture_is_active(const nl_capture *capture) {
    nl_mutex_lock(&lock);
    const nl_capture *c = under_way;
    while (c != NULL && c != capture)
        c = c->next;
    nl_mutex_unlock(&lock);
    return c != NULL;
}

int nl_capture_unregister(nl_capture *c) {
    nl_mutex_lock(&lock);
    nl_capture **p = &under_way;
    while (*p != NULL && *p != c)
        p = &(*p)->next;
    int found = *p != NULL;
    if (found)
        *p = c->next;
    c->owner = NULL;
    nl_mutex_unlock(&lock);
    return found;
}
