/* sim/engine/texture: arrays, and what texture units do: reads with addresses beyond the edges,
 * filters and conversions, and accesses of surfaces.
 *
 * An object's number has its place in a table and a count, so that one that has been destroyed is
 * known as such. */
#ifndef NL_SIM_ENGINE_TEXTURE_H
#define NL_SIM_ENGINE_TEXTURE_H

#include "driver/cuda_abi.h"
#include "sim/abi.h"

/* Texels, row after row. A CUarray is a pointer to one. */
typedef struct nl_sim_array {
    unsigned char *data;
    unsigned width, height, depth; /* at least 1; depth of layered ones: how many layers */
    size_t pitch;                  /* bytes of a row */
    int format;
    unsigned channels, flags, dimensions;
} nl_sim_array;

typedef struct nl_sim_texture {
    nl_sim_array array;
    CUDA_TEXTURE_DESC how;
    int is_surface, device;
    int is_linear; /* memory that is read by tex1Dfetch */
} nl_sim_texture;

/* Bytes of a texel; 0 for a format that there is not. */
unsigned nl_sim_texture_size(int format, unsigned channels);
/* The object's number; 0 without memory, or if there are too many. */
unsigned long long nl_sim_texture_add(const nl_sim_texture *texture);
/* 0 if it was not there. */
int nl_sim_texture_remove(unsigned long long object, int is_surface);
/* All of a device. */
void nl_sim_texture_clear(int device);

/* See nl_sim_ops. */
const char *nl_sim_texture_fetch(unsigned long long texture, const nl_sim_fetch *what,
                                 nl_sim_texels *out);
const char *nl_sim_texture_surface(unsigned long long surface, const nl_sim_place *where,
                                   void **address);

#endif
