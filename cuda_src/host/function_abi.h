/* host/function_abi: the interface of functions compiled for the CPU. Plain C without #include; the
 * image and the extension include it.
 *
 * For each list of argument types the image has one nl_host_function. Arguments are passed in a
 * block, as for kernels: a struct with the parameters in order. */
#ifndef NL_HOST_FUNCTION_ABI_H
#define NL_HOST_FUNCTION_ABI_H

#define NL_HOST_FUNCTION_ABI 2
#define NL_HOST_RESULTS 8 /* the most values that a function returns: the items of a tuple */
#define NL_HOST_SLOT 16   /* bytes for a number */
#define NL_HOST_SLOTS 64  /* for all values of a function */
#define NL_HOST_VIEW \
    255 /* instead of a dtype: an array, which has one slot and one for each axis */

/* One call. The results are one after another. An array is its address, its shape and its strides
 * in bytes, all of 8 bytes. */
typedef struct nl_host_frame {
    const void *block;
    void *results;
} nl_host_frame;

typedef struct nl_host_function {
    unsigned abi;
    unsigned block_size;
    int is_tuple;                          /* else one value, or nothing if count is 0 */
    int count;                             /* of results */
    unsigned char dtypes[NL_HOST_RESULTS]; /* nl_dtype, or NL_HOST_VIEW */
    void (*run)(void *frame);              /* an nl_host_frame */
} nl_host_function;

#endif
