/* cuda_fp8.h is not for the simulator. */
#error "numbalite: 8-bit floating point (cuda_fp8.h) cannot run on the CPU simulator"
