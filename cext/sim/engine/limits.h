/* sim/engine/limits: the limits of a simulated device, as constants. Device attributes, launch
 * checks and occupancy use these constants. The values are those of compute capability 9.0. */
#ifndef NL_SIM_ENGINE_LIMITS_H
#define NL_SIM_ENGINE_LIMITS_H

enum {
    NL_SIM_MAX_DEVICES = 64,
    NL_SIM_COMPUTE_MAJOR = 9,
    NL_SIM_COMPUTE_MINOR = 0,
    NL_SIM_BLOCK_THREADS = 1024,
    NL_SIM_BLOCK_X = 1024,
    NL_SIM_BLOCK_Y = 1024,
    NL_SIM_BLOCK_Z = 64,
    NL_SIM_GRID_X = 2147483647,
    NL_SIM_GRID_Y = 65535,
    NL_SIM_GRID_Z = 65535,
    NL_SIM_SHARED_DEFAULT = 49152,
    NL_SIM_SHARED_OPTIN = 232448,
    NL_SIM_SHARED_PER_SM = 233472,
    NL_SIM_SHARED_RESERVED = 1024, /* per block, for the system */
    NL_SIM_CLUSTER_BLOCKS = 8,     /* supported for every kernel */
    /* maximum cluster size if the kernel allows non-portable sizes */
    NL_SIM_CLUSTER_BLOCKS_MOST = 16,
    NL_SIM_SM_THREADS = 2048,
    NL_SIM_SM_BLOCKS = 32,
    NL_SIM_REGISTERS = 65536,
    NL_SIM_CONSTANT = 65536,
    NL_SIM_KERNEL_REGISTERS = 32, /* reported for every kernel */
    NL_SIM_L2 = 52428800,
    NL_SIM_DRIVER_VERSION = 13000,
    NL_SIM_LOCAL_PER_THREAD = 524288, /* maximum local memory of a thread on a GPU */
    NL_SIM_STACK_OWN = 131072,        /* additional stack size that calls on the CPU need */
    /* minimum size of a fiber's stack, to which the device's (smaller) stack limit is added */
    NL_SIM_STACK_MIN = NL_SIM_LOCAL_PER_THREAD + NL_SIM_STACK_OWN,
};

#endif
