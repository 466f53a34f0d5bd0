/* sim/library: what kernels get from the engine under the C library's names (libc.h has the
 * declarations). None of it leaves the image. */
#ifndef NUMBALITE_SIM_LIBRARY_H
#define NUMBALITE_SIM_LIBRARY_H

#define NUMBALITE_SIM_HIDDEN NUMBALITE_SIM_UNCHECKED __attribute__((visibility("hidden"), used))

extern "C" {
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
    return numbalite_sim::ops->malloc(size);
}
NUMBALITE_SIM_HIDDEN void nl_sim_release(void *block) __asm__("nl_sim_free");
NUMBALITE_SIM_HIDDEN void nl_sim_release(void *block) {
    numbalite_sim::ops->free(block);
}
NUMBALITE_SIM_HIDDEN clock_t nl_sim_cycles() __asm__("nl_sim_clock");
NUMBALITE_SIM_HIDDEN clock_t nl_sim_cycles() {
    return static_cast<clock_t>(numbalite_sim::ops->clock());
}

/* irpatch.py puts a call of this before each volatile load: a thread may be waiting there. */
NUMBALITE_SIM_HIDDEN void nl_sim_volatile_read() {
    numbalite_sim::spin("", 0);
}

/* What g++ and clang++ expect of a C++ library. */
NUMBALITE_SIM_HIDDEN void __cxa_pure_virtual() {
    numbalite_sim::fault(719, "a pure virtual function was called", "", 0);
}
}

#endif
