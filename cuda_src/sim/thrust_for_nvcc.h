/* sim/thrust_for_nvcc: stands for a header of Thrust that kernels have with nvcc alone. */
#error "numbalite: this header of Thrust is for nvcc alone, NVRTC does not take it either"
