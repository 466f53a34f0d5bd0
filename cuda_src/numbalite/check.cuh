/* check: the effect of debug=True and boundscheck=True: array indices are checked, and a failed
 * check, assert or __trap is reported.
 *
 * The first thread that fails claims `nl_fault_record`, and writes the error and the thread's
 * position to this record. All threads that fail exit, and the launch ends normally: a thread that
 * has exited counts as arrived at every barrier. After the launch, the host reads the record
 * (numbalite/kernels/fault.py decodes it: FORMAT in fault.py must match `fault_record`) and raises
 * KernelError. The context stays usable; a trap or a device assert would destroy it.
 *
 * The host finds the array's name from the recorded address, because it has the launch's
 * arguments. */
#ifndef NUMBALITE_CHECK_CUH
#define NUMBALITE_CHECK_CUH

#include "numbalite/checked.cuh"
#include "numbalite/exit.cuh"

namespace numbalite {

enum fault_kind { fault_none, fault_index, fault_assert, fault_trap, fault_raise };

/* 336 bytes, little-endian, without padding; `kind` is written last. */
struct fault_record {
    int kind; /* -1: being written */
    int line; /* 0: unknown */
    unsigned block[3];
    unsigned thread[3];
    int ndim, axis; /* for fault_index: number of the array's dimensions, axis of the index */
    int64 index, extent;
    int64 shape[4]; /* for fault_index: the first four dimensions */
    uint64 address; /* for fault_index: address of the array's first element */
    uint64 count;   /* number of threads that failed a check */
    char name[40];  /* name of the failed function; unused for fault_index */
    char text[128]; /* for fault_assert: the condition; for fault_raise: the exception */
    char file[64];  /* the end of the path */
};
static_assert(sizeof(fault_record) == 336, "fault_record is 336 bytes");

} // namespace numbalite

extern "C" {
__device__ numbalite::fault_record nl_fault_record;
}

namespace numbalite {
namespace nl_detail {

static __device__ void copy_text(char *to, const char *from, int size, bool keep_end) {
    int length = 0, skip = 0;
    while (from[length])
        ++length;
    if (keep_end && length > size - 1)
        skip = length - (size - 1);
    int k = 0;
    for (; k < size - 1 && from[skip + k]; ++k)
        to[k] = from[skip + k];
    to[k] = 0;
}

/* Returns true for only one thread, which must then write the record. A record of an earlier launch
 * that the host has not read yet is not overwritten. */
static __device__ bool claim_fault(int line, const char *file) {
    atomicAdd((unsigned long long *)&nl_fault_record.count, 1ull);
    if (atomicCAS(&nl_fault_record.kind, 0, -1) != 0)
        return false;
    fault_record &r = nl_fault_record;
    r.line = line;
    r.block[0] = blockIdx.x, r.block[1] = blockIdx.y, r.block[2] = blockIdx.z;
    r.thread[0] = threadIdx.x, r.thread[1] = threadIdx.y, r.thread[2] = threadIdx.z;
    copy_text(r.file, file, sizeof r.file, true);
    return true;
}

static __device__ void publish_fault(int kind) {
    __threadfence();
    atomicExch(&nl_fault_record.kind, kind);
}

[[noreturn]] static __device__ __noinline__ void
fail_index(const index &i, int axis, const int64 *shape, int ndim, const void *pointer) {
    if (claim_fault(i.line, i.file)) {
        fault_record &r = nl_fault_record;
        r.ndim = ndim, r.axis = axis, r.index = i.value, r.extent = shape[axis];
        for (int k = 0; k < 4; ++k)
            r.shape[k] = k < ndim ? shape[k] : 0;
        r.address = (uint64)pointer;
        r.name[0] = r.text[0] = 0;
        publish_fault(fault_index);
    }
    exit_thread();
}

/* Reports a failed assert, a trap, or a Python exception (python.cuh). */
[[noreturn]] static __device__ __noinline__ void
fail_here(int kind, const char *condition, const char *function, int line, const char *file) {
    if (claim_fault(line, file)) {
        fault_record &r = nl_fault_record;
        r.ndim = r.axis = 0, r.index = r.extent = 0, r.address = 0;
        for (int k = 0; k < 4; ++k)
            r.shape[k] = 0;
        copy_text(r.name, function, sizeof r.name, false);
        copy_text(r.text, condition, sizeof r.text, false);
        publish_fault(kind);
    }
    exit_thread();
}

} // namespace nl_detail
} // namespace numbalite

/* Ends the calling thread after a fault; used in loops in which a thread waits for other threads
 * that may have exited after the fault. */
#define NUMBALITE_LEAVE_AFTER_FAULT \
    if (*(volatile int *)&nl_fault_record.kind) \
    ::numbalite::nl_detail::exit_thread()

#define NUMBALITE_FAIL_AT(kind, condition, function, line, file) \
    ::numbalite::nl_detail::fail_here(::numbalite::kind, condition, function, line, file)
#define NUMBALITE_FAIL(kind, condition) \
    NUMBALITE_FAIL_AT(kind, condition, __FUNCTION__, __LINE__, __FILE__)

#ifndef NDEBUG
#undef assert
#define assert(...) \
    (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                    : NUMBALITE_FAIL(fault_assert, #__VA_ARGS__))
#endif
#undef __trap
#define __trap() NUMBALITE_FAIL(fault_trap, "")

#endif
