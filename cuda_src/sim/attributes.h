/* sim/attributes: function attributes for numbalite's own functions, in checked and other
 * images. */
#ifndef NUMBALITE_SIM_ATTRIBUTES_H
#define NUMBALITE_SIM_ATTRIBUTES_H

/* Without optimization, inlining takes more than half of the back end's time and makes kernels only
 * a little faster, so numbalite/compilers/host.py disables inlining. */
#ifdef NUMBALITE_SIM_NOT_INLINED
#define NUMBALITE_SIM_ALWAYS_INLINE
#else
#define NUMBALITE_SIM_ALWAYS_INLINE __attribute__((always_inline))
#endif
#define NUMBALITE_SIM_INLINE inline NUMBALITE_SIM_ALWAYS_INLINE
/* Attributes for functions that checked images do not instrument (hooks.h). */
#ifdef NUMBALITE_SIM_CHECKED
/* the first attribute excludes functions from instrumentation; the second also excludes their
 * atomics */
#ifdef __clang__
#if __clang_major__ < 14
#error "numbalite: checks need clang++ 14, g++ 9, or newer"
#endif
#define NUMBALITE_SIM_UNCHECKED \
    __attribute__((no_sanitize("thread"), no_sanitize("undefined"), \
                   disable_sanitizer_instrumentation))
#else
#define NUMBALITE_SIM_UNCHECKED __attribute__((no_sanitize("thread"), no_sanitize("undefined")))
#endif
#define NUMBALITE_SIM_OWN static NUMBALITE_SIM_UNCHECKED __attribute__((noinline))
/* With this attribute, the compiler does not merge calls, so that each call has its own source
 * line, even directly before the end of a function. */
#ifdef __clang__
#define NUMBALITE_SIM_APART __attribute__((nomerge))
#else
#define NUMBALITE_SIM_APART
#endif
/* Attribute for a function whose result does not change during the thread's lifetime. */
#define NUMBALITE_SIM_PLACE static NUMBALITE_SIM_UNCHECKED __attribute__((noinline, const))
#else
#define NUMBALITE_SIM_UNCHECKED
#define NUMBALITE_SIM_OWN NUMBALITE_SIM_INLINE
#define NUMBALITE_SIM_PLACE NUMBALITE_SIM_INLINE
#endif

/* Reads a member of an array without instrumentation in images of the profiler, which does not
 * count these reads (of parameters on a GPU). LLVM does not instrument accesses of other address
 * spaces; address space 1 is normal memory. */
#if NUMBALITE_SIM_CHECKED & 1024 && defined(NUMBALITE_SIM_CLANG)
#define NUMBALITE_SIM_UNCOUNTED 1
namespace numbalite_sim {
template <class T> NUMBALITE_SIM_INLINE T uncounted(const T &value) {
    return *(const __attribute__((address_space(1))) T *)(unsigned long long)&value;
}
} // namespace numbalite_sim
#endif

#endif
