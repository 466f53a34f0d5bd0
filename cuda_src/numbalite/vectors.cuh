/* vectors: defines vectors of four 64-bit numbers with the type names of CUDA 13, for earlier
 * versions. */
#ifndef NUMBALITE_VECTORS_CUH
#define NUMBALITE_VECTORS_CUH

#include "numbalite.cuh"

namespace numbalite {
#if defined(NUMBALITE_SIM) || __CUDACC_VER_MAJOR__ >= 13
#define NUMBALITE_WIDE(T, number) \
    using ::T##4_16a; \
    using ::make_##T##4_16a;
#else
#define NUMBALITE_WIDE(T, number) \
    typedef T##4 T##4_16a; \
    NUMBALITE_FUNCTION T##4_16a make_##T##4_16a(number x, number y, number z, number w) { \
        return make_##T##4(x, y, z, w); \
    }
#endif
NUMBALITE_WIDE(double, double)
NUMBALITE_WIDE(longlong, long long)
NUMBALITE_WIDE(ulonglong, unsigned long long)
#undef NUMBALITE_WIDE
} // namespace numbalite

#endif
