/* sim/host_library.h: replaces a header of the host's C++ library that a kernel's source includes.
 * */
#error \
    "numbalite: kernels have no C++ library of the host, on a GPU neither: see what there is in <cuda/std/...>"
