/* host/abi: what compiled code of the cpu and parallel targets (a shared object made by the host
 * compiler) and the runtime (cext/core/hostloop) know of each other. Plain C, no #include, read by
 * both sides.
 *
 * An image exports one `nl_host_image nl_host_image_table`; the runtime hands it its own table of
 * functions before anything else is called. Host code has no grid: a function of it is called like
 * any C function. What fails in it (assert, a debug check) leaves it by `fault`, which returns to
 * the innermost `guard` of the thread; outside of one, `fault` ends the process. */
#ifndef NL_HOST_ABI_H
#define NL_HOST_ABI_H

#define NL_HOST_ABI 2

/* A loop over `count` iterations: operand i of iteration k is at data[i] + k * strides[i]. What a
 * loop needs beside that is behind `extra`. */
typedef void (*nl_host_loop)(char *const *data, long long count, const long long *strides,
                             const void *extra);

/* What has failed: an index (`array` is then its array's name, or "" for one without), an assert,
 * or something else. */
typedef struct nl_host_fault {
    const char *message;
    const char *file; /* "" if not known */
    int line;
    int status;        /* the CUresult that a GPU would give: 710 for a failed assert */
    const char *array; /* NULL: it is no index */
    long long index;
} nl_host_fault;

typedef struct nl_host_ops {
    unsigned abi;
    /* Calls run(argument); 0, or -1 after a fault in it, which `raise` tells of. */
    int (*guard)(void (*run)(void *), void *argument);
    /* Ends the innermost guard's call. */
    void (*fault)(const nl_host_fault *what) __attribute__((noreturn));
    /* Ends it once more, after a fault in something called from it. */
    void (*leave)(void) __attribute__((noreturn));
    /* Makes the calling thread's last fault a Python exception; gives -1. Takes the interpreter's
     * lock. */
    int (*raise)(void);
    /* Runs a loop whose iterations are independent of one another, shared among threads where
     * that is worth it. `cost` is a place of the loop's own, 0 at first, where the nanoseconds of
     * an iteration are kept (the bits of a float). 0, or -1 after a fault. */
    int (*parallel)(nl_host_loop loop, int operands, char *const *data, long long count,
                    const long long *strides, const void *extra, unsigned *cost);
    int (*vprintf)(const char *format, __builtin_va_list arguments);
    unsigned long long (*clock)(void);       /* clock64(): cycles-like, monotonic */
    unsigned long long (*globaltimer)(void); /* nanoseconds */
    void *(*random)(void);                   /* the thread's xoroshiro128p_state, seeded */
} nl_host_ops;

typedef struct nl_host_entry {
    const char *name; /* as the unit has it */
    void *address;
} nl_host_entry;

typedef struct nl_host_image {
    unsigned abi; /* NL_HOST_ABI */
    unsigned count;
    const nl_host_entry *entries;
    void (*init)(const nl_host_ops *ops);
} nl_host_image;

#define NL_HOST_IMAGE_TABLE "nl_host_image_table"

#endif
