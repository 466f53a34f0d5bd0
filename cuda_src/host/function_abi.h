/* host/function_abi: how a function compiled for the CPU is called. Plain C, no #include, read by
 * the image and by the extension.
 *
 * For each list of argument types the image has one nl_host_function. Arguments lie in a block as a
 * kernel's do: the struct of the parameters in their order. */
#ifndef NL_HOST_FUNCTION_ABI_H
#define NL_HOST_FUNCTION_ABI_H

#define NL_HOST_FUNCTION_ABI 1
#define NL_HOST_RESULTS 8 /* the most values that a function returns: the items of a tuple */
#define NL_HOST_SLOT 16   /* bytes for each of them */

/* One call. Result k goes to results + k * NL_HOST_SLOT. */
typedef struct nl_host_frame {
    const void *block;
    void *results;
} nl_host_frame;

typedef struct nl_host_function {
    unsigned abi;
    unsigned block_size;
    int is_tuple;                          /* else one value, or nothing if count is 0 */
    int count;                             /* of results */
    unsigned char dtypes[NL_HOST_RESULTS]; /* nl_dtype */
    void (*run)(void *frame);              /* an nl_host_frame */
} nl_host_function;

#endif
