/* cub/cub.cuh: no compiler of kernels takes it. */
#error \
    "numbalite: <cub/cub.cuh> is for the host too: kernels include the parts that they use, <cub/block/block_reduce.cuh>"
