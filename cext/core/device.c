/* core/device: opens the driver once, retains each primary context on first use, and tracks which
 * context is current in each thread.
 *
 * Devices are elements of a static array: an nl_device pointer stays valid until the process ends.
 * A thread's cached current context is invalid after nl_device_epoch has increased, and in a forked
 * child. A reset increases the device's generation; an object with an older generation is invalid,
 * and the driver must not be called to use or free it. */
#include "core/device.h"

#include <stdio.h>
#include <string.h>
#include "core/capture.h"
#include "core/wait.h"

#define MAX_DEVICES 64
#define EXPORTS_REFUSED UINT64_MAX /* a value of nl_device.exports during a reset */

static nl_mutex lock = NL_MUTEX_INIT;   /* protects opening and retaining */
static nl_mutex resets = NL_MUTEX_INIT; /* held during a reset; acquired before `lock` */
static char wanted_kind[8] = "auto";
static int wanted_sim_devices = 1;
static uint64_t first_device; /* initial device of threads that have not selected a device */
static char fallback_reason[sizeof((nl_error *)0)->text];
static int (*opener)(const char *kind, nl_error *err);

static nl_device devices[MAX_DEVICES];
static uint64_t ready[MAX_DEVICES];     /* the context is retained */
static uint64_t resetting[MAX_DEVICES]; /* bit i is set while device i is being reset or closed */
static int device_count;
static uint64_t opened, opening, forked;
static uint64_t abandoned; /* 1 if a kernel may run forever while the process ends */

static nl_mutex postponed_lock = NL_MUTEX_INIT;
/* list of the releases that callbacks have postponed; the next thread that waits executes these
 * releases */
static nl_postponed *postponed;

uint64_t nl_device_epoch;

static NL_THREAD_LOCAL struct {
    nl_device *bound; /* device whose context is current, if `epoch` equals nl_device_epoch */
    uint64_t epoch;
    uint64_t uses; /* see nl_device_count_uses */
    int selected;  /* ordinal + 1; 0: none selected */
    /* 1 in a callback; in a callback, `bound` is NULL, so that every use of a device calls
     * bind_anew, which returns an error */
    int in_callback;
    nl_postponed
        *postponed; /* memory to release after the callback, in which driver calls are forbidden */
} here;

static void forget_devices_in_child(void) {
    nl_mutex_init(&lock);
    nl_mutex_init(&resets);
    nl_mutex_init(&postponed_lock);
    for (int i = 0; i < device_count; ++i) {
        nl_mutex_init(&devices[i].lock);
        nl_mutex_init(&devices[i].cache.lock);
    }
    if (nl_atomic_load(&opening))
        nl_atomic_store(&forked, 1);
    nl_atomic_add(&nl_device_epoch, 1);
}

static int check_not_forked(nl_error *err) {
    if (!nl_atomic_load(&forked))
        return 0;
    return nl_error_set(
        err, NL_ERR_RUNTIME,
        "CUDA initialized before forking: this process was forked from one that had used a device, "
        "and CUDA does not work across a fork: "
        "start workers with multiprocessing's \"spawn\" or \"forkserver\" method, "
        "or use devices only in the workers");
}

int nl_device_configure(const char *kind, int sim_devices, int first, nl_error *err) {
    if (strcmp(kind, "auto") != 0 && strcmp(kind, "cuda") != 0 && strcmp(kind, "sim") != 0) {
        return nl_error_set(err, NL_ERR_VALUE,
                            "the driver must be \"auto\", \"cuda\" or \"sim\", not \"%.40s\"",
                            kind);
    }
    if (sim_devices < 1 || sim_devices > MAX_DEVICES) {
        return nl_error_set(err, NL_ERR_VALUE,
                            "the number of simulated devices must be 1 to %d, not %d", MAX_DEVICES,
                            sim_devices);
    }
    int status = 0;
    nl_mutex_lock(&lock);
    if (!opened) {
        snprintf(wanted_kind, sizeof wanted_kind, "%s", kind);
        wanted_sim_devices = sim_devices;
        nl_atomic_store(&first_device, (uint64_t)first);
    } else if (strcmp(kind, "auto") != 0 && strcmp(kind, nl_cu.kind) != 0) {
        status = nl_error_set(err, NL_ERR_RUNTIME,
                              "the driver is open already and is \"%s\"; "
                              "\"%s\" has to be chosen before the first use of a device",
                              nl_cu.kind, kind);
    }
    nl_mutex_unlock(&lock);
    return status;
}

void nl_device_set_open_hook(int (*function)(const char *kind, nl_error *err)) {
    opener = function;
}

static int open_driver_lock_held(nl_error *err) {
    fallback_reason[0] = '\0';
    if (strcmp(wanted_kind, "auto") != 0) {
        return nl_driver_open(wanted_kind, wanted_sim_devices, err);
    }
    if (nl_driver_open("cuda", 0, err) == 0)
        return 0;
    snprintf(fallback_reason, sizeof fallback_reason, "%s", err->text);
    return nl_driver_open("sim", wanted_sim_devices, err);
}

static int open_devices_lock_held(nl_error *err) {
    int count = 0;
    nl_thread_call_in_child(forget_devices_in_child);
    nl_driver_set_adapter(nl_wait_adapt_table);
    nl_atomic_store(&opening, 1);
    if (open_driver_lock_held(err) < 0 || NL_CU(err, DeviceGetCount, &count) < 0) {
        nl_atomic_store(&opening, nl_driver_is_open());
        return -1;
    }
    device_count = count < MAX_DEVICES ? count : MAX_DEVICES;
    for (int i = 0; i < device_count; ++i) {
        devices[i].ordinal = i;
        nl_mutex_init(&devices[i].lock);
        nl_pool_init(&devices[i].cache, 0);
    }
    nl_atomic_store(&opened, 1);
    return 0;
}

/* The opener runs Python code, so it is called without the lock. If several threads open at the
 * same time, only the thread that has opened the driver calls the opener again afterwards. */
const char *nl_device_open(nl_error *err) {
    if (check_not_forked(err) < 0)
        return NULL;
    if (nl_atomic_load(&opened))
        return nl_cu.kind;
    if (opener != NULL && opener(NULL, err) < 0)
        return NULL;
    nl_mutex_lock(&lock);
    int was_open = opened != 0;
    int status = was_open ? 0 : open_devices_lock_held(err);
    nl_mutex_unlock(&lock);
    if (status < 0)
        return NULL;
    if (!was_open && opener != NULL && opener(nl_cu.kind, err) < 0)
        return NULL;
    return nl_cu.kind;
}

const char *nl_device_fallback_reason(void) {
    return fallback_reason;
}

void nl_device_synchronize_at_exit(void) {
    nl_error ignored;
    for (int i = 0; i < device_count && nl_device_are_usable() && !nl_wait_was_any_ended(); i++)
        if (nl_atomic_load(&ready[i]))
            (void)nl_device_synchronize(&devices[i], &ignored);
    if (nl_wait_was_any_ended()) {
        nl_atomic_store(&abandoned, 1);
        nl_wait_register_exit();
    }
}

int nl_device_are_usable(void) {
    return nl_atomic_load(&opened) && !nl_atomic_load(&forked) && !nl_atomic_load(&abandoned);
}

int nl_device_count(int *count, nl_error *err) {
    if (nl_device_open(err) == NULL)
        return -1;
    *count = device_count;
    return 0;
}

int nl_device_is_only_one(void) {
    return device_count <= 1;
}

static int check_ordinal(int ordinal, nl_error *err) {
    if (nl_device_open(err) == NULL)
        return -1;
    if (ordinal >= 0 && ordinal < device_count)
        return 0;
    return nl_error_set(err, NL_ERR_INDEX, "there is no device %d: this process sees %d device%s",
                        ordinal, device_count, device_count == 1 ? "" : "s");
}

int nl_device_driver_handle(int ordinal, CUdevice *handle, nl_error *err) {
    if (check_ordinal(ordinal, err) < 0)
        return -1;
    return NL_CU(err, DeviceGet, handle, ordinal);
}

/* Reads the limits for the checks of launches, and other attributes. */
static int read_limits(nl_device *dev, nl_error *err) {
    const struct {
        int attribute, *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &dev->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &dev->compute_minor},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &dev->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &dev->warp_size},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &dev->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &dev->max_block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &dev->max_block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &dev->max_block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &dev->max_grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &dev->max_grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &dev->max_grid[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &dev->shared_default},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &dev->shared_optin},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &dev->can_cooperate},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &dev->has_memory_pools},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        if (NL_CU(err, DeviceGetAttribute, wanted[i].value, wanted[i].attribute, dev->handle) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Allows the device's peers to access the memory of the pool. Call this function while the pool is
 * empty: a change of a pool's access rights makes concurrent copies and kernels that use the pool's
 * memory fail. */
static void grant_peer_access(nl_device *dev) {
    nl_error ignored;
    dev->pool_access = 0;
    for (int i = 0; i < device_count; i++) {
        CUmemAccessDesc access = {.location = {.type = 1}, .flags = 3};
        int can = 0;
        if (i != dev->ordinal && NL_CU(&ignored, DeviceGet, &access.location.id, i) == 0 &&
            NL_CU(&ignored, DeviceCanAccessPeer, &can, access.location.id, dev->handle) == 0 &&
            can && NL_CU(&ignored, MemPoolSetAccess, dev->pool, &access, 1) == 0)
            dev->pool_access |= UINT64_C(1) << i;
    }
}

/* Opens the driver's pool, which returns memory above the cache's limit to the system at the next
 * synchronization. The limit is set when the device is opened, before any stream can be
 * captured. */
static int open_pool(nl_device *dev, nl_error *err) {
    dev->pool = NULL;
    if (!dev->has_memory_pools)
        return 0;
    if (NL_CU(err, DeviceGetDefaultMemPool, &dev->pool, dev->handle) < 0)
        return -1;
    grant_peer_access(dev);
    return nl_device_set_cache_limit(dev, nl_pool_read_statistics(&dev->cache).cache_limit, err);
}

int nl_device_set_cache_limit(nl_device *dev, size_t limit, nl_error *err) {
    uint64_t threshold = limit;
    nl_pool_set_limits(&dev->cache, nl_pool_read_statistics(&dev->cache).limit, limit);
    return dev->pool == NULL ? 0
                             : NL_CU(err, MemPoolSetAttribute, dev->pool,
                                     CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

/* The cache may keep this fraction (1/4) of the device's memory while no array uses it: enough for
 * the large temporary arrays of a step, and little enough for other libraries and processes. */
#define CACHE_SHARE 4

/* Sets the default limits only at the first use, because limits that the user has set must survive
 * a reset. */
static int open_cache(nl_device *dev, nl_error *err) {
    size_t total = 0;
    if (dev->generation > 0)
        return 0;
    if (NL_CU(err, DeviceTotalMem, &total, dev->handle) < 0)
        return -1;
    dev->largest_cache = total / CACHE_SHARE;
    nl_pool_set_limits(&dev->cache, SIZE_MAX, nl_cu.watches_freed ? 0 : dev->largest_cache);
    return 0;
}

static int retain_context_lock_held(nl_device *dev, nl_error *err) {
    if (NL_CU(err, DeviceGet, &dev->handle, dev->ordinal) < 0)
        return -1;
    if (read_limits(dev, err) < 0 || open_cache(dev, err) < 0)
        return -1;
    if (NL_CU(err, DevicePrimaryCtxRetain, &dev->context, dev->handle) < 0)
        return -1;
    if (open_pool(dev, err) < 0) {
        nl_driver_print_failure(nl_cu.DevicePrimaryCtxRelease(dev->handle),
                                "cuDevicePrimaryCtxRelease");
        return -1;
    }
    nl_atomic_store(&ready[dev->ordinal], 1);
    return 0;
}

static int retain_context(nl_device *dev, nl_error *err) {
    nl_mutex_lock(&lock);
    int status = ready[dev->ordinal] ? 0 : retain_context_lock_held(dev, err);
    nl_mutex_unlock(&lock);
    return status;
}

static int set_resetting_error(const nl_device *dev, nl_error *err) {
    return nl_error_set(err, NL_ERR_RUNTIME, "device %d is being reset by another thread",
                        dev->ordinal);
}

/* During a reset, calls of other threads fail. Calls of other threads cannot wait for the reset,
 * because the caller may hold the interpreter's lock, and the reset waits for callbacks that need
 * that lock. */
nl_device *nl_device_get(int ordinal, nl_error *err) {
    if (check_ordinal(ordinal, err) < 0)
        return NULL;
    nl_device *dev = &devices[ordinal];
    if (nl_atomic_load(&ready[ordinal]))
        return dev;
    int status = nl_atomic_load(&resetting[ordinal]) ? set_resetting_error(dev, err)
                                                     : retain_context(dev, err);
    return status < 0 ? NULL : dev;
}

/* Returns whether dev's context is current in this thread. */
static inline int is_context_bound(const nl_device *dev) {
    if (here.bound != dev || here.epoch != nl_atomic_load(&nl_device_epoch))
        return 0;
    if (device_count == 1)
        return 1;
    CUcontext current = NULL;
    return nl_cu.CtxGetCurrent(&current) == CUDA_SUCCESS && current == dev->context;
}

static int check_not_in_callback(nl_error *err) {
    if (!here.in_callback)
        return 0;
    return nl_error_set(err, NL_ERR_RUNTIME,
                        "a stream callback must not use the device: "
                        "the stream waits until the callback has returned; "
                        "let the callback wake up another thread, which uses the device");
}

static int bind_context_again(nl_device *dev, nl_error *err) {
    uint64_t now = nl_atomic_load(&nl_device_epoch);
    if (check_not_forked(err) < 0)
        return -1;
    if (check_not_in_callback(err) < 0)
        return -1;
    if (!nl_atomic_load(&ready[dev->ordinal]) && nl_device_get(dev->ordinal, err) == NULL)
        return -1;
    here.bound = NULL;
    if (NL_CU(err, CtxSetCurrent, dev->context) < 0)
        return -1;
    here.bound = dev;
    here.epoch = now;
    return 0;
}

static int bind_context(nl_device *dev, nl_error *err) {
    return is_context_bound(dev) ? 0 : bind_context_again(dev, err);
}

int nl_device_bind(nl_device *dev, nl_error *err) {
    here.uses++;
    return bind_context(dev, err);
}

uint64_t nl_device_count_uses(void) {
    return here.uses;
}

int nl_device_bind_for_release(nl_device *dev, uint64_t generation) {
    nl_error ignored;
    if (!nl_device_are_usable() || generation != nl_atomic_load(&dev->generation))
        return 0;
    return bind_context(dev, &ignored) == 0;
}

/* A lost context runs no more work and fails again. Other errors of a wait may be temporary, so a
 * failed wait is repeated once. */
int nl_device_wait_for_release(nl_device *dev) {
    uint64_t stamp = nl_pool_sequence(&dev->cache);
    if (nl_wait_was_any_ended() && !nl_cu.ends_waits &&
        nl_cu.StreamQuery(NULL) == CUDA_ERROR_NOT_READY)
        return 0; /* a kernel is still running */
    CUresult status = nl_cu.CtxSynchronize();
    if (status != CUDA_SUCCESS && status != NL_STATUS_FAILED)
        status = nl_cu.CtxSynchronize();
    /* the status is ignored, because the next wait reports the failed assert */
    if (status == NL_STATUS_FAILED)
        status = CUDA_SUCCESS;
    if (status == CUDA_SUCCESS)
        nl_pool_mark_ready(&dev->cache, NL_POOL_IDLE, stamp);
    return status == CUDA_SUCCESS || nl_driver_is_context_lost(status);
}

int nl_device_wait_for_all(void) {
    int idle = 1;
    for (int i = 0; i < device_count; i++)
        if (nl_atomic_load(&ready[i]) &&
            nl_device_bind_for_release(&devices[i], nl_atomic_load(&devices[i].generation)))
            idle &= nl_device_wait_for_release(&devices[i]);
    return idle;
}

void nl_device_callback_begin(void) {
    here.in_callback = 1;
    here.bound = NULL;
}

void nl_device_callback_end(void) {
    here.in_callback = 0;
    nl_postponed *last = here.postponed;
    if (last == NULL)
        return;
    while (last->next != NULL)
        last = last->next;
    nl_mutex_lock(&postponed_lock);
    last->next = postponed;
    nl_atomic_store_entry(&postponed, here.postponed);
    nl_mutex_unlock(&postponed_lock);
    here.postponed = NULL;
}

void nl_device_release_postponed(void) {
    if (here.in_callback || nl_atomic_load_entry(&postponed) == NULL || nl_capture_is_any_active())
        return;
    nl_mutex_lock(&postponed_lock);
    nl_postponed *p = postponed;
    nl_atomic_store_entry(&postponed, NULL);
    nl_mutex_unlock(&postponed_lock);
    for (nl_postponed *next; p != NULL; p = next) {
        next = p->next; /* `p` is a member of the object that is freed by the release */
        p->release(p->thing);
    }
}

int nl_device_in_callback(void) {
    return here.in_callback;
}

int nl_device_postpone_release(nl_postponed *place, void (*release)(void *thing), void *thing) {
    if (!here.in_callback && !nl_capture_is_any_active())
        return 0;
    place->release = release;
    place->thing = thing;
    if (here.in_callback) {
        place->next = here.postponed;
        here.postponed = place;
        return 1;
    }
    nl_mutex_lock(&postponed_lock);
    place->next = postponed;
    nl_atomic_store_entry(&postponed, place);
    nl_mutex_unlock(&postponed_lock);
    return 1;
}

int nl_device_check_generation(const nl_device *dev, uint64_t generation, nl_error *err) {
    if (__builtin_expect(generation == nl_atomic_load(&dev->generation), 1))
        return 0;
    if (generation == NL_GENERATION_CLOSED) {
        return nl_error_set(
            err, NL_ERR_RUNTIME,
            "the memory of this array was closed: "
            "close() of its IPC handle, or the end of its `with` block, ends the use of the array");
    }
    return nl_error_set(
        err, NL_ERR_RUNTIME,
        "device %d was reset after this object was created: its contents are lost, create it again",
        dev->ordinal);
}

nl_device *nl_device_current(nl_error *err) {
    nl_device *dev = here.bound;
    int ordinal = nl_device_selected();
    here.uses++;
    if (dev != NULL && dev->ordinal == ordinal && is_context_bound(dev))
        return dev;
    if (nl_device_open(err) == NULL)
        return NULL;
    ordinal = nl_device_selected(); /* the opener may have changed the first device */
    dev = nl_device_get(ordinal, err);
    if (dev == NULL && here.selected == 0 && ordinal >= device_count)
        nl_error_prefix(err, "NUMBALITE_DEVICE=%d", ordinal);
    if (dev == NULL || nl_device_bind(dev, err) < 0)
        return NULL;
    return dev;
}

int nl_device_selected(void) {
    return here.selected != 0 ? here.selected - 1 : (int)nl_atomic_load(&first_device);
}

int nl_device_thread_selection(void) {
    return here.selected - 1;
}

int nl_device_select(int ordinal, nl_error *err) {
    nl_device *dev = nl_device_get(ordinal, err);
    if (dev == NULL || nl_device_bind(dev, err) < 0)
        return -1;
    here.selected = ordinal + 1;
    return 0;
}

int nl_device_unselect(nl_error *err) {
    here.selected = 0;
    return nl_device_current(err) == NULL ? -1 : 0;
}

int nl_device_select_first(int ordinal, nl_error *err) {
    if (check_ordinal(ordinal, err) < 0)
        return -1;
    nl_atomic_store(&first_device, (uint64_t)ordinal);
    return 0;
}

int nl_device_synchronize(nl_device *dev, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    uint64_t allocated = nl_atomic_load(&dev->allocated);
    uint64_t stamp = nl_pool_sequence(&dev->cache);
    if (NL_CU0(err, CtxSynchronize) < 0)
        return -1;
    nl_pool_mark_ready(&dev->cache, NL_POOL_IDLE, stamp);
    nl_mutex_lock(&dev->lock);
    if (dev->settled < allocated)
        nl_atomic_store(&dev->settled, allocated);
    nl_mutex_unlock(&dev->lock);
    nl_device_release_postponed();
    return 0;
}

/* Lets dev's context access peer's allocations outside of pools, and device dev access peer's
 * pool. */
static int enable_peer_lock_held(nl_device *dev, nl_device *peer, nl_error *err) {
    uint64_t bit = UINT64_C(1) << peer->ordinal;
    if (nl_atomic_load(&dev->peers) & bit)
        return 0;
    if (NL_CU(err, CtxEnablePeerAccess, peer->context, 0) < 0 &&
        err->code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        return -1;
    CUmemAccessDesc access = {.location = {.type = 1, .id = dev->handle}, .flags = 3};
    int has_access = (peer->pool_access & (UINT64_C(1) << dev->ordinal)) != 0;
    if (peer->pool && !has_access && NL_CU(err, MemPoolSetAccess, peer->pool, &access, 1) < 0)
        return -1;
    nl_atomic_or(&dev->peers, bit);
    return 0;
}

/* The access is enabled only once for each pair of devices, because a pool's access rights must not
 * change while another thread copies with them. */
int nl_device_enable_peer(nl_device *dev, nl_device *peer, nl_error *err) {
    if (dev == peer || (nl_atomic_load(&dev->peers) & (UINT64_C(1) << peer->ordinal)))
        return 0;
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_mutex_lock(&dev->lock);
    int status = enable_peer_lock_held(dev, peer, err);
    nl_mutex_unlock(&dev->lock);
    return status;
}

int nl_device_allow_peer_buffers(nl_device *dev, nl_device *peer, nl_error *err) {
    if (nl_device_enable_peer(dev, peer, err) < 0)
        return -1;
    nl_atomic_or(&dev->visits, UINT64_C(1) << peer->ordinal);
    return 0;
}

int nl_device_allows_peer_buffers(const nl_device *dev, const nl_device *peer) {
    return (nl_atomic_load(&dev->visits) & (UINT64_C(1) << peer->ordinal)) != 0;
}

int nl_device_synchronize_all(uint64_t ordinals, nl_error *err) {
    for (int i = 0; i < device_count; i++)
        if ((ordinals & (UINT64_C(1) << i)) && nl_device_synchronize(&devices[i], err) < 0)
            return -1;
    return 0;
}

int nl_device_query_pointer(CUdeviceptr address, nl_address *answer, nl_error *err) {
    int attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    *answer = (nl_address){0};
    void *values[] = {&answer->type, &answer->managed, &answer->ordinal};
    return NL_CU(err, PointerGetAttributes, 3, attributes, values, address);
}

nl_device *nl_device_find_by_address(nl_device *here, CUdeviceptr address) {
    nl_address a;
    nl_error ignored;
    if (device_count <= 1 || address == 0 || nl_device_query_pointer(address, &a, &ignored) < 0 ||
        a.type != CU_MEMORYTYPE_DEVICE || a.managed || a.ordinal == here->ordinal)
        return here;
    nl_device *dev = nl_device_get(a.ordinal, &ignored);
    return dev != NULL ? dev : here;
}

int nl_device_add_export(nl_device *dev, nl_error *err) {
    uint64_t exports;
    do {
        exports = nl_atomic_load(&dev->exports);
        if (exports == EXPORTS_REFUSED)
            return set_resetting_error(dev, err);
    } while (!nl_atomic_compare_swap(&dev->exports, exports, exports + 1));
    return 0;
}

void nl_device_drop_export(nl_device *dev) {
    nl_atomic_sub(&dev->exports, 1);
}

void nl_device_bump_epoch(void) {
    nl_atomic_add(&nl_device_epoch, 1);
}

int nl_device_get_copy_stream(nl_device *dev, CUstream *stream, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_mutex_lock(&dev->lock);
    int status = 0;
    if (dev->copy_stream == NULL)
        status = NL_CU(err, StreamCreateWithPriority, &dev->copy_stream, CU_STREAM_NON_BLOCKING, 0);
    *stream = dev->copy_stream;
    nl_mutex_unlock(&dev->lock);
    return status;
}

/* Resets the device's state that was lost with its context. */
static void forget_context_state(nl_device *dev) {
    nl_wait_note_reset();
    uint64_t bit = UINT64_C(1) << dev->ordinal;
    /* after a reset, the other devices must enable peer access again */
    for (int i = 0; i < device_count; i++)
        if (i != dev->ordinal) {
            nl_atomic_store(&devices[i].visits, nl_atomic_load(&devices[i].visits) & ~bit);
            nl_atomic_store(&devices[i].peers, nl_atomic_load(&devices[i].peers) & ~bit);
        }
    nl_atomic_store(&dev->visits, 0);
    nl_atomic_store(&dev->peers, 0);
    nl_mutex_lock(&dev->lock);
    /* `allocated` is not reset: allocations in progress in other threads still add to it. */
    nl_atomic_store(&dev->settled, nl_atomic_load(&dev->allocated));
    dev->fence_ticket = 0;
    dev->fence = NULL;
    dev->order_event = NULL;
    dev->copy_stream = NULL;
    nl_mutex_unlock(&dev->lock);
    nl_pool_discard_blocks(&dev->cache);
}

/* Blocks new exports. Returns 0 if memory is exported. */
static int block_exports(nl_device *dev) {
    return nl_atomic_compare_swap(&dev->exports, 0, EXPORTS_REFUSED);
}

/* Sets the device's bit in `resetting`: from then on, calls of other threads for this device return
 * an error. The caller has checked that no memory is exported. */
static void begin_reset(nl_device *dev) {
    nl_atomic_store(&resetting[dev->ordinal], 1);
    nl_atomic_store(&ready[dev->ordinal], 0);
    nl_atomic_add(&nl_device_epoch, 1);
}

static void end_reset(nl_device *dev) {
    nl_atomic_store(&dev->exports, 0);
    nl_atomic_store(&resetting[dev->ordinal], 0);
}

/* If the context is released and retained again, the driver destroys the old context, even after a
 * fault, unless another library retains it. Before the context is released, the device's generation
 * is increased, so that other threads find that their objects are invalid and do not free them. */
static int reset_context(nl_device *dev, nl_error *err) {
    if (!block_exports(dev))
        return nl_error_set(err, NL_ERR_RUNTIME,
                            "device %d cannot be reset: host arrays use its memory (%llu arrays), "
                            "and reading them after the reset would crash; delete them first (del)",
                            dev->ordinal, (unsigned long long)nl_atomic_load(&dev->exports));
    nl_atomic_add(&dev->generation, 1);
    begin_reset(dev);
    int status = NL_CU(err, DevicePrimaryCtxReset, dev->handle);
    if (status < 0) {
        nl_atomic_sub(&dev->generation, 1); /* the reset failed, so the old generation is still
                                             * valid */
        nl_atomic_store(&ready[dev->ordinal], 1);
    } else {
        forget_context_state(dev);
        nl_driver_print_failure(nl_cu.DevicePrimaryCtxRelease(dev->handle),
                                "cuDevicePrimaryCtxRelease");
        status = retain_context(dev, err);
    }
    end_reset(dev);
    return status;
}

/* Returns whether another library still retains the context after this library has released it. */
static int is_context_held(const nl_device *dev) {
    unsigned flags = 0;
    int active = 0;
    nl_error ignored;
    return NL_CU(&ignored, DevicePrimaryCtxGetState, dev->handle, &flags, &active) == 0 && active;
}

/* If another library retains the context, the next retain returns the same context, with all
 * objects of this process. */
static int close_context(nl_device *dev, nl_error *err) {
    int status;
    if (!block_exports(dev))
        return 0; /* handled as if another library retained the context */
    begin_reset(dev);
    if (NL_CU(err, DevicePrimaryCtxRelease, dev->handle) < 0) {
        nl_atomic_store(&ready[dev->ordinal], 1); /* nothing has changed */
        status = -1;
    } else if (is_context_held(dev)) {
        status = retain_context(dev, err);
    } else {
        nl_atomic_add(&dev->generation, 1);
        forget_context_state(dev);
        status = 0;
    }
    end_reset(dev);
    return status;
}

int nl_device_exists(int ordinal) {
    return ordinal >= 0 && ordinal < device_count;
}

int nl_device_is_ready(int ordinal) {
    return nl_device_exists(ordinal) && nl_atomic_load(&ready[ordinal]);
}

int nl_device_close(int ordinal, nl_error *err) {
    int status = 0;
    if (check_not_in_callback(err) < 0 || check_ordinal(ordinal, err) < 0)
        return -1;
    nl_mutex_lock(&resets);
    if (nl_device_is_ready(ordinal))
        status = close_context(&devices[ordinal], err);
    nl_mutex_unlock(&resets);
    return status;
}

int nl_device_reset(nl_device *dev, nl_error *err) {
    if (check_not_forked(err) < 0 || check_not_in_callback(err) < 0)
        return -1;
    nl_mutex_lock(&resets);
    int status = reset_context(dev, err);
    nl_mutex_unlock(&resets);
    return status;
}
