/* cub/block/block_reduce.cuh is not for the simulator. */
#error "numbalite: CUB cannot run on the CPU simulator"
