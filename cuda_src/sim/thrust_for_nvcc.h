/* sim/thrust_for_nvcc: replaces a header of Thrust that kernels can only include with nvcc. */
#error "numbalite: this header of Thrust is only for nvcc: NVRTC does not accept it either"
