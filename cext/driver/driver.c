/* driver/driver: opens the driver table, and converts driver statuses to error messages.
 *
 * Before the driver is open, every function pointer of the table is a stub that returns
 * CUDA_ERROR_NOT_INITIALIZED. nl_driver_open fills a local table, tests this table (cuInit, at
 * least one device), and then copies it over the stubs. */
#include "driver/driver.h"

#include <stdio.h>
#include <string.h>
#include "base/lock.h"

#define NL_STUB(name, version, parameters, arguments) \
    static CUresult closed_##name parameters { \
        return CUDA_ERROR_NOT_INITIALIZED; \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NL_DRIVER_CALLS(NL_STUB)
#pragma GCC diagnostic pop

#define NL_FIELD(name, version, parameters, arguments) .name = closed_##name,
nl_driver nl_cu = {NL_DRIVER_CALLS(NL_FIELD).kind = NULL, .TakeFault = NULL};
#undef NL_FIELD

static nl_mutex open_lock = NL_MUTEX_INIT;
static uint64_t is_open;
static void (*opened)(void);
static void (*adapter)(nl_driver *table);
static nl_mutex timeout_lock = NL_MUTEX_INIT;
static char timeout_text[1024];

void nl_driver_set_adapter(void (*adapt)(nl_driver *table)) {
    adapter = adapt;
}

void nl_driver_describe_timeout(const char *text) {
    nl_mutex_lock(&timeout_lock);
    snprintf(timeout_text, sizeof timeout_text, "%s", text);
    nl_mutex_unlock(&timeout_lock);
}

int nl_driver_is_ended_wait(CUresult status) {
    return status == NL_STATUS_INTERRUPTED || status == NL_STATUS_TIMEOUT;
}

static void reset_lock_in_child(void) {
    nl_mutex_init(&open_lock);
}

static int fill_table(nl_driver *table, const char *kind, int sim_devices, nl_error *err) {
    if (strcmp(kind, "cuda") == 0)
        return nl_driver_real_fill(table, err);
    if (strcmp(kind, "sim") != 0) {
        return nl_error_set(err, NL_ERR_VALUE,
                            "no driver is called \"%s\": use \"cuda\" or \"sim\"", kind);
    }
    return nl_sim_calls_fill(table, sim_devices, err);
}

/* Calls cuInit and checks that a device exists. The table is not yet copied to nl_cu, so this
 * function formats messages itself instead of calling nl_driver_check. */
static int initialize_driver(const nl_driver *table, nl_error *err) {
    int count = 0;
    CUresult status = table->Init(0);
    const char *call = "cuInit";
    if (status == CUDA_SUCCESS) {
        status = table->DeviceGetCount(&count);
        call = "cuDeviceGetCount";
    }
    if (status == CUDA_SUCCESS && count > 0)
        return 0;
    if (status == CUDA_SUCCESS || status == CUDA_ERROR_NO_DEVICE) {
        return nl_error_set(
            err, NL_ERR_SUPPORT,
            "the CUDA driver finds no GPU: check `nvidia-smi`, the variable CUDA_VISIBLE_DEVICES "
            "and, in a container, that it was started with the GPUs; "
            "without a GPU, NUMBALITE_DRIVER=sim runs kernels on the CPU");
    }
    const char *name = NULL, *text = NULL;
    table->GetErrorName(status, &name);
    table->GetErrorString(status, &text);
    nl_error_set(err, NL_ERR_SUPPORT,
                 "the CUDA driver does not start: %s failed with %s (%d): %s; "
                 "check `nvidia-smi` (a driver that was just updated needs a reboot)",
                 call, name != NULL ? name : "status", (int)status,
                 text != NULL ? text : "no description");
    err->code = status;
    snprintf(err->call, sizeof err->call, "%s", call);
    return -1;
}

int nl_driver_probe(nl_error *err) {
    nl_driver table;
    if (nl_driver_is_open() && strcmp(nl_cu.kind, "cuda") == 0)
        return 0;
    memcpy(&table, &nl_cu, sizeof table);
    if (nl_driver_real_fill(&table, err) < 0)
        return -1;
    return initialize_driver(&table, err);
}

static void call_open_hook(void) {
    void (*function)(void) = nl_atomic_load_entry(&opened);
    if (function != NULL)
        function();
}

void nl_driver_set_open_hook(void (*function)(void)) {
    nl_atomic_store_entry(&opened, function);
    if (nl_driver_is_open())
        function();
}

static int open_driver_lock_held(const char *kind, int sim_devices, nl_error *err) {
    nl_driver table = {.kind = NULL};
    if (is_open) {
        if (strcmp(nl_cu.kind, kind) == 0)
            return 0;
        return nl_error_set(
            err, NL_ERR_RUNTIME,
            "the driver is open already and is \"%s\"; "
            "\"%s\" has to be chosen before the first use of a device (NUMBALITE_DRIVER)",
            nl_cu.kind, kind);
    }
    if (fill_table(&table, kind, sim_devices, err) < 0 || initialize_driver(&table, err) < 0)
        return -1;
    if (adapter != NULL)
        adapter(&table);
    nl_cu = table;
    nl_atomic_store(&is_open, 1);
    call_open_hook();
    nl_thread_call_in_child(reset_lock_in_child);
    return 0;
}

int nl_driver_open(const char *kind, int sim_devices, nl_error *err) {
    nl_mutex_lock(&open_lock);
    int status = open_driver_lock_held(kind, sim_devices, err);
    nl_mutex_unlock(&open_lock);
    return status;
}

int nl_driver_is_open(void) {
    return nl_atomic_load(&is_open) != 0;
}

/* Table of statuses: name, cause in the user's terms, and remedy. */
typedef struct {
    CUresult code;
    const char *name, *what, *remedy;
    int sticky; /* the context is lost */
} meaning;

static const char restart[] = "The context is lost and with it everything on the device: "
                              "restart the process, or the notebook's kernel.";

static const meaning meanings[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range",
     "Check sizes, addresses and launch dimensions.", 0},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "not enough device memory",
     "Delete arrays that are no longer needed, work in smaller pieces, "
     "or see with `nvidia-smi` what else uses the GPU.",
     0},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not open",
     "Use a device first, for example cuda.current_context().", 0},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "the driver has shut down",
     "The process is ending: do device work earlier.", 1},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY",
     "the loaded libcuda.so is the toolkit's stub, not a driver",
     "Remove the toolkit's lib64/stubs from LD_LIBRARY_PATH.", 0},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no GPU was found",
     "Check `nvidia-smi` and CUDA_VISIBLE_DEVICES.", 0},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "there is no such device",
     "cuda.gpus lists the devices that exist.", 0},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "the compiled code cannot be loaded",
     "The file is damaged or no CUDA image: clear the cache, or check the file.", 0},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT",
     "no context, or the wrong context, is current",
     "Another library changed or destroyed the context: "
     "select the device again with cuda.select_device().",
     0},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the compiled code is not for this GPU",
     "Compile for this GPU's compute capability, or load PTX.", 0},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "the PTX does not assemble",
     "See the assembler's log; the PTX may be for a newer architecture.", 0},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the PTX comes from a toolkit that is newer than the driver",
     "Update the driver, or install an NVRTC that is no newer than what `nvidia-smi` shows.", 0},
    {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM", "an operating system call failed",
     "Check limits on locked memory (ulimit -l) and permissions of /dev/nvidia*.", 0},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE",
     "a stream, event, module or function does not exist any more or belongs to another device",
     "Create it on the device that uses it, and keep it alive.", 0},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "the name is not in the module",
     "Check the name of the kernel or variable.", 0},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "the earlier work is not complete yet", "", 0},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "a kernel accessed memory outside of its allocations",
     "debug=True checks every array access and reports kernel, thread and line.", 1},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "the block needs more registers or shared memory than a multiprocessor has",
     "Launch fewer threads per block, or limit registers with max_registers= or launch_bounds=.",
     0},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "a kernel ran longer than the display's watchdog allows", "Split it into shorter launches.",
     1},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "the devices can already access each other's memory", "Nothing needs to be done.", 0},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed",
     "Another library reset the device.", 1},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "a device assert failed; its message is on stderr", "",
     1},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, "CUDA_ERROR_HARDWARE_STACK_ERROR",
     "a kernel exceeded its stack or overwrote it",
     "Raise the stack limit, or recurse and allocate less in the kernel.", 1},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "a kernel reached an illegal instruction (a __trap(), or missing code)",
     "Look for __trap() and for functions that end without a return.", 1},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS",
     "a kernel used an address that is not aligned for its type",
     "Look for pointer casts and for vector types such as float4 over unaligned data.", 1},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "a kernel used an address of the wrong memory space",
     "Look for casts between shared, global and local memory.", 1},
    {CUDA_ERROR_INVALID_PC, "CUDA_ERROR_INVALID_PC", "a kernel jumped to a bad address",
     "Look for invalid function pointers and writes outside of local arrays.", 1},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed while it ran",
     "The usual cause is an invalid shared or local address: use debug=True or compute-sanitizer. "
     "tell more.",
     1},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "all blocks of a cooperative grid must run concurrently, and these do not fit on the device",
     "Launch at most max_cooperative_grid_blocks() blocks.", 0},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED",
     "this driver or device does not support the operation",
     "A newer driver may support it: see `python -m numbalite info`.", 0},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "this operation waits, so it cannot be part of a graph",
     "Do it before the capture begins or after it ends.", 0},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "an earlier error has invalidated this capture",
     "Begin a new capture without the operation that failed.", 0},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "an event would connect two captures", "Capture on streams of one capture only.", 0},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "a capture must end on the stream on which it began", "End it there.", 0},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "work on another stream joined the capture, and the captured stream does not wait for its end",
     "Record an event on that stream after its last work, and let the captured stream wait for it.",
     0},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "captured work cannot wait for an event that was recorded outside of the capture",
     "Wait for the event before the capture begins.", 0},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "the default stream cannot be used while a stream that is ordered with it is being captured",
     "Pass the captured stream (stream=), or capture a stream created with non_blocking=True.", 0},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
     "the event was recorded inside a capture, so it is never reached",
     "Record the event again after the capture.", 0},
};

static const meaning *find_explanation(CUresult status) {
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; ++i) {
        if (meanings[i].code == status)
            return &meanings[i];
    }
    return NULL;
}

int nl_driver_is_context_lost(CUresult status) {
    const meaning *reason = find_explanation(status);
    return reason != NULL && reason->sticky;
}

/* Formats "cuX failed with NAME (code): cause." from the table above or, for other statuses, from
 * the driver's texts. */
static void describe_failure(CUresult status, const char *call, const meaning *reason,
                             nl_error *err) {
    const char *name = reason != NULL ? reason->name : NULL;
    const char *what = reason != NULL ? reason->what : NULL;
    if (name == NULL)
        nl_cu.GetErrorName(status, &name);
    if (what == NULL)
        nl_cu.GetErrorString(status, &what);
    const char *remedy = reason != NULL ? reason->remedy : "";
    nl_error_set(err, NL_ERR_CUDA, "%s failed with %s (%d): %s.%s%s%s%s", call,
                 name != NULL ? name : "an unknown status", (int)status,
                 what != NULL ? what : "the driver reports no details", *remedy ? " " : "", remedy,
                 reason != NULL && reason->sticky && status != CUDA_ERROR_DEINITIALIZED ? " " : "",
                 reason != NULL && reason->sticky && status != CUDA_ERROR_DEINITIALIZED ? restart
                                                                                        : "");
}

int nl_driver_check(CUresult status, const char *call, nl_error *err) {
    if (__builtin_expect(status == CUDA_SUCCESS, 1))
        return 0;
    const meaning *reason = find_explanation(status);
    if (nl_cu.TakeFault != NULL && nl_cu.TakeFault(&err->fault)) {
        nl_error_fault(err); /* if the driver reports the fault itself, the context is not lost */
    } else if (status == NL_STATUS_INTERRUPTED) {
        nl_error_set(err, NL_ERR_RUNTIME, "interrupted");
    } else if (status == NL_STATUS_TIMEOUT) {
        nl_mutex_lock(&timeout_lock);
        nl_error_set(err, NL_ERR_TIMEOUT, "%s", timeout_text);
        nl_mutex_unlock(&timeout_lock);
    } else if (status == NL_STATUS_FAILED) {
        nl_error_set(err, NL_ERR_RUNTIME, "an assert has failed, which another thread reports");
    } else if (status == CUDA_ERROR_ASSERT) {
        nl_fault_init(&err->fault, NL_FAULT_ASSERT, NL_FAULT_HEAD_NONE, "");
        nl_fault_set_text(&err->fault, "%s. %s", reason->what, restart);
        nl_error_fault(err);
    } else {
        describe_failure(status, call, reason, err);
    }
    err->code = status;
    snprintf(err->call, sizeof err->call, "%s", call);
    return -1;
}

void nl_driver_print_failure(CUresult status, const char *call) {
    if (status == CUDA_SUCCESS || nl_driver_is_context_lost(status) || status == NL_STATUS_FAILED ||
        nl_driver_is_ended_wait(status))
        return;
    nl_error err = {0};
    describe_failure(status, call, find_explanation(status), &err);
    fprintf(stderr, "numbalite: %s\n", err.text);
}
