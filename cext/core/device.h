/* core/device: devices and their primary contexts.
 *
 * A device's primary context is retained on first use, and released by nl_device_close or at the
 * end of the process. Each OS thread has a current device (the configured device, 0 by default,
 * until the thread selects a device). nl_device_bind makes the device's context current; if it is
 * already current, that costs one thread-local compare. (With several devices it also queries the
 * driver's current context, because another library in the process may have changed it.) In a
 * forked child of a process that has opened the driver, every function fails with
 * NL_ERR_RUNTIME. */
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
    /* limits for the checks of every launch */
    int max_threads_per_block, warp_size, multiprocessors;
    int max_block[3], max_grid[3];
    /* bytes of shared memory per block, without and with opt-in */
    int shared_default, shared_optin;
    int has_memory_pools, can_cooperate;
    CUmemoryPool pool;    /* the device's default pool; NULL without memory pools */
    uint64_t pool_access; /* bit i is set if device i can access the pool's memory */
    uint64_t peers;       /* bit i is set if nl_device_enable_peer has succeeded for device i */
    uint64_t visits; /* bit i is set if nl_device_allow_peer_buffers has succeeded for device i */
    /* the number of resets; an object of the device stores the value at its creation, and is
     * invalid after a reset, when the values differ */
    uint64_t generation;
    uint64_t exports; /* see nl_device_add_export */
    /* Counters of allocations in stream order (see buffer.c). `allocated` counts all allocations,
     * `settled` only the allocations that are certainly complete; `fence` is an event on the
     * default stream that covers the first fence_ticket allocations. */
    uint64_t allocated, settled, fence_ticket;
    uint64_t
        upload; /* ticket of the last upload on the default stream for which no thread has waited */
    CUevent fence;
    size_t largest_cache; /* default limit of the cache in bytes */
    uint64_t returned;    /* bytes freed to the driver's pool since the pool was last trimmed */
    CUevent order_event;  /* of nl_stream_order_after */
    CUstream copy_stream; /* see nl_device_get_copy_stream */
    nl_mutex lock;        /* protects the fence, order_event and copy_stream */
    nl_pool cache;        /* of freed buffers */
} nl_device;

/* Sets the driver to open at the first use ("auto", "cuda" or "sim"), the number of simulated
 * devices, and the initial device of threads. Called with Python's configuration. Returns an error
 * if a driver of another kind is already open. */
int nl_device_configure(const char *kind, int sim_devices, int first, nl_error *err);
/* Sets a function that is called when the driver is opened, without any lock of this library.
 * Before the driver is opened, the function is called with NULL, and may call nl_device_configure;
 * afterwards it is called with the kind of the driver. If the function returns -1, opening fails.
 * py/device sets the function once. */
void nl_device_set_open_hook(int (*opener)(const char *kind, nl_error *err));
/* Opens the driver if necessary ("auto": the CUDA driver, else the simulator) and returns its kind,
 * "cuda" or "sim". */
const char *nl_device_open(nl_error *err);
/* Returns the reason why "auto" chose the simulator, or "" if "auto" did not choose it. */
const char *nl_device_fallback_reason(void);
/* Returns whether driver calls are allowed; for release functions. Driver calls are not allowed
 * before the driver is open, in a forked child, or after nl_device_synchronize_at_exit has found a
 * running kernel. */
int nl_device_are_usable(void);
int nl_device_count(int *count, nl_error *err);
/* Returns whether there is at most one device. Makes no driver call. */
int nl_device_is_only_one(void);
/* Sets *handle to the driver's handle of a device, without retaining its context. */
int nl_device_driver_handle(int ordinal, CUdevice *handle, nl_error *err);
/* Returns the maximum shared memory of a block in bytes, with opt-in if the device requires it. */
static inline int nl_device_shared_limit(const nl_device *dev) {
    return dev->shared_optin > dev->shared_default ? dev->shared_optin : dev->shared_default;
}
/* Returns the device with this ordinal, after retaining its context. */
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
/* Returns a count that increases each time this thread binds a device, but not when it binds one to
 * release memory. If two values are equal, the thread has not used a device between the two calls.
 */
uint64_t nl_device_count_uses(void);
/* Call begin before and end after a function for which a stream waits (a stream callback). During a
 * callback, the thread must not use devices, because the driver allows no calls while it waits for
 * a callback (cuStreamDestroy hangs, for example). Releases are postponed, and even the end of the
 * callback does not execute them, because the stream of the next callback waits for this thread. */
void nl_device_callback_begin(void);
void nl_device_callback_end(void);
/* Executes the postponed releases. Waiting functions of core/ call this function after they have
 * waited. */
void nl_device_release_postponed(void);
/* Returns whether this thread is in a callback, so that no driver call is allowed. */
int nl_device_in_callback(void);
/* Member of an object whose release may be postponed. */
typedef struct nl_postponed {
    struct nl_postponed *next;
    void (*release)(void *thing);
    void *thing;
} nl_postponed;
/* If this thread is in a callback or a capture is in progress, stores the release for later and
 * returns 1. Returns 0 if the caller must release the object itself. */
int nl_device_postpone_release(nl_postponed *place, void (*release)(void *thing), void *thing);
/* Binds the device like nl_device_bind, for release functions. Returns 1 if driver calls on an
 * object with this value of nl_device.generation are allowed, else 0. */
int nl_device_bind_for_release(nl_device *dev, uint64_t generation);
/* Waits until the device is idle, for release functions; dev must be bound. Returns 0 if the device
 * may not be idle; then memory that it may use must not be freed. */
int nl_device_wait_for_release(nl_device *dev);
/* Waits for every device in use, before memory is freed that all devices can access. Returns 0 if
 * any device may still use the memory. Afterwards, any device may be bound. */
int nl_device_wait_for_all(void);
/* The generation of a buffer that was closed although arrays still refer to it. */
#define NL_GENERATION_CLOSED UINT64_MAX
/* Returns an error (NL_ERR_RUNTIME) if the device was reset since `generation`, or if the memory
 * was closed; costs one compare otherwise. */
int nl_device_check_generation(const nl_device *dev, uint64_t generation, nl_error *err);
/* Lets kernels and copies of dev access peer's memory directly. Returns 0 on success, or -1 with
 * the driver's reason. Binds dev. */
int nl_device_enable_peer(nl_device *dev, nl_device *peer, nl_error *err);
/* Calls nl_device_enable_peer, and permits passing peer's memory to kernels of dev from now on. */
int nl_device_allow_peer_buffers(nl_device *dev, nl_device *peer, nl_error *err);
/* Returns whether peer's memory may be passed to kernels of dev. */
int nl_device_allows_peer_buffers(const nl_device *dev, const nl_device *peer);
/* Waits for all work on every device whose bit is set in `ordinals`. On return, another device may
 * be bound. */
int nl_device_synchronize_all(uint64_t ordinals, nl_error *err);
/* Attributes that the driver reports for an address. */
typedef struct nl_address {
    unsigned type;    /* CU_MEMORYTYPE_...; 0 for pageable memory, which is not registered with the
                       * driver */
    unsigned managed; /* set if every device and the host can access the memory */
    int ordinal;      /* ordinal of the device, if `type` is not 0 */
} nl_address;
int nl_device_query_pointer(CUdeviceptr address, nl_address *answer, nl_error *err);
/* Returns the device whose memory contains the address. Returns `here` for memory that every device
 * can access (host, managed) and for addresses that are not registered with the driver. Makes no
 * driver call if there is only one device. */
nl_device *nl_device_find_by_address(nl_device *here, CUdeviceptr address);
/* Sets the number of bytes of freed memory that the cache, and the driver's pool, keep for
 * reuse. */
int nl_device_set_cache_limit(nl_device *dev, size_t limit, nl_error *err);
/* Sets *stream to a non-blocking stream of dev, for copies between devices that are enqueued on a
 * stream of the other device. The stream is created once. Binds dev. */
int nl_device_get_copy_stream(nl_device *dev, CUstream *stream, nl_error *err);
/* Waits for all devices at the end of the process, so that later releases need not wait. If a wait
 * for a device is interrupted, no memory is freed afterwards. Call this function without the
 * interpreter's lock. */
void nl_device_synchronize_at_exit(void);
/* Waits for all work on dev (cuCtxSynchronize). Call this function without the interpreter's
 * lock. */
int nl_device_synchronize(nl_device *dev, nl_error *err);
/* Call this function before a host array uses memory of the device (managed, write-combined, or any
 * memory that the simulator exports). Until nl_device_drop_export, the device cannot be reset or
 * closed, because reading the array would crash. */
int nl_device_add_export(nl_device *dev, nl_error *err);
void nl_device_drop_export(nl_device *dev);
/* Counter of events that may invalidate addresses that were read before: a device was closed or
 * reset, or an array was moved. Code that reads addresses, then calls Python code, then uses the
 * addresses, must check that this counter has not changed. */
extern uint64_t nl_device_epoch;
/* Call this function after an array was moved. */
void nl_device_bump_epoch(void);
/* Destroys and recreates the primary context, usually after a fault. All memory on the device is
 * lost, also that of other libraries in the process. Returns an error while memory is exported. */
int nl_device_reset(nl_device *dev, nl_error *err);
/* Releases the primary context until the next use. All memory on the device is lost, unless another
 * library in the process retains the context, or memory is exported. If another library retains the
 * context or memory is exported, nothing is lost. */
int nl_device_close(int ordinal, nl_error *err);
/* Returns whether a device with this ordinal exists. Does not open the driver. */
int nl_device_exists(int ordinal);
/* Returns whether the context of this device is retained. */
int nl_device_is_ready(int ordinal);

#endif
