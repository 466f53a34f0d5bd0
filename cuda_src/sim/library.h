/* sim/library: functions of the C library that the engine implements for kernels (declared in
 * libc.h). The functions of this header are not exported from the image. In code for CPU targets,
 * the runtime replaces the engine, and the C library's memory functions are used.
 *
 * Most functions are inline, so that an image contains only those that its kernels call. */
#ifndef NUMBALITE_SIM_LIBRARY_H
#define NUMBALITE_SIM_LIBRARY_H

#define NUMBALITE_SIM_HIDDEN NUMBALITE_SIM_UNCHECKED __attribute__((visibility("hidden")))

extern "C" {
#ifdef NUMBALITE_HOST
void *nl_host_malloc(size_t) noexcept __asm__("malloc");
void nl_host_free(void *) noexcept __asm__("free");
#define NUMBALITE_SIM_MALLOC nl_host_malloc
#define NUMBALITE_SIM_FREE nl_host_free
#else
#define NUMBALITE_SIM_MALLOC numbalite_sim::ops->malloc
#define NUMBALITE_SIM_FREE numbalite_sim::ops->free
#endif

inline NUMBALITE_SIM_HIDDEN int printf(const char *format, ...) {
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    int count = numbalite_sim::ops->vprintf(format, arguments);
    __builtin_va_end(arguments);
    return count;
}
inline NUMBALITE_SIM_HIDDEN void *malloc(size_t size) noexcept {
    return NUMBALITE_SIM_MALLOC(size);
}
inline NUMBALITE_SIM_HIDDEN void free(void *block) noexcept {
    NUMBALITE_SIM_FREE(block);
}
#undef NUMBALITE_SIM_MALLOC
#undef NUMBALITE_SIM_FREE
inline NUMBALITE_SIM_HIDDEN clock_t clock() noexcept {
    return static_cast<clock_t>(numbalite_sim::ops->clock());
}

#if !defined(NUMBALITE_HOST) && defined(NUMBALITE_SIM_CLANG)
/* irpatch.py inserts a call of this function before each volatile access, because a thread may wait
 * for another thread by the access, and because it synchronizes the lanes of a warp. If there is no
 * volatile access, irpatch.py removes the function. */
NUMBALITE_SIM_HIDDEN __attribute__((used)) void nl_sim_volatile_access(const void *address,
                                                                       unsigned place) {
    if (!(place & 1))
        numbalite_sim::spin("", 0);
    numbalite_sim::synchronize_before_volatile(address, place);
}
#endif

/* Symbols that g++ and clang++ expect in a C++ library. */
NUMBALITE_SIM_HIDDEN __attribute__((used)) void __cxa_pure_virtual() {
    numbalite_sim::fault(719, "a pure virtual function was called", "", 0);
}
}

#endif
