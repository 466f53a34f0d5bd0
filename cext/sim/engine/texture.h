/* sim/engine/texture: Implements CUDA arrays, and the operations of texture units: reads with
 * addressing modes, filters and conversions, and surface accesses.
 *
 * The number of an object combines its table index and a counter, so that the number of a destroyed
 * object is invalid. */
#ifndef NL_SIM_ENGINE_TEXTURE_H
#define NL_SIM_ENGINE_TEXTURE_H

#include "driver/cuda_abi.h"
#include "sim/abi.h"

/* Texels in row-major order in host memory. A CUarray is a pointer to this struct. */
typedef struct nl_sim_array {
    unsigned char *data;
    unsigned width, height, depth; /* each at least 1; for a layered array, depth is the number of
                                    * layers */
    size_t pitch;                  /* bytes per row */
    int format;
    unsigned channels, flags, dimensions;
} nl_sim_array;

typedef struct nl_sim_texture {
    nl_sim_array array;
    CUDA_TEXTURE_DESC how;
    int is_surface, device;
    int is_linear; /* set for linear memory, which is read by tex1Dfetch */
} nl_sim_texture;

/* Returns the bytes per texel; 0 for an unsupported format. */
unsigned nl_sim_texture_size(int format, unsigned channels);
/* Registers a copy of the object and returns its number; returns 0 if memory runs out or there are
 * too many objects. */
unsigned long long nl_sim_texture_add(const nl_sim_texture *texture);
/* Destroys an object. Returns 1 on success, or 0 if no object has this number. */
int nl_sim_texture_remove(unsigned long long object, int is_surface);
/* Destroys all objects of a device. */
void nl_sim_texture_clear(int device);

/* Implement the functions of the same names in nl_sim_ops. */
const char *nl_sim_texture_fetch(unsigned long long texture, const nl_sim_fetch *what,
                                 nl_sim_texels *out);
const char *nl_sim_texture_access_surface(unsigned long long surface, const nl_sim_place *where,
                                          void **address);

#endif
