/* cub/cub.cuh: the host compilers do not accept CUB. */
#error \
    "numbalite: <cub/cub.cuh> is for the host too: kernels include the parts that they use, <cub/block/block_reduce.cuh>"
