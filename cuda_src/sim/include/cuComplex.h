/* cuComplex.h for the simulator: complex numbers as float2 and double2. */
#pragma once

#define NUMBALITE_SIM_COMPLEX(T, Pair, Name, f, hypotenuse) \
    typedef Pair Name; \
    NUMBALITE_SIM_INLINE Name make_##Name(T x, T y) { \
        return Name{x, y}; \
    } \
    NUMBALITE_SIM_INLINE T cuCreal##f(Name a) { \
        return a.x; \
    } \
    NUMBALITE_SIM_INLINE T cuCimag##f(Name a) { \
        return a.y; \
    } \
    NUMBALITE_SIM_INLINE Name cuConj##f(Name a) { \
        return Name{a.x, -a.y}; \
    } \
    NUMBALITE_SIM_INLINE Name cuCadd##f(Name a, Name b) { \
        return Name{a.x + b.x, a.y + b.y}; \
    } \
    NUMBALITE_SIM_INLINE Name cuCsub##f(Name a, Name b) { \
        return Name{a.x - b.x, a.y - b.y}; \
    } \
    NUMBALITE_SIM_INLINE Name cuCmul##f(Name a, Name b) { \
        return Name{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; \
    } \
    NUMBALITE_SIM_INLINE Name cuCdiv##f(Name a, Name b) { \
        T scale = 1 / (fabs(b.x) + fabs(b.y)); \
        T ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale; \
        T inverse = 1 / (bx * bx + by * by); \
        return Name{(ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse}; \
    } \
    NUMBALITE_SIM_INLINE T cuCabs##f(Name a) { \
        return hypotenuse(a.x, a.y); \
    } \
    NUMBALITE_SIM_INLINE Name cuCfma##f(Name a, Name b, Name c) { \
        return cuCadd##f(cuCmul##f(a, b), c); \
    }
NUMBALITE_SIM_COMPLEX(float, float2, cuFloatComplex, f, hypotf)
NUMBALITE_SIM_COMPLEX(double, double2, cuDoubleComplex, , hypot)
#undef NUMBALITE_SIM_COMPLEX

typedef cuFloatComplex cuComplex;
NUMBALITE_SIM_INLINE cuComplex make_cuComplex(float x, float y) {
    return cuComplex{x, y};
}
NUMBALITE_SIM_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) {
    return cuDoubleComplex{a.x, a.y};
}
NUMBALITE_SIM_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return cuFloatComplex{static_cast<float>(a.x), static_cast<float>(a.y)};
}
