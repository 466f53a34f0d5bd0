/* host/function_abi: the interface of functions compiled for the CPU. This header is plain C
 * without #include, because the image and the extension module include it.
 *
 * For each list of argument types the image has one nl_host_function. Arguments are passed in a
 * block, as for kernels: a struct with the parameters in order. */
#ifndef NL_HOST_FUNCTION_ABI_H
#define NL_HOST_FUNCTION_ABI_H

#define NL_HOST_FUNCTION_ABI 2
/* maximum number of values that a function returns (the items of a tuple) */
#define NL_HOST_RESULTS 8
#define NL_HOST_SLOT 16   /* bytes for one number */
#define NL_HOST_SLOTS 64  /* maximum number of slots for all values of a function */
#define NL_HOST_VIEW \
    255 /* code of an array instead of a dtype; an array uses one slot, and one more for each
         * axis */

/* The arguments and results of one call. The results are stored one after the other. An array is
 * stored as its address, its shape and its strides in bytes, 8 bytes each. */
typedef struct nl_host_frame {
    const void *block;
    void *results;
} nl_host_frame;

typedef struct nl_host_function {
    unsigned abi;
    unsigned block_size;
    int is_tuple; /* 0 if the function returns one value, or none if count is 0 */
    int count;                             /* number of results */
    unsigned char dtypes[NL_HOST_RESULTS]; /* nl_dtype, or NL_HOST_VIEW */
    void (*run)(void *frame);              /* accepts an nl_host_frame */
} nl_host_function;

#endif
