/* base/clock: time that only goes forward. */
#ifndef NL_BASE_CLOCK_H
#define NL_BASE_CLOCK_H

/* Nanoseconds since some moment. */
unsigned long long nl_clock_ns(void);

/* The processor's own counter where it can be read; else nanoseconds. */
unsigned long long nl_clock_cycles(void);

#endif
