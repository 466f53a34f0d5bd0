/* block_memory: accesses the dynamic shared memory of a launch in generated kernels. */
#ifndef NUMBALITE_BLOCK_MEMORY_CUH
#define NUMBALITE_BLOCK_MEMORY_CUH

#include "numbalite.cuh"

namespace numbalite {

/* Returns the address of the dynamic shared memory of the launch. */
NUMBALITE_FUNCTION unsigned char *block_memory() {
#ifdef NUMBALITE_SIM
    return numbalite_sim::dynamic_shared<unsigned char[]>();
#else
    extern __shared__ __align__(16) unsigned char memory[];
    return memory;
#endif
}

} // namespace numbalite

#endif
