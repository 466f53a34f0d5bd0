/* cuda_bf16.h for the simulator: __nv_bfloat16 and its pair in software. */
#ifndef NUMBALITE_SIM_CUDA_BF16_H
#define NUMBALITE_SIM_CUDA_BF16_H
#define __CUDA_BF16_TYPES_EXIST__ 1

#include "cuda_fp16.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __nv_bfloat162_raw {
    unsigned short x, y;
};

NUMBALITE_SIM_SIXTEEN_STRUCT(__nv_bfloat16, __half, numbalite_sim::bfloat16_from_float,
                             numbalite_sim::bfloat16_to_float)
template <> struct numbalite_sim::raw_of<__nv_bfloat16> { typedef __nv_bfloat16_raw type; };
NUMBALITE_SIM_SIXTEEN(__nv_bfloat16)
NUMBALITE_SIM_SIXTEEN_CONVERSIONS(__nv_bfloat16, bfloat16)
inline __half::__half(__nv_bfloat16 other) : __half(static_cast<float>(other)) {}
inline __nv_bfloat16::__nv_bfloat16(__half other) : __nv_bfloat16(static_cast<float>(other)) {}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
