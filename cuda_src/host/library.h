/* host/library: in the place of sim/library.h. What sim/libc.h redirects away from the C library
 * goes to the runtime (printf, clock) or straight back to it (malloc, free). */
#ifndef NUMBALITE_HOST_LIBRARY_H
#define NUMBALITE_HOST_LIBRARY_H

#define NUMBALITE_SIM_HIDDEN __attribute__((visibility("hidden"), used))

extern "C" {
void *nl_host_malloc(size_t) noexcept __asm__("malloc");
void nl_host_free(void *) noexcept __asm__("free");

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
    return nl_host_malloc(size);
}
NUMBALITE_SIM_HIDDEN void nl_sim_release(void *block) __asm__("nl_sim_free");
NUMBALITE_SIM_HIDDEN void nl_sim_release(void *block) {
    nl_host_free(block);
}
NUMBALITE_SIM_HIDDEN clock_t nl_sim_cycles() __asm__("nl_sim_clock");
NUMBALITE_SIM_HIDDEN clock_t nl_sim_cycles() {
    return static_cast<clock_t>(numbalite_sim::ops->clock());
}
NUMBALITE_SIM_HIDDEN void __cxa_pure_virtual() {
    numbalite_sim::fault(719, "a pure virtual function was called", "", 0);
}
}

#endif
