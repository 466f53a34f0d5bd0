/* driver/driver: the table of driver calls, through which all CUDA driver functions are called. The
 * table is filled by the CUDA driver (driver_real.c) or by the CPU simulator (sim/driver/calls.c),
 * and optionally wrapped for fault injection and tracing (driver_wrap.c). All code above this layer
 * is the same for both drivers.
 *
 * The table is global: the driver is opened once per process, at first use, and stays open. */
#ifndef NL_DRIVER_DRIVER_H
#define NL_DRIVER_DRIVER_H

#include "base/error.h"
#include "driver/checks.h"
#include "driver/profile.h"
#include "driver/cuda_abi.h"
#include "driver/driver_calls.h"

struct nl_cublas;

/* The progress of a running grid. */
typedef struct nl_progress {
    char kernel[128];
    uint64_t done, blocks; /* done: finished blocks; blocks: all blocks of the grid */
    uint64_t elapsed;      /* nanoseconds */
} nl_progress;

typedef struct nl_driver {
#define NL_DECLARE(name, version, parameters, arguments) CUresult(*name) parameters;
    NL_DRIVER_CALLS(NL_DECLARE)
#undef NL_DECLARE
    /* Kind of the driver, "cuda" or "sim", for messages and for comparison with a requested kind.
     * Code that depends on the driver tests the members below, not the kind. */
    const char *kind;
    /* The following function pointers are NULL if the driver lacks the feature, as on a GPU. */
    /* Moves the fault that has caused a failed status to *fault, with more details than
     * cuGetErrorString (the simulator reports block, thread and line). Returns 1 on success, or 0
     * if there is no fault. Each fault is returned once; a second call returns 0. */
    int (*TakeFault)(nl_fault *fault);
    /* SetChecks sets the checks for launches of the calling thread; NULL selects the checks of the
     * process. SetProcessChecks sets the checks for all threads that have not set their own. */
    void (*SetChecks)(const nl_checks *checks);
    void (*SetProcessChecks)(const nl_checks *checks, nl_checks_compile_fn compile);
    /* Returns the checks of the calling thread's launches as a mask of NL_CHECK_ bits. */
    uint32_t (*Checks)(void);
    /* Moves one verdict that was recorded under the number `record` to *verdict. Call this function
     * after all launches of the record. Returns 1 on success, or 0 if no verdict is left. */
    int (*TakeVerdict)(uint64_t record, nl_verdict *verdict);
    /* Functions that count accesses of launches. OpenProfile returns a token for nl_checks.profile,
     * or 0 if memory runs out. TakeProfile removes and returns the oldest finished launch with this
     * token, or NULL; the caller frees it with nl_mem_free. CloseProfile ends the use of the token.
     * If the profile functions are NULL, launches can only be timed (driver/timed.h). */
    uint64_t (*OpenProfile)(void);
    nl_profile *(*TakeProfile)(uint64_t token);
    void (*CloseProfile)(uint64_t token);
    /* Sets the user's source line for reports of the calling thread's next operation. */
    void (*SetCaller)(const char *file, int line);
    /* Returns the number that identifies a stream in reports. */
    unsigned (*StreamNumber)(CUstream stream);
    /* A host callback calls this function to record that the earlier work of the callback's stream
     * happens before all later host code. */
    void (*HostKnows)(void);
    /* For tests of large arrays: later launches run only the last `count` blocks of their grid,
     * unless their blocks wait for each other. 0 means all blocks. */
    void (*RunLastBlocks)(uint64_t count);
    /* Writes the progress of the running grid that started first. Returns 1 on success, or 0 if no
     * grid is running. */
    int (*Progress)(nl_progress *progress);
    /* Fills the table of cuBLAS with functions of this driver. If the driver has no such function
     * (NULL), the cuBLAS library is loaded instead. */
    void (*FillCublas)(struct nl_cublas *table, const struct nl_driver *driver);
    /* Set if the driver checks accesses to freed memory: then freed memory should be returned to
     * the driver instead of being cached. */
    int watches_freed;
    /* Set if waiting calls return on an interrupt (base/interrupt) and stop the kernels for which
     * they wait. */
    int ends_waits;
    /* Set if device memory is host memory: then one memcpy is fastest, and other libraries can
     * access device memory directly. */
    int memory_is_host;
    /* Set if kernel images contain code of the host's processor. */
    int loads_host_code;
} nl_driver;

/* The open driver table. The table's pointers to driver calls are never NULL: before the driver is
 * open, each call returns CUDA_ERROR_NOT_INITIALIZED. The struct is global, not a pointer, so that
 * a call needs only one load and a jump. */
extern nl_driver nl_cu;

/* Additional statuses of this project, for waits that an interrupt (base/interrupt) or a time limit
 * has ended. */
enum {
    NL_STATUS_INTERRUPTED = 0x4e4c0001,
    NL_STATUS_TIMEOUT = 0x4e4c0002,
    /* the wait is complete, and an assert has failed (see TakeFault) */
    NL_STATUS_FAILED = 0x4e4c0003,
};
/* Sets the text of later errors with the status NL_STATUS_TIMEOUT. */
void nl_driver_describe_timeout(const char *text);
int nl_driver_is_ended_wait(CUresult status);

/* Sets a function that changes a filled table before its first use. Call this function before the
 * driver is opened. */
void nl_driver_set_adapter(void (*adapt)(nl_driver *table));

/* Fill a table with the functions of a driver. These functions return 0, or -1 with
 * NL_ERR_SUPPORT. */
int nl_driver_real_fill(nl_driver *table, nl_error *err);
int nl_sim_calls_fill(nl_driver *table, int device_count, nl_error *err);

/* Checks whether a CUDA driver and a device are available: returns 0, or -1 with the reason. Does
 * not open the driver. */
int nl_driver_probe(nl_error *err);

/* Opens the driver `kind`, "cuda" or "sim", once, and calls cuInit. A second call with the same
 * kind returns 0, and with another kind -1. */
int nl_driver_open(const char *kind, int sim_devices, nl_error *err);
int nl_driver_is_open(void);

/* Returns 0 for CUDA_SUCCESS. For any other status, fills err (NL_ERR_KERNEL if the driver reports
 * the fault, else NL_ERR_CUDA in most cases) and returns -1. `call` is the name of the driver
 * function, as "cuMemAlloc". */
int nl_driver_check(CUresult status, const char *call, nl_error *err);

/* Returns whether this status means that the context is lost, so that all later calls for that
 * context also fail. */
int nl_driver_is_context_lost(CUresult status);
/* Prints the failed status of a releasing call, which cannot raise an error, as one line on stderr.
 * Prints nothing if the failure is expected because the context is lost, the process is ending, or
 * a wait ended early. */
void nl_driver_print_failure(CUresult status, const char *call);

/* Calls a driver function and checks its status, for example `if (NL_CU(err, StreamCreate, &handle,
 * flags) < 0) goto fail;` */
#define NL_CU(err, name, ...) nl_driver_check(nl_cu.name(__VA_ARGS__), "cu" #name, (err))
/* Calls and checks a driver function without arguments, for example NL_CU0(err, CtxSynchronize). */
#define NL_CU0(err, name) nl_driver_check(nl_cu.name(), "cu" #name, (err))

/* Sets the function to call when the table is filled. If the driver is already open, the function
 * is called immediately. */
void nl_driver_set_open_hook(void (*function)(void));
/* Wraps the open driver table in place, once. The n-th call from now (1 is the next call) returns
 * `status` without reaching the driver; n = 0 disables this. Returns the number of calls since the
 * previous call of this function. Releasing calls (Free, Destroy, Unload, Release, ...) are counted
 * separately, and are made to fail only if `releases` is nonzero. */
size_t nl_driver_wrap_fail_nth_call(size_t n, CUresult status, int releases);
/* For tests: starts or stops the recording of driver calls. nl_driver_wrap_traced_calls copies the
 * names of the last calls and returns their number. */
void nl_driver_wrap_enable_trace(int on);
size_t nl_driver_wrap_traced_calls(const char **names, size_t capacity);
/* Writes the names of the recorded calls that failed, which compute-sanitizer would report. Returns
 * their number. */
size_t nl_driver_wrap_failed_calls(const char **names, size_t capacity);
/* Sets `bytes` to the number of bytes that calls have copied to devices ([0]) and to the host ([1])
 * since recording was started. */
void nl_driver_wrap_copied_bytes(uint64_t bytes[2]);

#endif
