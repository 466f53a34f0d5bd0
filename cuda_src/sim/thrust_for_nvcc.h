/* sim/thrust_for_nvcc: replaces a header of Thrust that kernels can only include with nvcc. */
#error "numbalite: this header of Thrust is for nvcc alone, NVRTC does not take it either"
