/* sim/texture: texture reads and surface accesses. The engine implements texture units
 * (cext/sim/engine/texture.c); this header declares the functions and converts texels to the
 * requested types. */
#ifndef NUMBALITE_SIM_TEXTURE_H
#define NUMBALITE_SIM_TEXTURE_H

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2,
};

#ifndef NUMBALITE_HOST
namespace numbalite_sim {

/* The scalar type and number of channels of a texel type. */
template <class T> struct texel_of {
    typedef T scalar;
    enum { channels = 1 };
};
#define NUMBALITE_SIM_TEXEL(name, type) \
    template <> struct texel_of<name##1> { \
        typedef type scalar; \
        enum { channels = 1 }; \
    }; \
    template <> struct texel_of<name##2> { \
        typedef type scalar; \
        enum { channels = 2 }; \
    }; \
    template <> struct texel_of<name##4> { \
        typedef type scalar; \
        enum { channels = 4 }; \
    };
NUMBALITE_SIM_TEXEL(char, signed char)
NUMBALITE_SIM_TEXEL(uchar, unsigned char)
NUMBALITE_SIM_TEXEL(short, short)
NUMBALITE_SIM_TEXEL(ushort, unsigned short)
NUMBALITE_SIM_TEXEL(int, int)
NUMBALITE_SIM_TEXEL(uint, unsigned)
NUMBALITE_SIM_TEXEL(long, long)
NUMBALITE_SIM_TEXEL(ulong, unsigned long)
NUMBALITE_SIM_TEXEL(float, float)
#undef NUMBALITE_SIM_TEXEL

/* Converts the 32 bits of a texture channel to a float or an integer, without changing the bits of a
 * float. */
NUMBALITE_SIM_INLINE void convert_texel(unsigned bits, float *out) {
    __builtin_memcpy(out, &bits, 4);
}
template <class T> NUMBALITE_SIM_INLINE void convert_texel(unsigned bits, T *out) {
    *out = static_cast<T>(bits);
}

template <class T>
NUMBALITE_SIM_UNCHECKED T fetch(unsigned long long texture, const nl_sim_fetch &what, const char *file,
                                int line) {
    typedef typename texel_of<T>::scalar scalar;
    nl_sim_texels texels;
    const char *wrong = ops->fetch(texture, &what, &texels);
    if (wrong)
        fault(700, wrong, file, line);
    scalar values[texel_of<T>::channels];
    for (int c = 0; c < texel_of<T>::channels; c++)
        convert_texel(texels.bits[c], &values[c]);
    T result;
    static_assert(sizeof result == sizeof values, "numbalite: textures do not support this type");
    __builtin_memcpy(&result, values, sizeof result);
    return result;
}

/* Returns the address of an element of a surface; NULL if it is outside. */
inline NUMBALITE_SIM_UNCHECKED void *surface_address(unsigned long long surface, const nl_sim_place &where, const char *file,
                                       int line) {
    void *address = nullptr;
    const char *wrong = ops->surface(surface, &where, &address);
    if (wrong)
        fault(700, wrong, file, line);
    return address;
}
template <class T>
NUMBALITE_SIM_UNCHECKED T surface_read(unsigned long long surface, const nl_sim_place &where, const char *file,
                                       int line) {
    void *address = surface_address(surface, where, file, line);
    T result;
    if (address)
        __builtin_memcpy(&result, address, sizeof result);
    else
        __builtin_memset(&result, 0, sizeof result);
    return result;
}
template <class T>
NUMBALITE_SIM_UNCHECKED void surface_write(const T &value, unsigned long long surface, const nl_sim_place &where,
                                           const char *file, int line) {
    if (void *address = surface_address(surface, where, file, line))
        __builtin_memcpy(address, &value, sizeof value);
}
constexpr int surface_boundary_mode(cudaSurfaceBoundaryMode mode) {
    return mode == cudaBoundaryModeTrap    ? NL_SIM_SURFACE_TRAP
           : mode == cudaBoundaryModeClamp ? NL_SIM_SURFACE_CLAMP
                                           : NL_SIM_SURFACE_ZERO;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_ALL(...) __VA_ARGS__
#define NUMBALITE_SIM_PLACED const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* Defines a function that returns texels, with its body as last argument, and a function that
 * stores them to an address. LEVEL also defines the overloads with a level of detail; textures have
 * only level
 * 0. RESIDENT also defines overloads with a flag that the texels' memory is resident, which is
 * always true. */
#define NUMBALITE_SIM_TEXELS(name, parameters, arguments, ...) \
    template <class T> \
    NUMBALITE_SIM_INLINE T name(cudaTextureObject_t texture, NUMBALITE_SIM_ALL parameters, NUMBALITE_SIM_PLACED) { \
        __VA_ARGS__; \
    } \
    template <class T> \
    NUMBALITE_SIM_INLINE void name(T *out, cudaTextureObject_t texture, NUMBALITE_SIM_ALL parameters, \
                                   NUMBALITE_SIM_PLACED) { \
        *out = name<T>(texture, NUMBALITE_SIM_ALL arguments, file, line); \
    }
#define NUMBALITE_SIM_READ(name, parameters, arguments, ...) \
    NUMBALITE_SIM_TEXELS(name, parameters, arguments, \
                         return numbalite_sim::fetch<T>(texture, nl_sim_fetch{__VA_ARGS__}, file, line))
#define NUMBALITE_SIM_LEVEL(name, parameters, arguments, slope) \
    NUMBALITE_SIM_TEXELS(name##Lod, (NUMBALITE_SIM_ALL parameters, float level), \
                         (NUMBALITE_SIM_ALL arguments, level), (void)level; \
                         return name<T>(texture, NUMBALITE_SIM_ALL arguments, file, line)) \
    NUMBALITE_SIM_TEXELS(name##Grad, (NUMBALITE_SIM_ALL parameters, slope along_x, slope along_y), \
                         (NUMBALITE_SIM_ALL arguments, along_x, along_y), (void)along_x, (void)along_y; \
                         return name<T>(texture, NUMBALITE_SIM_ALL arguments, file, line))
#define NUMBALITE_SIM_RESIDENT(name, parameters, arguments) \
    NUMBALITE_SIM_TEXELS(name, (NUMBALITE_SIM_ALL parameters, bool *is_resident), \
                         (NUMBALITE_SIM_ALL arguments, is_resident), *is_resident = true; \
                         return name<T>(texture, NUMBALITE_SIM_ALL arguments, file, line))
#define NUMBALITE_SIM_TEXTURE(name, parameters, arguments, slope, ...) \
    NUMBALITE_SIM_READ(name, parameters, arguments, __VA_ARGS__) \
    NUMBALITE_SIM_LEVEL(name, parameters, arguments, slope)

NUMBALITE_SIM_READ(tex1Dfetch, (int x), (x), NL_SIM_TEXTURE_1D | NL_SIM_TEXTURE_FETCH, 0, 0, 0, x, 0)
NUMBALITE_SIM_TEXTURE(tex1D, (float x), (x), float, NL_SIM_TEXTURE_1D, x, 0, 0, 0, 0)
NUMBALITE_SIM_TEXTURE(tex2D, (float x, float y), (x, y), float2, NL_SIM_TEXTURE_2D, x, y, 0, 0, 0)
NUMBALITE_SIM_TEXTURE(tex3D, (float x, float y, float z), (x, y, z), float4, NL_SIM_TEXTURE_3D, x, y, z, 0, 0)
NUMBALITE_SIM_TEXTURE(tex1DLayered, (float x, int layer), (x, layer), float,
                      NL_SIM_TEXTURE_1D | NL_SIM_TEXTURE_LAYERED, x, 0, 0, layer, 0)
NUMBALITE_SIM_TEXTURE(tex2DLayered, (float x, float y, int layer), (x, y, layer), float2,
                      NL_SIM_TEXTURE_2D | NL_SIM_TEXTURE_LAYERED, x, y, 0, layer, 0)
NUMBALITE_SIM_TEXTURE(texCubemap, (float x, float y, float z), (x, y, z), float4, NL_SIM_TEXTURE_CUBE, x, y, z, 0, 0)
NUMBALITE_SIM_TEXTURE(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer), float4,
                      NL_SIM_TEXTURE_CUBE | NL_SIM_TEXTURE_LAYERED, x, y, z, layer, 0)

#define NUMBALITE_SIM_RESIDENTS(name, parameters, arguments, slope) \
    NUMBALITE_SIM_RESIDENT(name, parameters, arguments) \
    NUMBALITE_SIM_RESIDENT(name##Lod, (NUMBALITE_SIM_ALL parameters, float level), \
                           (NUMBALITE_SIM_ALL arguments, level)) \
    NUMBALITE_SIM_RESIDENT(name##Grad, (NUMBALITE_SIM_ALL parameters, slope along_x, slope along_y), \
                           (NUMBALITE_SIM_ALL arguments, along_x, along_y))
NUMBALITE_SIM_RESIDENTS(tex2D, (float x, float y), (x, y), float2)
NUMBALITE_SIM_RESIDENTS(tex3D, (float x, float y, float z), (x, y, z), float4)
NUMBALITE_SIM_RESIDENTS(tex2DLayered, (float x, float y, int layer), (x, y, layer), float2)

/* Reads one channel of the four texels around a position. */
template <class T>
NUMBALITE_SIM_INLINE T tex2Dgather(cudaTextureObject_t texture, float x, float y, int channel = 0, NUMBALITE_SIM_PLACED) {
    return numbalite_sim::fetch<T>(texture,
                                   nl_sim_fetch{NL_SIM_TEXTURE_2D | NL_SIM_TEXTURE_GATHER, x, y, 0, 0, channel},
                                   file, line);
}
template <class T>
NUMBALITE_SIM_INLINE void tex2Dgather(T *out, cudaTextureObject_t texture, float x, float y, int channel = 0,
                                      NUMBALITE_SIM_PLACED) {
    *out = tex2Dgather<T>(texture, x, y, channel, file, line);
}
template <class T>
NUMBALITE_SIM_INLINE T tex2Dgather(cudaTextureObject_t texture, float x, float y, bool *is_resident, int channel = 0,
                                   NUMBALITE_SIM_PLACED) {
    *is_resident = true;
    return tex2Dgather<T>(texture, x, y, channel, file, line);
}
template <class T>
NUMBALITE_SIM_INLINE void tex2Dgather(T *out, cudaTextureObject_t texture, float x, float y, bool *is_resident,
                                      int channel = 0, NUMBALITE_SIM_PLACED) {
    *out = tex2Dgather<T>(texture, x, y, is_resident, channel, file, line);
}

#define NUMBALITE_SIM_SURFACE(name, parameters, arguments, shape, ...) \
    template <class T> \
    NUMBALITE_SIM_INLINE T name##read(cudaSurfaceObject_t surface, NUMBALITE_SIM_ALL parameters, \
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, NUMBALITE_SIM_PLACED) { \
        return numbalite_sim::surface_read<T>( \
            surface, nl_sim_place{shape, __VA_ARGS__, numbalite_sim::surface_boundary_mode(mode), sizeof(T)}, file, line); \
    } \
    template <class T> \
    NUMBALITE_SIM_INLINE void name##read(T *out, cudaSurfaceObject_t surface, NUMBALITE_SIM_ALL parameters, \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, \
                                         NUMBALITE_SIM_PLACED) { \
        *out = name##read<T>(surface, NUMBALITE_SIM_ALL arguments, mode, file, line); \
    } \
    template <class T> \
    NUMBALITE_SIM_INLINE void name##write(T value, cudaSurfaceObject_t surface, NUMBALITE_SIM_ALL parameters, \
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, \
                                          NUMBALITE_SIM_PLACED) { \
        numbalite_sim::surface_write( \
            value, surface, nl_sim_place{shape, __VA_ARGS__, numbalite_sim::surface_boundary_mode(mode), sizeof(T)}, file, \
            line); \
    }
NUMBALITE_SIM_SURFACE(surf1D, (int x), (x), NL_SIM_TEXTURE_1D, x, 0, 0)
NUMBALITE_SIM_SURFACE(surf2D, (int x, int y), (x, y), NL_SIM_TEXTURE_2D, x, y, 0)
NUMBALITE_SIM_SURFACE(surf3D, (int x, int y, int z), (x, y, z), NL_SIM_TEXTURE_3D, x, y, z)
NUMBALITE_SIM_SURFACE(surf1DLayered, (int x, int layer), (x, layer), NL_SIM_TEXTURE_1D | NL_SIM_TEXTURE_LAYERED, x,
                      0, layer)
NUMBALITE_SIM_SURFACE(surf2DLayered, (int x, int y, int layer), (x, y, layer),
                      NL_SIM_TEXTURE_2D | NL_SIM_TEXTURE_LAYERED, x, y, layer)
NUMBALITE_SIM_SURFACE(surfCubemap, (int x, int y, int face), (x, y, face), NL_SIM_TEXTURE_CUBE, x, y, face)
NUMBALITE_SIM_SURFACE(surfCubemapLayered, (int x, int y, int face), (x, y, face),
                      NL_SIM_TEXTURE_CUBE | NL_SIM_TEXTURE_LAYERED, x, y, face)
#undef NUMBALITE_SIM_SURFACE
#undef NUMBALITE_SIM_TEXTURE
#undef NUMBALITE_SIM_RESIDENTS
#undef NUMBALITE_SIM_RESIDENT
#undef NUMBALITE_SIM_LEVEL
#undef NUMBALITE_SIM_READ
#undef NUMBALITE_SIM_TEXELS
#undef NUMBALITE_SIM_ALL
#undef NUMBALITE_SIM_PLACED
#endif

#endif
