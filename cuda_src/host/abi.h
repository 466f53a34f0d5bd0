/* host/abi: the interface between the runtime (cext/core/hostloop) and compiled code of the cpu and
 * parallel targets, which is a shared library from the host compiler. This header is plain C
 * without #include, because the runtime and the image include it.
 *
 * An image exports one `nl_host_image nl_host_image_table`; the runtime passes its table of
 * functions before any other call. Host code has no grid: its functions are called like any C
 * function. Errors in host code (assert, a debug check) call `fault`, which returns to the thread's
 * innermost `guard`; without a guard, `fault` ends the process. */
#ifndef NL_HOST_ABI_H
#define NL_HOST_ABI_H

#define NL_HOST_ABI 2

/* A loop of `count` iterations: operand i of iteration k is at data[i] + k * strides[i]. `extra`
 * points to additional data of the loop. */
typedef void (*nl_host_loop)(char *const *data, long long count, const long long *strides,
                             const void *extra);

/* An error: a wrong index (`array` is then the array's name, or "" if the array has no name), a
 * failed assert, or another error. */
typedef struct nl_host_fault {
    const char *message;
    const char *file; /* "" if unknown */
    int line;
    int status;        /* the CUresult that a GPU would return, such as 710 for a failed assert */
    const char *array; /* NULL: not an index error */
    long long index;
} nl_host_fault;

typedef struct nl_host_ops {
    unsigned abi;
    /* Calls run(argument). Returns 0, or -1 after a fault in run(argument); then `raise` reports
     * the fault. */
    int (*guard)(void (*run)(void *), void *argument);
    /* Ends the call of run(argument) in the innermost guard. */
    void (*fault)(const nl_host_fault *what) __attribute__((noreturn));
    /* Ends the innermost guard again, after a fault in a nested guard. */
    void (*leave)(void) __attribute__((noreturn));
    /* Raises the calling thread's last fault as a Python exception; returns -1. Acquires the GIL
     * first. */
    int (*raise)(void);
    /* Runs a loop with independent iterations, on several threads if that is faster. `cost` points
     * to a variable of the loop, initially 0, in which the measured nanoseconds per iteration are
     * stored (the bits of a float). Returns 0, or -1 after a fault. */
    int (*parallel)(nl_host_loop loop, int operands, char *const *data, long long count,
                    const long long *strides, const void *extra, unsigned *cost);
    int (*vprintf)(const char *format, __builtin_va_list arguments);
    unsigned long long (*clock)(void);       /* clock64(): cycles-like, monotonic */
    unsigned long long (*globaltimer)(void); /* nanoseconds */
    void *(*random)(void);                   /* the thread's xoroshiro128p_state, seeded */
} nl_host_ops;

typedef struct nl_host_entry {
    const char *name; /* name in the source */
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
