/* sim/host_library.h: replaces a header of the host's C++ library that a kernel includes. */
#error \
    "numbalite: kernels cannot use the C++ library of the host, as on a GPU: use <cuda/std/...>"
