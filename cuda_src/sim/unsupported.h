/* sim/unsupported: names of CUDA that the simulator does not have. Using one is an error that says
 * so; a source can keep what needs them behind #ifndef NUMBALITE_SIM. */
#ifndef NUMBALITE_SIM_UNSUPPORTED_H
#define NUMBALITE_SIM_UNSUPPORTED_H

#define NUMBALITE_SIM_TEXTURES "textures and surfaces cannot run on the CPU simulator"
#define NUMBALITE_SIM_NO_TEXTURES NUMBALITE_SIM_CANNOT(NUMBALITE_SIM_TEXTURES)

typedef unsigned long long cudaTextureObject_t NUMBALITE_SIM_NO_TEXTURES;
typedef unsigned long long cudaSurfaceObject_t NUMBALITE_SIM_NO_TEXTURES;
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture NUMBALITE_SIM_CANNOT_BE(texture, NUMBALITE_SIM_TEXTURES);

#define NUMBALITE_SIM_NO_TEXTURE(name) \
    template <class T, class... Arguments> NUMBALITE_SIM_NO_TEXTURES T name(Arguments...); \
    template <class... Arguments> NUMBALITE_SIM_NO_TEXTURES int name(Arguments...);
NUMBALITE_SIM_NO_TEXTURE(tex1D)
NUMBALITE_SIM_NO_TEXTURE(tex1Dfetch)
NUMBALITE_SIM_NO_TEXTURE(tex2D)
NUMBALITE_SIM_NO_TEXTURE(tex3D)
NUMBALITE_SIM_NO_TEXTURE(texCubemap)
NUMBALITE_SIM_NO_TEXTURE(tex1DLayered)
NUMBALITE_SIM_NO_TEXTURE(tex2DLayered)
NUMBALITE_SIM_NO_TEXTURE(tex2DLod)
NUMBALITE_SIM_NO_TEXTURE(tex2Dgather)
NUMBALITE_SIM_NO_TEXTURE(surf1Dread)
NUMBALITE_SIM_NO_TEXTURE(surf1Dwrite)
NUMBALITE_SIM_NO_TEXTURE(surf2Dread)
NUMBALITE_SIM_NO_TEXTURE(surf2Dwrite)
NUMBALITE_SIM_NO_TEXTURE(surf3Dread)
NUMBALITE_SIM_NO_TEXTURE(surf3Dwrite)
#undef NUMBALITE_SIM_NO_TEXTURE

#define NUMBALITE_SIM_NO_CLUSTERS \
    NUMBALITE_SIM_CANNOT("thread block clusters cannot run on the CPU simulator")
NUMBALITE_SIM_NO_CLUSTERS void __cluster_barrier_arrive();
NUMBALITE_SIM_NO_CLUSTERS void __cluster_barrier_wait();
NUMBALITE_SIM_NO_CLUSTERS void *__cluster_map_shared_rank(const void *, unsigned);
NUMBALITE_SIM_INLINE bool __clusterDimIsSpecified() {
    return false;
}

#endif
