/* sim/vector: CUDA's vector types and dim3, with CUDA's sizes and alignments.
 *
 * As in CUDA, vectors are plain structs with the members x, y, z, w and no operators. */
#ifndef NUMBALITE_SIM_VECTOR_H
#define NUMBALITE_SIM_VECTOR_H

#define NUMBALITE_SIM_VECTOR(name, type, align2, align4) \
    struct name##1 { \
        type x; \
    }; \
    struct __attribute__((aligned(align2))) name##2 { \
        type x, y; \
    }; \
    struct name##3 { \
        type x, y, z; \
    }; \
    struct __attribute__((aligned(align4))) name##4 { \
        type x, y, z, w; \
    }; \
    NUMBALITE_SIM_INLINE constexpr name##1 make_##name##1(type x) { \
        return name##1 {x}; \
    } \
    NUMBALITE_SIM_INLINE constexpr name##2 make_##name##2(type x, type y) { \
        return name##2 {x, y}; \
    } \
    NUMBALITE_SIM_INLINE constexpr name##3 make_##name##3(type x, type y, type z) { \
        return name##3 {x, y, z}; \
    } \
    NUMBALITE_SIM_INLINE constexpr name##4 make_##name##4(type x, type y, type z, type w) { \
        return name##4 {x, y, z, w}; \
    }

NUMBALITE_SIM_VECTOR(char, signed char, 2, 4)
NUMBALITE_SIM_VECTOR(uchar, unsigned char, 2, 4)
NUMBALITE_SIM_VECTOR(short, short, 4, 8)
NUMBALITE_SIM_VECTOR(ushort, unsigned short, 4, 8)
NUMBALITE_SIM_VECTOR(int, int, 8, 16)
NUMBALITE_SIM_VECTOR(uint, unsigned int, 8, 16)
NUMBALITE_SIM_VECTOR(long, long, 2 * sizeof(long), 16)
NUMBALITE_SIM_VECTOR(ulong, unsigned long, 2 * sizeof(long), 16)
NUMBALITE_SIM_VECTOR(longlong, long long, 16, 16)
NUMBALITE_SIM_VECTOR(ulonglong, unsigned long long, 16, 16)
NUMBALITE_SIM_VECTOR(float, float, 8, 16)
NUMBALITE_SIM_VECTOR(double, double, 16, 16)
#undef NUMBALITE_SIM_VECTOR

/* Defines CUDA 13's type names that include the alignment. */
#define NUMBALITE_SIM_ALIGNED(name, type, bytes) \
    struct __attribute__((aligned(bytes))) name##4_##bytes##a { \
        type x, y, z, w; \
    }; \
    NUMBALITE_SIM_INLINE constexpr name##4_##bytes##a make_##name##4_##bytes##a(type x, type y, \
                                                                                type z, type w) { \
        return name##4_##bytes##a{x, y, z, w}; \
    }
NUMBALITE_SIM_ALIGNED(long, long, 16)
NUMBALITE_SIM_ALIGNED(long, long, 32)
NUMBALITE_SIM_ALIGNED(ulong, unsigned long, 16)
NUMBALITE_SIM_ALIGNED(ulong, unsigned long, 32)
NUMBALITE_SIM_ALIGNED(longlong, long long, 16)
NUMBALITE_SIM_ALIGNED(longlong, long long, 32)
NUMBALITE_SIM_ALIGNED(ulonglong, unsigned long long, 16)
NUMBALITE_SIM_ALIGNED(ulonglong, unsigned long long, 32)
NUMBALITE_SIM_ALIGNED(double, double, 16)
NUMBALITE_SIM_ALIGNED(double, double, 32)
#undef NUMBALITE_SIM_ALIGNED

struct dim3 {
    unsigned int x, y, z;
    NUMBALITE_SIM_INLINE constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
        : x(x), y(y), z(z) {}
    NUMBALITE_SIM_INLINE constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    NUMBALITE_SIM_INLINE constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
