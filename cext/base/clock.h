/* base/clock: monotonic time. */
#ifndef NL_BASE_CLOCK_H
#define NL_BASE_CLOCK_H

/* Nanoseconds since an unspecified start. */
unsigned long long nl_clock_ns(void);

/* Returns the processor's cycle counter (x86-64), else nanoseconds. */
unsigned long long nl_clock_cycles(void);

#endif
