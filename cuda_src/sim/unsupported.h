/* sim/unsupported: names of CUDA that the simulator does not have. Using one is an error that says
 * so; a source can keep what needs them behind #ifndef NUMBALITE_SIM. */
#ifndef NUMBALITE_SIM_UNSUPPORTED_H
#define NUMBALITE_SIM_UNSUPPORTED_H

/* The old kind of textures, which CUDA 12 has no more. */
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture NUMBALITE_SIM_CANNOT_BE(texture, "texture references are gone since CUDA 12: kernels take "
                                                "a cudaTextureObject_t");

#endif
