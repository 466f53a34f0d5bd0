/* cuda_fp16.h for the simulator: __half and __half2 in software. */
#ifndef NUMBALITE_SIM_CUDA_FP16_H
#define NUMBALITE_SIM_CUDA_FP16_H
#define __CUDA_FP16_TYPES_EXIST__ 1

struct __half_raw {
    unsigned short x;
};
struct __half2_raw {
    unsigned short x, y;
};

struct __nv_bfloat16;

namespace numbalite_sim {

template <class T> struct raw_of;

} // namespace numbalite_sim

#include "../half_types.h"

NUMBALITE_SIM_SIXTEEN_STRUCT(__half, __nv_bfloat16, numbalite_sim::half_from_float,
                             numbalite_sim::half_to_float)
template <> struct numbalite_sim::raw_of<__half> { typedef __half_raw type; };
NUMBALITE_SIM_SIXTEEN(__half)
NUMBALITE_SIM_SIXTEEN_CONVERSIONS(__half, half)

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3c00u))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000u))
#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7c00u))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7fffu))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7bffu))

#endif
