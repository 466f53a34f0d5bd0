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

namespace numbalite_sim {

template <class T> struct raw_of;

/* The nearest half, of two the even one. */
NUMBALITE_SIM_INLINE unsigned short half_from_float(float f) {
    unsigned word = bits<unsigned>(f), sign = word >> 16 & 0x8000;
    word &= 0x7fffffff;
    if (word >= 0x477ff000) { /* at least 65520, infinite, or NaN */
#if defined(NUMBALITE_SIM_CHECKED) && NUMBALITE_SIM_CHECKED & 64 /* nan */
        if (word < 0x7f800000)
            nl_sim_report_not_finite(__builtin_inf(), f, f, 'h');
#endif
        return static_cast<unsigned short>(word > 0x7f800000 ? 0x7fff : sign | 0x7c00);
    }
    if (word < 0x38800000) /* subnormal: 0.5 has the last place that is wanted */
        return static_cast<unsigned short>(sign |
                                           (bits<unsigned>(bits<float>(word) + 0.5f) - 0x3f000000));
    word += 0xc8000fff + (word >> 13 & 1);
    return static_cast<unsigned short>(sign | word >> 13);
}
NUMBALITE_SIM_INLINE float half_to_float(unsigned short h) {
    unsigned word = (h & 0x7fffu) << 13, exponent = word & 0x0f800000;
    float magnitude;
    if (exponent == 0x0f800000)
        magnitude = bits<float>(word + 0x70000000);
    else if (exponent == 0)
        magnitude = bits<float>(word + 0x38800000) - 6.103515625e-05f;
    else
        magnitude = bits<float>(word + 0x38000000);
    return bits<float>(bits<unsigned>(magnitude) | (h & 0x8000u) << 16);
}

} // namespace numbalite_sim

#include "../ptx16.h"
#include "../sixteen.h"
#ifndef NUMBALITE_HOST
NUMBALITE_SIM_PTX16(f16, half_from_float, half_to_float)
#endif

NUMBALITE_SIM_SIXTEEN_STRUCT(__half, numbalite_sim::half_from_float, numbalite_sim::half_to_float)
template <> struct numbalite_sim::raw_of<__half> { typedef __half_raw type; };
NUMBALITE_SIM_SIXTEEN(__half)
NUMBALITE_SIM_SIXTEEN_CONVERSIONS(__half, half)

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3c00u))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000u))
#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7c00u))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7fffu))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7bffu))

#endif
