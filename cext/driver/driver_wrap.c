/* driver/driver_wrap: wraps the functions of the driver table. The wrapper counts calls, and for
 * tests it makes the n-th call fail without calling the driver. The wrapper also records the names
 * of the last calls and the bytes that they copied, for tests, %gpu_timeit and the course's judge.
 *
 * The table is wrapped only on request, by replacing the entries of nl_cu one by one. After a
 * request for failing calls, the wrappers remain. At the end of a trace, the entries are restored,
 * so that later timings do not include the wrapper. Calls that return the name or description of a
 * status are not counted. */
#include "driver/driver.h"

#include <string.h>
#include "base/lock.h"

#define RING 4096

static nl_driver inner; /* the original table, through which the wrappers make calls */
static uint64_t wanted, wrapped, failing;
static uint64_t seen[2], fuse[2]; /* [0] ordinary calls, [1] releasing ones */
static uint64_t fail_status, armed_kind;

static nl_mutex trace_lock = NL_MUTEX_INIT;
static uint64_t tracing;
static const char *ring[RING];
static size_t ring_count; /* number of driver calls since the trace was started */
static const char *failures[RING];
static size_t failure_count;
/* bytes copied since the trace was started: [0] to devices, [1] to the host */
static uint64_t copied[2];

static int is_destroying_call(const char *call) {
    return strstr(call, "Free") != NULL || strstr(call, "Destroy") != NULL ||
           strstr(call, "Unload") != NULL || strstr(call, "Release") != NULL ||
           strstr(call, "Unregister") != NULL || strstr(call, "Close") != NULL;
}

static void record_call(const char *call) {
    nl_mutex_lock(&trace_lock);
    ring[ring_count++ % RING] = call;
    nl_mutex_unlock(&trace_lock);
}

/* Returns whether a status is an error. CUDA_ERROR_NOT_READY is not an error, nor is
 * CUDA_ERROR_NOT_SUPPORTED, which the stub of a missing driver function returns. */
static int is_failure(CUresult status) {
    return status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY &&
           status != CUDA_ERROR_NOT_SUPPORTED && !nl_driver_is_ended_wait(status);
}

static CUresult record_failure(const char *call, CUresult status) {
    if (!is_failure(status) || !nl_atomic_load(&tracing))
        return status;
    nl_mutex_lock(&trace_lock);
    if (failure_count < RING)
        failures[failure_count++] = call;
    nl_mutex_unlock(&trace_lock);
    return status;
}

/* Counts a call. Returns 1 and sets *status if fault injection makes this call fail. */
static int intercept_call(const char *call, CUresult *status) {
    if (strncmp(call, "cuGetError", 10) == 0)
        return 0;
    if (nl_atomic_load(&tracing))
        record_call(call);
    int kind = is_destroying_call(call);
    uint64_t number = nl_atomic_add(&seen[kind], 1) + 1;
    if (number != nl_atomic_load(&fuse[kind]))
        return 0;
    *status = (CUresult)nl_atomic_load(&fail_status);
    return 1;
}

#define NL_WRAPPER(name, version, parameters, arguments) \
    static CUresult wrapped_##name parameters { \
        CUresult injected_status = CUDA_SUCCESS; \
        if (intercept_call("cu" #name, &injected_status)) \
            return injected_status; \
        return record_failure("cu" #name, inner.name arguments); \
    }
NL_DRIVER_CALLS(NL_WRAPPER)
#undef NL_WRAPPER

/* Defines a function that counts the copied bytes, for a call that copies between host and
 * device. */
#define NL_COUNTING(name, way, size, parameters, arguments) \
    static CUresult counting_##name parameters { \
        if (nl_atomic_load(&tracing)) \
            nl_atomic_add(&copied[way], (size)); \
        return wrapped_##name arguments; \
    }
NL_COUNTING(MemcpyHtoD, 0, size, (CUdeviceptr to, const void *from, size_t size), (to, from, size))
NL_COUNTING(MemcpyDtoH, 1, size, (void *to, CUdeviceptr from, size_t size), (to, from, size))
NL_COUNTING(MemcpyHtoDAsync, 0, size,
            (CUdeviceptr to, const void *from, size_t size, CUstream stream),
            (to, from, size, stream))
NL_COUNTING(MemcpyDtoHAsync, 1, size, (void *to, CUdeviceptr from, size_t size, CUstream stream),
            (to, from, size, stream))
#undef NL_COUNTING

static CUresult counting_Memcpy3DAsync(const CUDA_MEMCPY3D *box, CUstream stream) {
    int from_host = box->srcMemoryType == CU_MEMORYTYPE_HOST;
    int to_host = box->dstMemoryType == CU_MEMORYTYPE_HOST;
    if (nl_atomic_load(&tracing) && from_host != to_host)
        nl_atomic_add(&copied[to_host], box->WidthInBytes * box->Height * box->Depth);
    return wrapped_Memcpy3DAsync(box, stream);
}

/* Other threads may be calling through nl_cu, so `inner` must be complete before the first entry
 * changes. */
static void wrap_table(void) {
    inner = nl_cu;
#define NL_EXCHANGE(name, version, parameters, arguments) \
    nl_atomic_store_entry(&nl_cu.name, wrapped_##name);
    NL_DRIVER_CALLS(NL_EXCHANGE)
#undef NL_EXCHANGE
    nl_atomic_store_entry(&nl_cu.MemcpyHtoD, counting_MemcpyHtoD);
    nl_atomic_store_entry(&nl_cu.MemcpyDtoH, counting_MemcpyDtoH);
    nl_atomic_store_entry(&nl_cu.MemcpyHtoDAsync, counting_MemcpyHtoDAsync);
    nl_atomic_store_entry(&nl_cu.MemcpyDtoHAsync, counting_MemcpyDtoHAsync);
    nl_atomic_store_entry(&nl_cu.Memcpy3DAsync, counting_Memcpy3DAsync);
}

static void wrap_table_if_wanted(void) {
    if (nl_atomic_load(&wanted) && nl_atomic_swap(&wrapped, 1) == 0) {
        wrap_table();
    }
}

static void enable_wrappers(void) {
    nl_atomic_store(&wanted, 1);
    nl_driver_set_open_hook(wrap_table_if_wanted);
}

static void disable_wrappers(void) {
    if (nl_atomic_load(&failing))
        return;
    nl_atomic_store(&wanted, 0);
    if (nl_atomic_swap(&wrapped, 0)) {
#define NL_PUT_BACK(name, version, parameters, arguments) \
    nl_atomic_store_entry(&nl_cu.name, inner.name);
        NL_DRIVER_CALLS(NL_PUT_BACK)
#undef NL_PUT_BACK
    }
}

size_t nl_driver_wrap_fail_nth_call(size_t n, CUresult status, int releases) {
    nl_atomic_store(&failing, 1);
    enable_wrappers();
    nl_atomic_store(&fuse[0], 0);
    nl_atomic_store(&fuse[1], 0);
    nl_atomic_store(&fail_status, (uint64_t)(unsigned)status);
    uint64_t counts[2];
    for (int i = 0; i < 2; ++i)
        counts[i] = nl_atomic_swap(&seen[i], 0);
    uint64_t count = counts[nl_atomic_load(&armed_kind)];
    if (n != 0) {
        nl_atomic_store(&armed_kind, releases != 0);
        nl_atomic_store(&fuse[releases != 0], n);
    } else {
        nl_atomic_store(&armed_kind, 0);
    }
    return count;
}

void nl_driver_wrap_enable_trace(int on) {
    if (on)
        enable_wrappers();
    nl_mutex_lock(&trace_lock);
    if (on) {
        ring_count = failure_count = 0;
        nl_atomic_store(&copied[0], 0);
        nl_atomic_store(&copied[1], 0);
    }
    nl_mutex_unlock(&trace_lock);
    nl_atomic_store(&tracing, on != 0);
    if (!on)
        disable_wrappers();
}

size_t nl_driver_wrap_traced_calls(const char **names, size_t capacity) {
    nl_mutex_lock(&trace_lock);
    size_t count = ring_count < RING ? ring_count : RING;
    if (count > capacity)
        count = capacity;
    for (size_t i = 0; i < count; ++i)
        names[i] = ring[(ring_count - count + i) % RING];
    nl_mutex_unlock(&trace_lock);
    return count;
}

size_t nl_driver_wrap_failed_calls(const char **names, size_t capacity) {
    nl_mutex_lock(&trace_lock);
    size_t count = failure_count < capacity ? failure_count : capacity;
    memcpy(names, failures, count * sizeof *names);
    nl_mutex_unlock(&trace_lock);
    return count;
}

void nl_driver_wrap_copied_bytes(uint64_t bytes[2]) {
    for (int i = 0; i < 2; ++i)
        bytes[i] = nl_atomic_load(&copied[i]);
}
