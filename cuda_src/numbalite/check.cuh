/* check: what debug=True adds: array indices are checked, and a failed check or assert is reported.
 *
 * The first thread that fails claims `nl_fault_record` and writes there what went wrong and where;
 * that thread and every other that fails then exits, and the launch ends in peace. Afterwards the
 * host reads the record (numbalite/fault.py decodes it: FORMAT there is `fault_record` here) and
 * raises KernelError. The context stays usable, which a trap or a device assert would not leave it.
 *
 * The line of an index is caught by the implicit conversion from a number to `nl_detail::index`:
 * its constructor's default arguments are evaluated where the index stands. A compiler without
 * __builtin_LINE (NVRTC 12.0) reports line 0, "not known". An array's name is found by address in a
 * small table which the generated kernel fills first thing with NUMBALITE_NAME_ARRAY. */
#ifndef NUMBALITE_CHECK_CUH
#define NUMBALITE_CHECK_CUH

#ifdef __has_builtin
#if __has_builtin(__builtin_LINE)
#define NUMBALITE_HERE __builtin_LINE(), const char *file = __builtin_FILE()
#endif
#endif
#ifndef NUMBALITE_HERE
#define NUMBALITE_HERE 0, const char *file = ""
#endif

namespace numbalite {

enum fault_kind { fault_none, fault_index, fault_assert };

/* 256 bytes, little-endian, no padding; the kind is written last of all. */
struct fault_record {
    int kind;
    int line; /* 0: not known */
    unsigned block[3];
    unsigned thread[3];
    int ndim, axis; /* fault_index: the array's dimensions, and the index's place among them */
    int64 index, extent;
    int64 shape[4]; /* fault_index: of the first four dimensions */
    char name[40];  /* fault_index: the array's, "" where not known; else the assert's function */
    char text[64];  /* fault_assert: the condition */
    char file[64];  /* the end of the path */
};
static_assert(sizeof(fault_record) == 256, "fault_record is 256 bytes");

} // namespace numbalite

extern "C" {
__device__ numbalite::fault_record nl_fault_record;
}

namespace numbalite {
namespace nl_detail {

/* Which memory belongs to which name, for messages alone: every thread writes the same. */
struct array_name {
    const char *low, *high, *name;
};
static __device__ array_name array_names[16];

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

[[noreturn]] static __device__ __forceinline__ void exit_thread() {
#ifdef NUMBALITE_SIM
    __nl_sim_exit();
#else
    asm volatile("exit;");
    __builtin_unreachable();
#endif
}

/* True for the one thread that is to write the record. Another launch may find the record of an
 * earlier one that the host has not read yet: that one stays. */
static __device__ bool claim_fault(int line, const char *file) {
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

struct index {
    int64 value;
    int line;
    const char *file;
    template <class I>
    NUMBALITE_FUNCTION index(I i, int line = NUMBALITE_HERE)
        : value((int64)i), line(line), file(file) {}
    NUMBALITE_FUNCTION operator int64() const { return value; }
};

[[noreturn]] static __device__ __noinline__ void
fail_index(const index &i, int axis, const int64 *shape, int ndim, const void *pointer) {
    if (claim_fault(i.line, i.file)) {
        fault_record &r = nl_fault_record;
        r.ndim = ndim, r.axis = axis, r.index = i.value, r.extent = shape[axis];
        for (int k = 0; k < 4; ++k)
            r.shape[k] = k < ndim ? shape[k] : 0;
        r.name[0] = r.text[0] = 0;
        for (const array_name &a : array_names)
            if (a.name && a.low <= (const char *)pointer && (const char *)pointer < a.high)
                copy_text(r.name, a.name, sizeof r.name, false);
        publish_fault(fault_index);
    }
    exit_thread();
}

NUMBALITE_FUNCTION int64 checked(const index &i, int axis, const int64 *shape, int ndim,
                                 const void *pointer) {
    if (i.value < 0 || i.value >= shape[axis])
        fail_index(i, axis, shape, ndim, pointer);
    return i.value;
}

[[noreturn]] static __device__ __noinline__ void
fail_assert(const char *condition, const char *function, int line, const char *file) {
    if (claim_fault(line, file)) {
        fault_record &r = nl_fault_record;
        r.ndim = r.axis = 0, r.index = r.extent = 0;
        for (int k = 0; k < 4; ++k)
            r.shape[k] = 0;
        copy_text(r.name, function, sizeof r.name, false);
        copy_text(r.text, condition, sizeof r.text, false);
        publish_fault(fault_assert);
    }
    exit_thread();
}

/* Remembers that the memory of `a` is called `name`. */
template <class A> static __device__ void name_array(int slot, const A &a, const char *name) {
    const char *low = (const char *)a.data(), *high = low + sizeof(*a.data());
    for (int k = 0; k < A::ndim; ++k) {
        if (a.shape[k] == 0)
            high = low;
        int64 reach = (a.shape[k] - 1) * a.strides[k];
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    if (low >= high)
        high = low + 1; /* an empty array still has an address */
    if (slot < 16)
        array_names[slot] = array_name{low, high, name};
}

} // namespace nl_detail
} // namespace numbalite

/* Where a thread waits for others that may have left. */
#define NUMBALITE_LEAVE_AFTER_FAULT \
    if (*(volatile int *)&nl_fault_record.kind) \
    ::numbalite::nl_detail::exit_thread()

#define NUMBALITE_NAME_ARRAY(slot, array) ::numbalite::nl_detail::name_array(slot, array, #array)

#ifndef NDEBUG
#undef assert
#define assert(...) \
    (static_cast<bool>(__VA_ARGS__) \
         ? static_cast<void>(0) \
         : ::numbalite::nl_detail::fail_assert(#__VA_ARGS__, __FUNCTION__, __LINE__, __FILE__))
#endif

#endif
