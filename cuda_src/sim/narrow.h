/* sim/narrow: what <cuda_fp8.h>, <cuda_fp6.h> and <cuda_fp4.h> have alike. */
#ifndef NUMBALITE_SIM_NARROW_H
#define NUMBALITE_SIM_NARROW_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };

#define NUMBALITE_SIM_NO_NARROW(what) NUMBALITE_SIM_CANNOT(what " cannot run on the CPU simulator")
#define NUMBALITE_SIM_NARROW(bits, format, what) \
    struct NUMBALITE_SIM_NO_NARROW(what) __nv_fp##bits##_##format {}; \
    struct NUMBALITE_SIM_NO_NARROW(what) __nv_fp##bits##x2_##format {}; \
    struct NUMBALITE_SIM_NO_NARROW(what) __nv_fp##bits##x4_##format {};
#define NUMBALITE_SIM_NARROW_FROM(name, what) \
    template <class... Arguments> \
    NUMBALITE_SIM_NO_NARROW(what) unsigned char __nv_cvt_##name(Arguments...);
#define NUMBALITE_SIM_NARROW_CONVERSIONS(bits, what) \
    typedef unsigned char __nv_fp##bits##_storage_t NUMBALITE_SIM_NO_NARROW(what); \
    typedef unsigned short __nv_fp##bits##x2_storage_t NUMBALITE_SIM_NO_NARROW(what); \
    typedef unsigned int __nv_fp##bits##x4_storage_t NUMBALITE_SIM_NO_NARROW(what); \
    NUMBALITE_SIM_NARROW_FROM(float_to_fp##bits, what) \
    NUMBALITE_SIM_NARROW_FROM(float2_to_fp##bits##x2, what) \
    NUMBALITE_SIM_NARROW_FROM(double_to_fp##bits, what) \
    NUMBALITE_SIM_NARROW_FROM(double2_to_fp##bits##x2, what) \
    NUMBALITE_SIM_NARROW_FROM(halfraw_to_fp##bits, what) \
    NUMBALITE_SIM_NARROW_FROM(halfraw2_to_fp##bits##x2, what) \
    NUMBALITE_SIM_NARROW_FROM(bfloat16raw_to_fp##bits, what) \
    NUMBALITE_SIM_NARROW_FROM(bfloat16raw2_to_fp##bits##x2, what) \
    NUMBALITE_SIM_NARROW_FROM(fp##bits##_to_halfraw, what) \
    NUMBALITE_SIM_NARROW_FROM(fp##bits##x2_to_halfraw2, what)

#endif
