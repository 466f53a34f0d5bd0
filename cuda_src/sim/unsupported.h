/* sim/unsupported: declares names of CUDA that the simulator does not support. The use of an
 * unsupported name is an error with an explanation; sources can exclude code that needs the name by
 * #ifndef NUMBALITE_SIM. */
#ifndef NUMBALITE_SIM_UNSUPPORTED_H
#define NUMBALITE_SIM_UNSUPPORTED_H

/* Texture references, which CUDA 12 has removed. */
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture NUMBALITE_SIM_CANNOT_BE(texture, "texture references are gone since CUDA 12: "
                                                "kernels take a cudaTextureObject_t");

#endif
