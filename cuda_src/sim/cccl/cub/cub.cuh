/* cub/cub.cuh: an error, because the host compilers do not accept all of CUB. */
#error \
    "numbalite: <cub/cub.cuh> also contains host code: include the headers that the kernel uses, <cub/block/...>"
