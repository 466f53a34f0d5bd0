/* host/function_abi: how a function compiled for the CPU is called. Plain C, no #include, read by
 * the image and by the extension.
 *
 * For each list of argument types the image has one nl_host_function. Arguments lie in a block as a
 * kernel's do: the struct of the parameters in their order. */
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
