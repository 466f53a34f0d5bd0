/* sim/driver/calls: opens the driver table on the CPU, and implements calls without a device:
 * versions and names of errors. */
#include "sim/driver/calls.h"

#include "sim/check/check.h"
#include "sim/check/observer.h"
#include "sim/check/profile.h"
#include "sim/check/verdict.h"
#include "sim/driver/cublas.h"
#include "sim/driver/lasterror.h"
#include "sim/driver/primary.h"
#include "sim/driver/stream.h"
#include "sim/driver/streamclock.h"
#include "sim/engine/grid.h"
#include "sim/engine/limits.h"
#include "sim/engine/progress.h"

static CUresult sim_Init(unsigned flags) {
    NL_SIM_REQUIRE(flags == 0);
    return nl_sim_call_initialise();
}

static CUresult sim_DriverGetVersion(int *version) {
    NL_SIM_REQUIRE(version);
    *version = NL_SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {300, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "operation not supported on global/shared address space"},
    {718, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int find_error(CUresult code) {
    for (int i = 0; i < (int)(sizeof errors / sizeof errors[0]); i++) {
        if (errors[i].code == code)
            return i;
    }
    return -1;
}

static CUresult sim_GetErrorName(CUresult code, const char **text) {
    NL_SIM_REQUIRE(text);
    int i = find_error(code);
    *text = i < 0 ? NULL : errors[i].name;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult sim_GetErrorString(CUresult code, const char **text) {
    NL_SIM_REQUIRE(text);
    int i = find_error(code);
    *text = i < 0 ? NULL : errors[i].text;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult sim_ProfilerStart(void) {
    NL_SIM_BEGIN();
    return CUDA_SUCCESS;
}

static CUresult sim_ProfilerStop(void) {
    NL_SIM_BEGIN();
    return CUDA_SUCCESS;
}

static int pop_last_fault(nl_fault *fault) {
    uint64_t id;
    if (!nl_sim_lasterror_pop_fault(fault, &id))
        return 0;
    nl_sim_stream_clear_fault(id);
    return 1;
}

int nl_sim_calls_fill(nl_driver *table, int device_count, nl_error *err) {
    int devices = device_count < 1 ? 1 : device_count;
    if (devices > NL_SIM_MAX_DEVICES)
        return nl_error_set(err, NL_ERR_SUPPORT,
                            "there can be at most %d simulated devices, not %d", NL_SIM_MAX_DEVICES,
                            devices);
    if (nl_sim_primary_open(devices) < 0)
        return nl_error_set(err, NL_ERR_SUPPORT,
                            "there is not enough memory for simulated devices");
    nl_sim_observer_install();
    table->Init = sim_Init;
    table->DriverGetVersion = sim_DriverGetVersion;
    table->GetErrorName = sim_GetErrorName;
    table->GetErrorString = sim_GetErrorString;
    table->ProfilerStart = sim_ProfilerStart;
    table->ProfilerStop = sim_ProfilerStop;
    nl_sim_calls_device_fill(table);
    nl_sim_calls_memory_fill(table);
    nl_sim_calls_ipc_fill(table);
    nl_sim_calls_copy_fill(table);
    nl_sim_calls_stream_fill(table);
    nl_sim_calls_module_fill(table);
    nl_sim_calls_launch_fill(table);
    nl_sim_calls_graph_fill(table);
    nl_sim_calls_texture_fill(table);
    table->kind = "sim";
    table->TakeFault = pop_last_fault;
    table->SetChecks = nl_sim_check_set_thread;
    table->SetProcessChecks = nl_sim_check_set_process;
    table->Checks = nl_sim_check_mask_of_thread;
    table->TakeVerdict = nl_sim_verdict_pop;
    table->OpenProfile = nl_sim_profile_open;
    table->TakeProfile = nl_sim_profile_take;
    table->CloseProfile = nl_sim_profile_close;
    table->SetCaller = nl_sim_streamclock_set_caller;
    table->StreamNumber = nl_sim_streamclock_stream_number;
    table->HostKnows = nl_sim_streamclock_order_host;
    table->RunLastBlocks = nl_sim_grid_run_only_last_blocks;
    table->Progress = nl_sim_progress_read;
    table->FillCublas = nl_sim_cublas_fill;
    table->watches_freed = table->ends_waits = 1;
    table->memory_is_host = table->loads_host_code = 1;
    return 0;
}
