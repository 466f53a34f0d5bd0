/* checked: an index type that records its source line. The including header defines fail_index,
 * which handles a wrong index: check.cuh for kernels, host/check.h for the CPU.
 *
 * The line is recorded by the implicit conversion of a number to `nl_detail::index`: the default
 * arguments of its constructor are evaluated at the position of the index. Compilers without
 * __builtin_LINE (NVRTC before 12.9) report line 0, "unknown". */
#ifndef NUMBALITE_CHECKED_CUH
#define NUMBALITE_CHECKED_CUH

#if defined(NUMBALITE_SIM)
#define NUMBALITE_HERE __builtin_LINE(), const char *file = __builtin_FILE()
#elif defined(__has_builtin)
#if __has_builtin(__builtin_LINE)
#define NUMBALITE_HERE __builtin_LINE(), const char *file = __builtin_FILE()
#endif
#endif
#ifndef NUMBALITE_HERE
#define NUMBALITE_HERE 0, const char *file = ""
#endif

namespace numbalite {
namespace nl_detail {

struct index {
    int64 value;
    int line;
    const char *file;
    struct only {}; /* without this member, {i, j} would convert to an index */
    template <class I>
    NUMBALITE_FUNCTION index(I i, only = only(), int line = NUMBALITE_HERE)
        : value((int64)i), line(line), file(file) {}
    NUMBALITE_FUNCTION operator int64() const { return value; }
};

[[noreturn]] static __device__ __noinline__ void
fail_index(const index &i, int axis, const int64 *shape, int ndim, const void *pointer);

NUMBALITE_FUNCTION int64 checked(const index &i, int axis, const int64 *shape, int ndim,
                                 const void *pointer) {
    if (i.value < 0 || i.value >= shape[axis])
        fail_index(i, axis, shape, ndim, pointer);
    return i.value;
}

} // namespace nl_detail
} // namespace numbalite

#endif
