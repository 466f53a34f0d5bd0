/* sim/library: what kernels get from the engine under the C library's names (libc.h has the
 * declarations). None of it leaves the image. Code for the CPU itself has a runtime in the engine's
 * place, and the C library's own memory. */
#ifndef NUMBALITE_SIM_LIBRARY_H
#define NUMBALITE_SIM_LIBRARY_H

#define NUMBALITE_SIM_HIDDEN NUMBALITE_SIM_UNCHECKED __attribute__((visibility("hidden"), used))

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

NUMBALITE_SIM_HIDDEN int nl_sim_print(const char *format, ...) __asm__("nl_sim_printf");
NUMBALITE_SIM_HIDDEN int nl_sim_print(const char *format, ...) {
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    int count = numbalite_sim::ops->vprintf(format, arguments);
    __builtin_va_end(arguments);
    return count;
}
NUMBALITE_SIM_HIDDEN void *nl_sim_allocate(size_t size) __asm__("nl_sim_malloc");
NUMBALITE_SIM_HIDDEN void *nl_sim_allocate(size_t size) {
    return NUMBALITE_SIM_MALLOC(size);
}
NUMBALITE_SIM_HIDDEN void nl_sim_release(void *block) __asm__("nl_sim_free");
NUMBALITE_SIM_HIDDEN void nl_sim_release(void *block) {
    NUMBALITE_SIM_FREE(block);
}
#undef NUMBALITE_SIM_MALLOC
#undef NUMBALITE_SIM_FREE
NUMBALITE_SIM_HIDDEN clock_t nl_sim_cycles() __asm__("nl_sim_clock");
NUMBALITE_SIM_HIDDEN clock_t nl_sim_cycles() {
    return static_cast<clock_t>(numbalite_sim::ops->clock());
}

#ifndef NUMBALITE_HOST
/* irpatch.py puts a call of this before each volatile load: a thread may be waiting there. */
NUMBALITE_SIM_HIDDEN void nl_sim_volatile_read() {
    numbalite_sim::spin("", 0);
}
#endif

/* What g++ and clang++ expect of a C++ library. */
NUMBALITE_SIM_HIDDEN void __cxa_pure_virtual() {
    numbalite_sim::fault(719, "a pure virtual function was called", "", 0);
}
}

#endif
