/* base/clock: reads CLOCK_MONOTONIC, and the time stamp counter of x86-64. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "base/clock.h"

#include <time.h>

unsigned long long nl_clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

unsigned long long nl_clock_cycles(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return nl_clock_ns();
#endif
}
