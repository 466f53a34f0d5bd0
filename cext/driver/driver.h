/* driver/driver: the seam. One struct of driver calls, filled by real CUDA (driver_real.c) or by
 * the CPU simulator (sim/driver/calls.c), and optionally wrapped for fault injection and tracing
 * (driver_wrap.c). Nothing above this line can tell which one it has.
 *
 * The table is process-wide: it is opened once, on first need, and stays open. */
#ifndef NL_DRIVER_DRIVER_H
#define NL_DRIVER_DRIVER_H

#include "base/error.h"
#include "driver/checks.h"
#include "driver/profile.h"
#include "driver/cuda_abi.h"
#include "driver/driver_calls.h"

struct nl_cublas;

/* A grid that runs. */
typedef struct nl_progress {
    char kernel[128];
    uint64_t done, blocks; /* blocks that have ended, of all */
    uint64_t elapsed;      /* nanoseconds */
} nl_progress;

typedef struct nl_driver {
#define NL_DECLARE(name, version, parameters, arguments) CUresult(*name) parameters;
    NL_DRIVER_CALLS(NL_DECLARE)
#undef NL_DECLARE
    /* "cuda" or "sim", for messages, and for who asks for one of them by name. Decisions are made
     * by what follows. */
    const char *kind;
    /* Tells more about the fault behind a status than cuGetErrorString does, or NULL: the simulator
     * knows block, thread, line. The fault is copied and taken: a second call gives 0. */
    int (*TakeFault)(nl_fault *fault);
    /* What the launches of the calling thread are checked for from now on (NULL: what the process
     * says), and what those of all threads are that say nothing themselves. NULL where the driver
     * has no checks, as on a GPU. */
    void (*SetChecks)(const nl_checks *checks);
    void (*SetProcessChecks)(const nl_checks *checks, nl_checks_compile_fn compile);
    /* What the calling thread's launches are checked for, as bits. NULL as above. */
    uint32_t (*Checks)(void);
    /* Takes one of the verdicts that were recorded under the number, after all its launches: 1, or
     * 0 if there is none. NULL as above. */
    int (*TakeVerdict)(uint64_t record, nl_verdict *verdict);
    /* Counters of launches: a block of code whose launches have this token in nl_checks.profile,
     * 0 without memory; its oldest finished launch, which the caller frees with nl_mem_free, or
     * NULL; the end of the block. NULL as above. */
    uint64_t (*OpenProfile)(void);
    nl_profile *(*TakeProfile)(uint64_t token);
    void (*CloseProfile)(uint64_t token);
    /* The user's line at which the calling thread issues its next operation, for reports. NULL as
     * above. */
    void (*SetCaller)(const char *file, int line);
    /* The number of a stream in reports. NULL as above. */
    unsigned (*StreamNumber)(CUstream stream);
    /* In a host function: the program goes on with what it now knows to have happened before it in
     * its stream. NULL as above. */
    void (*HostKnows)(void);
    /* For tests of large arrays: from now on a launch runs only the last `count` blocks of its
     * grid, unless its blocks wait for one another. 0: all. NULL as above. */
    void (*RunLastBlocks)(uint64_t count);
    /* The grid that has run longest of those that run now: 1, or 0 if there is none. NULL as above.
     */
    int (*Progress)(nl_progress *progress);
    /* Fills the table of cuBLAS with functions that use this one, or NULL: the library is loaded.
     */
    void (*FillCublas)(struct nl_cublas *table, const struct nl_driver *driver);
    /* Memory that was freed is watched: nothing should be kept back from freeing to be used again.
     */
    int watches_freed;
    /* Calls that wait end when the user wants it, and what they wait for does (base/interrupt). */
    int ends_waits;
    /* The device's memory is the host's: copies are best made in one go, and other libraries read
     * and write it as any. */
    int memory_is_host;
    /* A block's threads run one after another: few long ones are better than many short ones. */
    int serial_threads;
    /* Kernels are code for the host's processor. */
    int loads_host_code;
} nl_driver;

/* The open table. Its pointers are never NULL: before opening, each returns
 * CUDA_ERROR_NOT_INITIALIZED. Copied by value so that a call is one load and a jump. */
extern nl_driver nl_cu;

/* Statuses of ours, beside those of the driver: a wait was ended by an interrupt (base/interrupt),
 * or by a time limit. */
enum {
    NL_STATUS_INTERRUPTED = 0x4e4c0001,
    NL_STATUS_TIMEOUT = 0x4e4c0002,
    NL_STATUS_FAILED = 0x4e4c0003, /* the wait is over, and an assert has failed: TakeFault tells */
};
/* The text of the next errors for NL_STATUS_TIMEOUT. */
void nl_driver_describe_timeout(const char *text);
int nl_driver_is_ended_wait(CUresult status);

/* Changes a filled table before it is used. Set before the driver is opened. */
void nl_driver_set_adapter(void (*adapt)(nl_driver *table));

/* Fill a table. Each returns 0 or -1 with NL_ERR_SUPPORT. */
int nl_driver_real_fill(nl_driver *table, nl_error *err);
int nl_driver_sim_fill(nl_driver *table, int device_count, nl_error *err);

/* Is there a real driver with a device? 0, or -1 with the reason. Opens nothing. */
int nl_driver_probe(nl_error *err);

/* kind: "cuda" or "sim". Opens once; asking for the same kind again is no error, for another one
 * is. Calls cuInit. */
int nl_driver_open(const char *kind, int sim_devices, nl_error *err);
int nl_driver_is_open(void);

/* Turns a status into err (NL_ERR_CUDA, or NL_ERR_KERNEL where the driver can name the fault) and
 * returns -1; returns 0 for CUDA_SUCCESS. `call` is "cuMemAlloc". */
int nl_driver_check(CUresult status, const char *call, nl_error *err);

/* Does this status mean that the context is lost, so that every later call on it fails too? */
int nl_driver_is_sticky(CUresult status);
/* The status of a call that frees or destroys, where nothing can be raised: what is to be expected
 * (the context is lost, the process ends) is passed over, the rest is one line on stderr. */
void nl_driver_report(CUresult status, const char *call);

/* `if (NL_CU(err, StreamCreate, &handle, flags) < 0) goto fail;` */
#define NL_CU(err, name, ...) nl_driver_check(nl_cu.name(__VA_ARGS__), "cu" #name, (err))
/* The same for a call without arguments, e.g. NL_CU0(err, CtxSynchronize). */
#define NL_CU0(err, name) nl_driver_check(nl_cu.name(), "cu" #name, (err))

/* Called once the table is filled; at once if it is. */
void nl_driver_on_open(void (*function)(void));
/* Wraps the open table in place (once). The n-th call from now (1 = the next) returns
 * `status` instead of reaching the driver; n = 0 switches off. Returns the calls seen since the
 * last call of this function. Destroying calls (Free, Destroy, Unload, Release) are counted apart
 * and fail only when `releases` is non-zero. */
size_t nl_driver_fail_at(size_t n, CUresult status, int releases);
/* A ring of the names of the last calls, for tests: starts/stops recording; read returns count. */
void nl_driver_trace(int on);
size_t nl_driver_traced(const char **names, size_t capacity);
/* The names of those of them that failed: what compute-sanitizer reports of a program. */
size_t nl_driver_failed(const char **names, size_t capacity);
/* Bytes that calls copied to devices, [0], and to the host, [1], since recording was started. */
void nl_driver_copied(uint64_t bytes[2]);

#endif
