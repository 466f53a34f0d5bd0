/* driver/checks: which mistakes of kernels are looked for while they run, as Python says it and a
 * driver that can look (the simulator) hears it. */
#ifndef NL_DRIVER_CHECKS_H
#define NL_DRIVER_CHECKS_H

#include <stddef.h>
#include <stdint.h>

/* Bits of a mask. numbalite/runtime/checks.py has the same. */
enum {
    NL_CHECK_MEMORY = 1,    /* accesses out of bounds, to freed memory, misaligned ones */
    NL_CHECK_UNWRITTEN = 2, /* reads of what nothing has written */
    NL_CHECK_RACE = 4,
    NL_CHECK_SYNC = 8, /* barriers and collectives that not all reach */
    NL_CHECK_HANG = 16,
    NL_CHECK_DIVIDE = 32,    /* integer division by zero */
    NL_CHECK_NAN = 64,       /* NaN or infinity made from finite numbers */
    NL_CHECK_STACK = 128,    /* more stack or shared memory than there is */
    NL_CHECK_STREAM = 256,   /* operations of two streams that touch the same memory unordered */
    NL_CHECK_OVERFLOW = 512, /* signed arithmetic of indices that does not fit */
    NL_CHECK_PROFILE = 1024, /* nothing is looked for: accesses are counted (profile.h) */

    /* Those that look at every access, and those of them that a compiled kernel knows. */
    NL_CHECK_TWIN = NL_CHECK_MEMORY | NL_CHECK_UNWRITTEN | NL_CHECK_RACE,
    NL_CHECK_ACCESSES = NL_CHECK_TWIN | NL_CHECK_STREAM,
    /* Those for which a kernel is compiled once more. */
    NL_CHECK_COMPILED =
        NL_CHECK_TWIN | NL_CHECK_DIVIDE | NL_CHECK_NAN | NL_CHECK_OVERFLOW | NL_CHECK_PROFILE,
    /* What debug=True means for a kernel. */
    NL_CHECK_DEBUG = NL_CHECK_TWIN | NL_CHECK_SYNC | NL_CHECK_HANG | NL_CHECK_DIVIDE |
                     NL_CHECK_STACK | NL_CHECK_OVERFLOW,
    NL_CHECK_NONE = 1 << 30, /* not even that */
};

enum { NL_CHECKS_SCHEDULE = 320 };

typedef struct nl_checks {
    uint32_t mask;
    int shuffled; /* threads and blocks run in an order that `seed` decides */
    uint64_t seed;
    uint64_t limit_ms;                 /* a kernel that runs longer hangs; 0: none */
    int exact;                         /* races: decides, and records verdicts */
    uint64_t record;                   /* exact: the number under which verdicts are recorded */
    uint64_t budget_ms;                /* exact: for more schedules of a launch */
    char schedule[NL_CHECKS_SCHEDULE]; /* exact: the only one to run; "": none is given */
    uint64_t profile; /* with NL_CHECK_PROFILE: who gets the counters (nl_driver.OpenProfile) */
} nl_checks;

/* What an exact search for races decided about the launches of a kernel. The larger counts. */
typedef enum nl_verdict_kind {
    NL_VERDICT_NO_RACE,   /* no schedule of these launches races */
    NL_VERDICT_DEPENDS,   /* no race in the schedules tried; atomics order the threads */
    NL_VERDICT_UNDECIDED, /* a launch failed before its end, for another reason */
    NL_VERDICT_RACES,
} nl_verdict_kind;

enum { NL_VERDICT_KERNEL = 200 };

typedef struct nl_verdict {
    uint64_t record;
    char kernel[NL_VERDICT_KERNEL];
    nl_verdict_kind kind;
    uint64_t launches, schedules; /* schedules: of all launches */
} nl_verdict;

/* What a launch is checked for by a thread that asks for `mask`; is_debug: the kernel was compiled
 * with debug=True. */
static inline uint32_t nl_checks_of_launch(uint32_t mask, int is_debug) {
    if (is_debug && !(mask & (NL_CHECK_NONE | NL_CHECK_PROFILE)))
        mask |= NL_CHECK_DEBUG;
    return mask & ~(uint32_t)NL_CHECK_NONE;
}

/* What the kernel of such a launch is compiled for, of NL_CHECK_COMPILED. */
static inline uint32_t nl_checks_of_image(uint32_t checks) {
    return (checks & NL_CHECK_COMPILED) | (checks & NL_CHECK_ACCESSES ? NL_CHECK_TWIN : 0);
}

/* Compiles the unit that `image` came from once more, for the checks in `mask` (of
 * NL_CHECK_COMPILED; 0: for none). Returns 0 and *twin, which the caller frees with free(); or -1,
 * with a sentence in `log`. May call Python; called without any lock. */
typedef int (*nl_checks_compile_fn)(const void *image, size_t size, uint32_t mask, void **twin,
                                    char *log, size_t log_size);

#endif
