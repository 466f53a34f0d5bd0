/* cuda_pipeline.h is not for the simulator. */
#error "numbalite: cuda_pipeline.h cannot run on the CPU simulator"
