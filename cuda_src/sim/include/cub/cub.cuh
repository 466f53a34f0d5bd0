/* cub/cub.cuh: an error, because compilers for kernels reject it. */
#error \
    "numbalite: <cub/cub.cuh> is for the host too: kernels include the parts that they use, <cub/block/block_reduce.cuh>"
