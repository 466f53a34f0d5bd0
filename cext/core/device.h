/* core/device: devices and their primary contexts.
 *
 * A device is retained on first use and lives until the process ends. Each OS thread has a current
 * device (until it selects one, what was configured: 0); nl_device_bind makes its context current
 * with one thread-local compare when nothing changed. (With several devices it also asks the driver
 * which context is current, for another library in the process may have switched it.) After fork
 * every entry fails with a clear NL_ERR_RUNTIME in the child. */
#ifndef NL_CORE_DEVICE_H
#define NL_CORE_DEVICE_H

#include "base/error.h"
#include "base/lock.h"
#include "core/pool.h"
#include "driver/driver.h"

typedef struct nl_device {
    int ordinal;
    CUdevice handle;
    CUcontext context;
    int compute_major, compute_minor;
    /* limits that every launch is checked against */
    int max_threads_per_block, warp_size, multiprocessors;
    int max_block[3], max_grid[3];
    int shared_default, shared_optin; /* bytes per block without and with opting in */
    int has_memory_pools, can_cooperate;
    CUmemoryPool pool;    /* the device's default one, NULL without memory pools */
    uint64_t pool_access; /* bit per ordinal: that device reaches what is in the pool */
    uint64_t peers;       /* bit per ordinal: nl_device_enable_peer has been done */
    uint64_t visits;      /* bit per ordinal: nl_device_allow_visits has been done */
    uint64_t generation;  /* goes up with every reset: what was made before is gone */
    uint64_t exports;     /* see nl_device_add_export */
    /* Allocations in stream order, see buffer.c: how many were made, how many of them have surely
     * happened, and an event on the default stream that covers the first fence_ticket of them. */
    uint64_t allocated, settled, fence_ticket;
    uint64_t
        upload; /* the ticket of the last upload on the default stream that was not waited for */
    CUevent fence;
    size_t largest_cache; /* bytes: the default of the cache's limit */
    uint64_t returned;    /* bytes freed to the driver's pool since it was trimmed */
    CUevent order_event;  /* of nl_stream_order */
    CUstream copy_stream; /* see nl_device_copy_stream */
    nl_mutex lock;        /* of the fence, order_event and copy_stream */
    nl_pool cache;        /* of buffers that were freed */
} nl_device;

/* How to open the driver when something first needs it, and the device that threads begin with; set
 * from Python's config before that. kind: "auto", "cuda", "sim". Fails once the driver is open with
 * another kind. */
int nl_device_configure(const char *kind, int sim_devices, int first, nl_error *err);
/* Called around opening, without any of our locks: with NULL before (it may configure), with the
 * kind afterwards. -1 fails the opening. Set once, by py/. */
void nl_device_set_opener(int (*opener)(const char *kind, nl_error *err));
/* Opens the driver if need be (auto: real, else simulator) and returns its kind, "cuda" or "sim".
 */
const char *nl_device_open(nl_error *err);
/* Why "auto" took the simulator; "" where it did not. */
const char *nl_device_fallback_reason(void);
/* May driver calls be made at all? Not before opening, not in a forked child. For release
 * functions. */
int nl_device_usable(void);
int nl_device_count(int *count, nl_error *err);
/* Is there no second device? Makes no call. */
int nl_device_is_alone(void);
/* The driver's handle of a device, without touching its context. */
int nl_device_handle(int ordinal, CUdevice *handle, nl_error *err);
/* Bytes of shared memory that a block may have, opted in where that is needed. */
static inline int nl_device_shared_limit(const nl_device *dev) {
    return dev->shared_optin > dev->shared_default ? dev->shared_optin : dev->shared_default;
}
/* Device by ordinal, its context retained. */
nl_device *nl_device_get(int ordinal, nl_error *err);
/* The calling thread's device, bound. The one to call at the start of every operation. */
nl_device *nl_device_current(nl_error *err);
/* The calling thread's selected ordinal. */
int nl_device_selected(void);
/* What the calling thread itself has selected: an ordinal, or -1. */
int nl_device_own_selection(void);
/* Selects the calling thread's device. */
int nl_device_select(int ordinal, nl_error *err);
/* Goes back to having selected none. */
int nl_device_unselect(nl_error *err);
/* Selects the device of all threads that have not selected one. */
int nl_device_select_first(int ordinal, nl_error *err);
/* Makes dev's context current in the calling thread without changing what is selected. */
int nl_device_bind(nl_device *dev, nl_error *err);
/* How often this thread has bound a device, but for releases: has it used one in between? */
uint64_t nl_device_uses(void);
/* Around a function that a stream waits for (a stream callback): until the end this thread may not
 * use devices, for the driver allows no calls while it waits for a callback (cuStreamDestroy, say,
 * hangs). Releases are put off: not even at the end can they be done by this thread, because the
 * next callback's stream waits for it. */
void nl_device_callback_begin(void);
void nl_device_callback_end(void);
/* Does what was put off; the waiting functions of core/ call it when they have waited. */
void nl_device_release_postponed(void);
/* Is this thread in a callback, so that no driver call can be made? */
int nl_device_in_callback(void);
/* Part of a thing whose release may have to be put off. */
typedef struct nl_postponed {
    struct nl_postponed *next;
    void (*release)(void *thing);
    void *thing;
} nl_postponed;
/* 1 if this thread is in a callback, or a capture is under way: release(thing) is called later.
 * Else 0 and nothing happens. */
int nl_device_postpone(nl_postponed *place, void (*release)(void *thing), void *thing);
/* The same as nl_device_bind for release functions: 1 if calls on things of this generation may be
 * made, else 0. */
int nl_device_bind_for_release(nl_device *dev, uint64_t generation);
/* For release functions, bound: waits until the device is idle. 0 if it cannot be told that it is:
 * then what it may be using must not be freed. */
int nl_device_wait_for_release(nl_device *dev);
/* The same for every device that is in use, for memory that all of them reach: 0 if any of them may
 * be using it. Leaves any of them bound. */
int nl_device_wait_for_all(void);
/* Fails (NL_ERR_RUNTIME) if the device was reset since `generation`; one compare otherwise. */
int nl_device_alive(const nl_device *dev, uint64_t generation, nl_error *err);
/* Lets kernels and copies of dev reach peer's memory directly; 0 if they can by now, -1 with the
 * driver's reason if not. Binds dev. */
int nl_device_enable_peer(nl_device *dev, nl_device *peer, nl_error *err);
/* The same, and from now on kernels of dev may be given memory of peer's. */
int nl_device_allow_visits(nl_device *dev, nl_device *peer, nl_error *err);
/* May kernels of dev be given memory of peer's? */
int nl_device_may_visit(const nl_device *dev, const nl_device *peer);
/* Waits for all work on every device with a bit in `ordinals`. Leaves another one bound. */
int nl_device_synchronize_all(uint64_t ordinals, nl_error *err);
/* What the driver knows of an address. No error comes of one that it does not know. */
typedef struct nl_address {
    unsigned type;    /* CU_MEMORYTYPE_...; 0: not known, so the host's */
    unsigned managed; /* every device and the host reach it */
    int ordinal;      /* of the device, where the type is known */
} nl_address;
int nl_device_ask(CUdeviceptr address, nl_address *answer, nl_error *err);
/* The device whose memory is at an address; `here` for memory that every device reaches (the
 * host's, managed), and where it cannot be told. Makes no driver call where there is one device
 * only. */
nl_device *nl_device_of_address(nl_device *here, CUdeviceptr address);
/* A stream in no order with others, for this side of copies between devices whose own stream is
 * another device's. Made once. Binds dev. */
/* How many bytes of freed memory stay reserved, by the cache and by the driver's pool. */
int nl_device_set_cache_limit(nl_device *dev, size_t limit, nl_error *err);
int nl_device_copy_stream(nl_device *dev, CUstream *stream, nl_error *err);
/* The process is about to end: waits for all devices, so that what frees things later need not.
 * Where such a wait has been given up, nothing is freed any more. Call without the interpreter's
 * lock. */
void nl_device_end(void);
/* cuCtxSynchronize on dev. Call without the interpreter's lock. */
int nl_device_synchronize(nl_device *dev, nl_error *err);
/* Host arrays are going to lie in memory of the device (managed, write-combined, or any that the
 * simulator exports): from here to the return the device is neither reset nor closed, for whoever
 * read them would crash. */
int nl_device_add_export(nl_device *dev, nl_error *err);
void nl_device_drop_export(nl_device *dev);
/* Goes up whenever addresses that were read may no longer be right: a device was closed or reset,
 * or an array moved. Whoever reads addresses, calls Python code and uses them compares. */
extern uint64_t nl_device_epoch;
/* An array has moved. */
void nl_device_moved(void);
/* Resets the primary context (after a fault): everything on the device is lost, also what other
 * libraries in the process have there. Fails while memory is exported. */
int nl_device_reset(nl_device *dev, nl_error *err);
/* Gives the primary context up, until the next use. Where nobody else in the process holds it and
 * no memory is exported, everything on the device is lost with it; else nothing is. */
int nl_device_close(int ordinal, nl_error *err);
/* Is there such a device? The driver is not opened for this. */
int nl_device_is_known(int ordinal);
/* Is its context retained? */
int nl_device_is_ready(int ordinal);

#endif
