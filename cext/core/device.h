/* core/device: devices and their primary contexts.
 *
 * A device's primary context is retained on first use, until the process ends or nl_device_close
 * releases it. Each OS thread has a current device (until it selects one, the configured one, 0 by
 * default). nl_device_bind makes the device's context current; if it is current already, that costs
 * one thread-local compare. (With several devices it also queries the driver's current context,
 * because another library in the process may have changed it.) In a forked child of a process that
 * has opened the driver, every function fails with NL_ERR_RUNTIME. */
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
    /* bytes of shared memory per block, without and with opting in */
    int shared_default, shared_optin;
    int has_memory_pools, can_cooperate;
    CUmemoryPool pool;    /* the device's default pool; NULL without memory pools */
    uint64_t pool_access; /* bit i: device i can access the pool's memory */
    uint64_t peers;       /* bit i: nl_device_enable_peer has succeeded for device i */
    uint64_t visits;      /* bit i: nl_device_allow_visits has succeeded for device i */
    uint64_t generation;  /* incremented by a reset; objects with an older value are invalid */
    uint64_t exports;     /* see nl_device_add_export */
    /* Counters of allocations in stream order (see buffer.c). `allocated` counts all allocations,
     * `settled` those that are certainly complete; `fence` is an event on the default stream that
     * covers the first fence_ticket allocations. */
    uint64_t allocated, settled, fence_ticket;
    uint64_t
        upload; /* ticket of the last upload on the default stream for which no thread has waited */
    CUevent fence;
    size_t largest_cache; /* bytes: the default limit of the cache */
    uint64_t returned;    /* bytes freed to the driver's pool since the pool was last trimmed */
    CUevent order_event;  /* of nl_stream_order */
    CUstream copy_stream; /* see nl_device_get_copy_stream */
    nl_mutex lock;        /* protects the fence, order_event and copy_stream */
    nl_pool cache;        /* of freed buffers */
} nl_device;

/* Sets which driver to open on first use ("auto", "cuda" or "sim"), the number of simulated
 * devices, and the device of threads that have not selected one. Called with Python's
 * configuration. Fails if the driver is open with another kind. */
int nl_device_configure(const char *kind, int sim_devices, int first, nl_error *err);
/* Sets a function that is called when the driver is opened, without any lock of this library.
 * Before the driver is opened, the argument is NULL, and the function may call nl_device_configure;
 * afterwards the argument is the kind of driver. If it returns -1, opening fails. Set once, by
 * py/. */
void nl_device_set_opener(int (*opener)(const char *kind, nl_error *err));
/* Opens the driver if necessary ("auto": the CUDA driver, else the simulator) and returns its kind,
 * "cuda" or "sim". */
const char *nl_device_open(nl_error *err);
/* Returns the reason why "auto" chose the simulator, or "" if "auto" did not choose it. */
const char *nl_device_fallback_reason(void);
/* For release functions: returns whether driver calls are allowed. Driver calls are not allowed
 * before the driver is open, in a forked child, or after nl_device_end has found a running
 * kernel. */
int nl_device_usable(void);
int nl_device_count(int *count, nl_error *err);
/* Returns whether there is at most one device. Makes no driver call. */
int nl_device_is_alone(void);
/* Sets *handle to the driver's handle of a device, without retaining its context. */
int nl_device_handle(int ordinal, CUdevice *handle, nl_error *err);
/* Returns the maximum shared memory of a block in bytes, with opt-in where the device requires
 * it. */
static inline int nl_device_shared_limit(const nl_device *dev) {
    return dev->shared_optin > dev->shared_default ? dev->shared_optin : dev->shared_default;
}
/* Returns the device with this ordinal, its context retained. */
nl_device *nl_device_get(int ordinal, nl_error *err);
/* Binds the calling thread's device and returns it. Every operation on a device begins with this
 * call. */
nl_device *nl_device_current(nl_error *err);
/* Returns the ordinal of the calling thread's device. */
int nl_device_selected(void);
/* Returns the ordinal that the calling thread has selected, or -1. */
int nl_device_thread_selection(void);
/* Selects the calling thread's device. */
int nl_device_select(int ordinal, nl_error *err);
/* Removes the calling thread's selection. */
int nl_device_unselect(nl_error *err);
/* Sets the device of all threads that have not selected one. */
int nl_device_select_first(int ordinal, nl_error *err);
/* Makes dev's context current in the calling thread. Does not change the selection. */
int nl_device_bind(nl_device *dev, nl_error *err);
/* Returns how many times this thread has bound a device, except for releases. Compare two values to
 * find whether the thread has used a device in between. */
uint64_t nl_device_uses(void);
/* Call before and after a function that a stream waits for (a stream callback). Between the two
 * calls, this thread must not use devices, because the driver allows no calls while it waits for a
 * callback (cuStreamDestroy hangs, for example). Releases are postponed; even the end of the
 * callback does not execute them, because the stream of the next callback waits for this thread. */
void nl_device_callback_begin(void);
void nl_device_callback_end(void);
/* Executes the postponed releases. Waiting functions of core/ call this function after they have
 * waited. */
void nl_device_release_postponed(void);
/* Returns whether this thread is in a callback, so that no driver call is allowed. */
int nl_device_in_callback(void);
/* Member of an object whose release may have to be postponed. */
typedef struct nl_postponed {
    struct nl_postponed *next;
    void (*release)(void *thing);
    void *thing;
} nl_postponed;
/* If this thread is in a callback or a capture is in progress, stores the release for later and
 * returns 1. Otherwise returns 0: the caller must release the object itself. */
int nl_device_postpone(nl_postponed *place, void (*release)(void *thing), void *thing);
/* nl_device_bind for release functions. Returns 1 if driver calls on objects of this generation are
 * allowed, else 0. */
int nl_device_bind_for_release(nl_device *dev, uint64_t generation);
/* For release functions; dev must be bound. Waits until the device is idle. Returns 0 if it may not
 * be idle: then memory that it may use must not be freed. */
int nl_device_wait_for_release(nl_device *dev);
/* Like nl_device_wait_for_release, for memory that all devices can access: waits for every device
 * in use. Returns 0 if any device may still use the memory. Afterwards, any device may be bound. */
int nl_device_wait_for_all(void);
/* Generation of memory that was closed while objects still refer to it. */
#define NL_GENERATION_CLOSED UINT64_MAX
/* Fails (NL_ERR_RUNTIME) if the device was reset since `generation`, or the memory was closed; one
 * compare otherwise. */
int nl_device_alive(const nl_device *dev, uint64_t generation, nl_error *err);
/* Lets kernels and copies of dev access peer's memory directly. Returns 0 if they can, -1 with the
 * driver's reason if not. Binds dev. */
int nl_device_enable_peer(nl_device *dev, nl_device *peer, nl_error *err);
/* Calls nl_device_enable_peer, and permits passing peer's memory to kernels of dev from now on. */
int nl_device_allow_visits(nl_device *dev, nl_device *peer, nl_error *err);
/* Returns whether peer's memory may be passed to kernels of dev. */
int nl_device_may_visit(const nl_device *dev, const nl_device *peer);
/* Waits for all work on every device whose bit is set in `ordinals`. Another device may be bound
 * afterwards. */
int nl_device_synchronize_all(uint64_t ordinals, nl_error *err);
/* Attributes that the driver reports for an address. */
typedef struct nl_address {
    unsigned type;    /* CU_MEMORYTYPE_...; 0 for pageable memory, which the driver does not know */
    unsigned managed; /* every device and the host can access it */
    int ordinal;      /* ordinal of the device, if `type` is not 0 */
} nl_address;
int nl_device_query_pointer(CUdeviceptr address, nl_address *answer, nl_error *err);
/* Returns the device whose memory contains the address. Returns `here` for memory that every device
 * can access (host, managed) and for addresses that the driver does not know. Makes no driver call
 * if there is only one device. */
nl_device *nl_device_of_address(nl_device *here, CUdeviceptr address);
/* Sets the number of bytes of freed memory that the cache, and the driver's pool, keep for
 * reuse. */
int nl_device_set_cache_limit(nl_device *dev, size_t limit, nl_error *err);
/* Sets *stream to a non-blocking stream of dev, for copies between devices that are issued on a
 * stream of the other device. The stream is created once. Binds dev. */
int nl_device_get_copy_stream(nl_device *dev, CUstream *stream, nl_error *err);
/* Called at the end of the process: waits for all devices, so that later releases need not wait. If
 * a wait for a device is interrupted, no memory is freed from then on. Call without the
 * interpreter's lock. */
void nl_device_end(void);
/* Waits for all work on dev (cuCtxSynchronize). Call without the interpreter's lock. */
int nl_device_synchronize(nl_device *dev, nl_error *err);
/* Call before a host array uses memory of the device (managed, write-combined, or any that the
 * simulator exports). Until nl_device_drop_export, the device is neither reset nor closed, because
 * reading the array would crash. */
int nl_device_add_export(nl_device *dev, nl_error *err);
void nl_device_drop_export(nl_device *dev);
/* Counter of events that may invalidate addresses that were read earlier: a device was closed or
 * reset, or an array was moved. Code that reads addresses, then calls Python code, then uses the
 * addresses, must check that this counter has not changed. */
extern uint64_t nl_device_epoch;
/* Call after an array was moved. */
void nl_device_moved(void);
/* Resets the primary context (after a fault). All memory on the device is lost, also that of other
 * libraries in the process. Fails while memory is exported. */
int nl_device_reset(nl_device *dev, nl_error *err);
/* Releases the primary context until the next use. All memory on the device is lost, unless another
 * library in the process holds the context, or memory is exported. In these two cases nothing is
 * lost. */
int nl_device_close(int ordinal, nl_error *err);
/* Returns whether a device with this ordinal exists. Does not open the driver. */
int nl_device_exists(int ordinal);
/* Returns whether the context of this device is retained. */
int nl_device_is_ready(int ordinal);

#endif
