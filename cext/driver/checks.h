/* driver/checks: the checks of kernels at run time. Python selects them, and a driver that has
 * checks (the simulator) executes them. */
#ifndef NL_DRIVER_CHECKS_H
#define NL_DRIVER_CHECKS_H

#include <stddef.h>
#include <stdint.h>

/* Bits of a mask, with the same values as in numbalite/runtime/checks.py. */
enum {
    NL_CHECK_MEMORY = 1,    /* accesses out of bounds, to freed memory, and misaligned ones */
    NL_CHECK_UNWRITTEN = 2, /* reads of uninitialized memory */
    NL_CHECK_RACE = 4,
    NL_CHECK_SYNC = 8, /* barriers and collectives that not all threads reach */
    NL_CHECK_HANG = 16,
    NL_CHECK_DIVIDE = 32,  /* integer division by zero */
    NL_CHECK_NAN = 64,     /* NaN or infinity computed from finite numbers */
    NL_CHECK_STACK = 128,  /* more stack or shared memory than available */
    NL_CHECK_STREAM = 256, /* unordered accesses of operations on two streams to the same memory */
    NL_CHECK_OVERFLOW = 512, /* overflow in signed arithmetic of indices */
    NL_CHECK_PROFILE = 1024, /* no check: accesses are counted (profile.h) */

    /* NL_CHECK_TWIN: checks of every access that compiled kernels contain. NL_CHECK_ACCESSES: all
     * checks of every access. */
    NL_CHECK_TWIN = NL_CHECK_MEMORY | NL_CHECK_UNWRITTEN | NL_CHECK_RACE,
    NL_CHECK_ACCESSES = NL_CHECK_TWIN | NL_CHECK_STREAM,
    /* Checks for which a kernel is compiled a second time. */
    NL_CHECK_COMPILED =
        NL_CHECK_TWIN | NL_CHECK_DIVIDE | NL_CHECK_NAN | NL_CHECK_OVERFLOW | NL_CHECK_PROFILE,
    /* The checks of a kernel compiled with debug=True. */
    NL_CHECK_DEBUG = NL_CHECK_TWIN | NL_CHECK_SYNC | NL_CHECK_HANG | NL_CHECK_DIVIDE |
                     NL_CHECK_STACK | NL_CHECK_OVERFLOW,
    NL_CHECK_NONE = 1 << 30, /* also without the checks of debug=True */
};

enum { NL_CHECKS_SCHEDULE = 320 };

typedef struct nl_checks {
    uint32_t mask;
    int shuffled; /* threads and blocks run in an order derived from `seed` */
    uint64_t seed;
    uint64_t limit_ms;  /* a kernel that runs longer is reported as hanging; 0: no limit */
    int exact;          /* races: the exact search, which records verdicts */
    uint64_t record;    /* exact: the number under which verdicts are recorded */
    uint64_t budget_ms; /* exact: for further schedules of a launch */
    char schedule[NL_CHECKS_SCHEDULE]; /* exact: the only schedule to run; "": any */
    uint64_t profile; /* with NL_CHECK_PROFILE: the token of nl_driver.OpenProfile */
} nl_checks;

/* The result of the exact race search for the launches of a kernel. Of several results, the largest
 * value counts. */
typedef enum nl_verdict_kind {
    NL_VERDICT_NO_RACE,   /* no schedule of these launches has a race */
    NL_VERDICT_DEPENDS,   /* no race in the schedules tried; atomics order the threads */
    NL_VERDICT_UNDECIDED, /* a launch failed early, for another reason */
    NL_VERDICT_RACES,
} nl_verdict_kind;

enum { NL_VERDICT_KERNEL = 200 };

typedef struct nl_verdict {
    uint64_t record;
    char kernel[NL_VERDICT_KERNEL];
    nl_verdict_kind kind;
    uint64_t launches, schedules; /* schedules: the sum of all launches */
} nl_verdict;

/* Returns the checks of a launch from a thread with checks `mask`. is_debug: the kernel was
 * compiled with debug=True. */
static inline uint32_t nl_checks_of_launch(uint32_t mask, int is_debug) {
    if (is_debug && !(mask & (NL_CHECK_NONE | NL_CHECK_PROFILE)))
        mask |= NL_CHECK_DEBUG;
    return mask & ~(uint32_t)NL_CHECK_NONE;
}

/* Returns the checks (of NL_CHECK_COMPILED) for which the kernel of such a launch is compiled. */
static inline uint32_t nl_checks_of_image(uint32_t checks) {
    return (checks & NL_CHECK_COMPILED) | (checks & NL_CHECK_ACCESSES ? NL_CHECK_TWIN : 0);
}

/* Compiles the source of `image` again with the checks of `mask` (of NL_CHECK_COMPILED; 0: none).
 * Returns 0 and *twin, which the caller frees with free(), or -1 with a message in `log`. May call
 * Python; must be called without any lock. */
typedef int (*nl_checks_compile_fn)(const void *image, size_t size, uint32_t mask, void **twin,
                                    char *log, size_t log_size);

#endif
