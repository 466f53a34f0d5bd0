/* driver/checks: defines the checks of kernels at run time. Python code selects the checks, and a
 * driver that supports them (the simulator) executes them. */
#ifndef NL_DRIVER_CHECKS_H
#define NL_DRIVER_CHECKS_H

#include <stddef.h>
#include <stdint.h>

/* Bits of a mask of checks, with the same values as in numbalite/runtime/checks.py. */
enum {
    NL_CHECK_MEMORY = 1,    /* out-of-bounds, misaligned and use-after-free accesses */
    NL_CHECK_UNWRITTEN = 2, /* reads of uninitialized memory */
    NL_CHECK_RACE = 4,
    NL_CHECK_SYNC = 8, /* barriers and collectives that not all threads reach */
    NL_CHECK_HANG = 16,
    NL_CHECK_DIVIDE = 32,    /* integer division by zero */
    NL_CHECK_NAN = 64,       /* operations that compute NaN or infinity from finite numbers */
    NL_CHECK_STACK = 128,    /* use of more stack or shared memory than is available */
    NL_CHECK_STREAM = 256,   /* races between operations on different streams */
    NL_CHECK_OVERFLOW = 512, /* signed integer overflow of indices */
    NL_CHECK_PROFILE = 1024, /* not a check: counts accesses (profile.h) */

    /* NL_CHECK_TWIN contains those per-access checks for which a kernel is compiled again;
     * NL_CHECK_ACCESSES contains all per-access checks. */
    NL_CHECK_TWIN = NL_CHECK_MEMORY | NL_CHECK_UNWRITTEN | NL_CHECK_RACE,
    NL_CHECK_ACCESSES = NL_CHECK_TWIN | NL_CHECK_STREAM,
    /* Checks for which a kernel is compiled a second time. */
    NL_CHECK_COMPILED =
        NL_CHECK_TWIN | NL_CHECK_DIVIDE | NL_CHECK_NAN | NL_CHECK_OVERFLOW | NL_CHECK_PROFILE,
    /* The checks of a kernel that is compiled with debug=True. */
    NL_CHECK_DEBUG = NL_CHECK_TWIN | NL_CHECK_SYNC | NL_CHECK_HANG | NL_CHECK_DIVIDE |
                     NL_CHECK_STACK | NL_CHECK_OVERFLOW,
    NL_CHECK_NONE = 1 << 30, /* active even without debug=True */
};

enum { NL_CHECKS_SCHEDULE = 320 };

typedef struct nl_checks {
    uint32_t mask;
    int shuffled; /* set if threads and blocks run in an order derived from `seed` */
    uint64_t seed;
    uint64_t limit_ms;  /* time limit in milliseconds, after which a kernel is reported as hanging,
                         * or 0 for no limit */
    int exact;          /* set if the exact race search runs, which records verdicts */
    uint64_t record;    /* number under which the exact race search records verdicts */
    uint64_t budget_ms; /* time in milliseconds in which the exact race search may run further
                         * schedules of a launch */
    /* the only schedule that the exact race search runs, or "" for all schedules */
    char schedule[NL_CHECKS_SCHEDULE];
    uint64_t profile; /* with NL_CHECK_PROFILE, the token of nl_driver.OpenProfile */
} nl_checks;

/* The result of the exact race search for the launches of a kernel. The result for several launches
 * is the largest of their values. */
typedef enum nl_verdict_kind {
    NL_VERDICT_NO_RACE, /* proved: no schedule of these launches has a race */
    /* no race in the schedules that were run; the order of threads depends on atomics */
    NL_VERDICT_DEPENDS,
    NL_VERDICT_UNDECIDED, /* a launch ended early for a reason other than a race */
    NL_VERDICT_RACES,
} nl_verdict_kind;

enum { NL_VERDICT_KERNEL = 200 };

typedef struct nl_verdict {
    uint64_t record;
    char kernel[NL_VERDICT_KERNEL];
    nl_verdict_kind kind;
    uint64_t launches, schedules; /* schedules: the sum over all launches */
} nl_verdict;

/* Returns the checks of a launch by a thread whose checks are `mask`; is_debug is set if the kernel
 * was compiled with debug=True. */
static inline uint32_t nl_checks_of_launch(uint32_t mask, int is_debug) {
    if (is_debug && !(mask & (NL_CHECK_NONE | NL_CHECK_PROFILE)))
        mask |= NL_CHECK_DEBUG;
    return mask & ~(uint32_t)NL_CHECK_NONE;
}

/* Returns the checks (bits of NL_CHECK_COMPILED) for which a kernel that is launched with `checks`
 * is compiled. */
static inline uint32_t nl_checks_of_image(uint32_t checks) {
    return (checks & NL_CHECK_COMPILED) | (checks & NL_CHECK_ACCESSES ? NL_CHECK_TWIN : 0);
}

/* Compiles the source of `image` again with the checks in `mask` (bits of NL_CHECK_COMPILED, or 0
 * for none). Returns 0 and *twin, which the caller frees with free(), or -1 with a message in
 * `log`. This function may call Python code, so the caller must not hold a lock. */
typedef int (*nl_checks_compile_fn)(const void *image, size_t size, uint32_t mask, void **twin,
                                    char *log, size_t log_size);

#endif
