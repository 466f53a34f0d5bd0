/* host/function_abi: what a function compiled for the CPU and the extension know of each other.
 * Plain C, no #include, read by both sides.
 *
 * For each list of argument types the image exports one function, an nl_host_open. It is called once
 * after loading, gets the services that host functions may use, and tells how to call the function.
 * Arguments lie in a block as a kernel's do: the struct of the parameters in their order. */
#ifndef NL_HOST_FUNCTION_ABI_H
#define NL_HOST_FUNCTION_ABI_H

#define NL_HOST_FUNCTION_ABI 1
#define NL_HOST_RESULTS 8      /* the most values that a function returns: the items of a tuple */
#define NL_HOST_SLOT 16        /* bytes for each of them */
#define NL_HOST_FAULT_SIZE 256 /* a fault_record of check.cuh */

/* A xoroshiro128p_state; one for each OS thread. */
typedef struct nl_host_random {
    unsigned long long s0, s1;
} nl_host_random;

/* What the extension offers. */
typedef struct nl_host_services {
    unsigned abi;
    nl_host_random *(*random)(void); /* of the calling thread, seeded */
    /* Calls body(context, first, last) for parts of 0..n that do not overlap, on several threads,
     * and returns when all are done. */
    void (*parallel)(long long n, void (*body)(void *context, long long first, long long last),
                     void *context);
} nl_host_services;

typedef struct nl_host_function {
    unsigned abi;
    int is_tuple;                           /* else one value, or nothing if count is 0 */
    int count;                              /* of results */
    unsigned char dtypes[NL_HOST_RESULTS];  /* nl_dtype */
    unsigned long long block_size;
    /* Result k goes to results + k * NL_HOST_SLOT. Nonzero: it was left because of a fault, which is
     * described in `fault`. */
    int (*call)(const void *block, void *results, void *fault);
} nl_host_function;

typedef const nl_host_function *(*nl_host_open)(const nl_host_services *services);

#endif
