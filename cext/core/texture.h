/* core/texture: creates CUDA arrays for texture units, and texture and surface objects for
 * kernels. */
#ifndef NL_CORE_TEXTURE_H
#define NL_CORE_TEXTURE_H

#include "core/device.h"

/* A CUDA array, or a texture or surface object for an array or for memory. */
typedef enum nl_texture_kind {
    NL_TEXTURE_ARRAY,
    NL_TEXTURE_OBJECT,
    NL_TEXTURE_SURFACE,
} nl_texture_kind;

typedef struct nl_texture {
    nl_texture_kind kind;
    unsigned long long handle;     /* for an array, its CUarray as a number */
    CUDA_ARRAY3D_DESCRIPTOR shape; /* of an array */
    nl_device *device;
    uint64_t generation;
    nl_postponed later;
} nl_texture;

int nl_texture_create_array(nl_device *dev, const CUDA_ARRAY3D_DESCRIPTOR *shape, nl_texture **out,
                            nl_error *err);
int nl_texture_create_object(nl_device *dev, const CUDA_RESOURCE_DESC *over,
                             const CUDA_TEXTURE_DESC *how, nl_texture **out, nl_error *err);
int nl_texture_create_surface(nl_device *dev, nl_texture *array, nl_texture **out, nl_error *err);
/* Copies a whole array from or to dense device memory. Waits for the device before and after the
 * copy. */
int nl_texture_copy(nl_texture *array, CUdeviceptr memory, size_t row_bytes, int to_array,
                    nl_error *err);
/* Destroys the array or object when the device is idle. Accepts NULL. Never returns an error. */
void nl_texture_release(nl_texture *texture);

#endif
