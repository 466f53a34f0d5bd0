/* cuda_awbarrier.h is not for the simulator. */
#error "numbalite: cuda_awbarrier.h cannot run on the CPU simulator"
