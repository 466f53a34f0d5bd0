/* cub/cub.cuh: an error, because compilers for kernels do not accept all of CUB. */
#error \
    "numbalite: <cub/cub.cuh> also contains host code: include the headers that the kernel uses, <cub/block/...>"
