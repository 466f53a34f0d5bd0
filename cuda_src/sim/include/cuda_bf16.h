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

namespace numbalite_sim {

/* The nearest bfloat16, of two the even one. */
NUMBALITE_SIM_INLINE unsigned short bfloat16_from_float(float f) {
    unsigned word = bits<unsigned>(f);
    if ((word & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return static_cast<unsigned short>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}
NUMBALITE_SIM_INLINE float bfloat16_to_float(unsigned short h) {
    return bits<float>(static_cast<unsigned>(h) << 16);
}

} // namespace numbalite_sim

#ifndef NUMBALITE_HOST
NUMBALITE_SIM_PTX16(bf16, bfloat16_from_float, bfloat16_to_float)
#endif
NUMBALITE_SIM_SIXTEEN_STRUCT(__nv_bfloat16, numbalite_sim::bfloat16_from_float,
                             numbalite_sim::bfloat16_to_float)
template <> struct numbalite_sim::raw_of<__nv_bfloat16> { typedef __nv_bfloat16_raw type; };
NUMBALITE_SIM_SIXTEEN(__nv_bfloat16)
NUMBALITE_SIM_SIXTEEN_CONVERSIONS(__nv_bfloat16, bfloat16)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
