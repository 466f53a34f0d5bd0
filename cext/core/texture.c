/* core/texture: CUDA arrays, textures and surfaces. */
#include "core/texture.h"
#include "core/wait.h"

#include <string.h>
#include "base/mem.h"

static nl_texture *allocate_texture(nl_device *dev, nl_texture_kind kind, nl_error *err) {
    if (nl_device_bind(dev, err) < 0)
        return NULL;
    nl_texture *texture = nl_mem_zalloc(sizeof *texture, err);
    if (texture == NULL)
        return NULL;
    texture->kind = kind;
    texture->device = dev;
    texture->generation = nl_atomic_load(&dev->generation);
    return texture;
}

/* Stores the texture in *out, or frees the struct if `status` is an error. `status` is the result
 * of the driver call that has created the handle. */
static int finish_or_free_texture(nl_texture *texture, int status, nl_texture **out) {
    if (status < 0)
        nl_mem_free(texture);
    else
        *out = texture;
    return status;
}

int nl_texture_create_array(nl_device *dev, const CUDA_ARRAY3D_DESCRIPTOR *shape, nl_texture **out,
                            nl_error *err) {
    CUarray array = NULL;
    nl_texture *texture = allocate_texture(dev, NL_TEXTURE_ARRAY, err);
    if (texture == NULL)
        return -1;
    int status = NL_CU(err, Array3DCreate, &array, shape);
    texture->handle = (unsigned long long)(uintptr_t)array;
    texture->shape = *shape;
    return finish_or_free_texture(texture, status, out);
}

int nl_texture_create_object(nl_device *dev, const CUDA_RESOURCE_DESC *over,
                             const CUDA_TEXTURE_DESC *how, nl_texture **out, nl_error *err) {
    nl_texture *texture = allocate_texture(dev, NL_TEXTURE_OBJECT, err);
    if (texture == NULL)
        return -1;
    return finish_or_free_texture(
        texture, NL_CU(err, TexObjectCreate, &texture->handle, over, how, NULL), out);
}

int nl_texture_create_surface(nl_device *dev, nl_texture *array, nl_texture **out, nl_error *err) {
    CUDA_RESOURCE_DESC over;
    nl_texture *texture = allocate_texture(dev, NL_TEXTURE_SURFACE, err);
    if (texture == NULL)
        return -1;
    memset(&over, 0, sizeof over);
    over.resType = CU_RESOURCE_TYPE_ARRAY;
    over.res.array.hArray = (CUarray)(uintptr_t)array->handle;
    return finish_or_free_texture(texture, NL_CU(err, SurfObjectCreate, &texture->handle, &over),
                                  out);
}

static size_t nonzero_extent(size_t extent) {
    return extent ? extent : 1;
}

int nl_texture_copy(nl_texture *array, CUdeviceptr memory, size_t row_bytes, int to_array,
                    nl_error *err) {
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.WidthInBytes = row_bytes;
    copy.Height = nonzero_extent(array->shape.Height);
    copy.Depth = nonzero_extent(array->shape.Depth);
    CUarray handle = (CUarray)(uintptr_t)array->handle;
    if (to_array) {
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = memory;
        copy.srcPitch = row_bytes;
        copy.srcHeight = copy.Height;
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = handle;
    } else {
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = memory;
        copy.dstPitch = row_bytes;
        copy.dstHeight = copy.Height;
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = handle;
    }
    if (nl_device_check_generation(array->device, array->generation, err) < 0 ||
        nl_device_synchronize(array->device, err) < 0 || NL_CU(err, Memcpy3DAsync, &copy, NULL) < 0)
        return -1;
    nl_wait_hold_interrupts(); /* no interrupts, because the device uses the caller's memory until
                                * the copy is complete */
    int status = nl_device_synchronize(array->device, err);
    nl_wait_release_interrupts();
    return status;
}

static int destroy_resource(nl_texture *texture, nl_error *err) {
    if (!nl_device_bind_for_release(texture->device, texture->generation) ||
        !nl_device_wait_for_release(texture->device))
        return 0;
    switch (texture->kind) {
    case NL_TEXTURE_ARRAY:
        return NL_CU(err, ArrayDestroy, (CUarray)(uintptr_t)texture->handle);
    case NL_TEXTURE_OBJECT:
        return NL_CU(err, TexObjectDestroy, texture->handle);
    default:
        return NL_CU(err, SurfObjectDestroy, texture->handle);
    }
}

static void destroy_texture(void *thing) {
    nl_texture *texture = thing;
    nl_error problem = {0};
    if (destroy_resource(texture, &problem) < 0)
        nl_driver_print_failure((CUresult)problem.code, problem.call);
    nl_mem_free(texture);
}

void nl_texture_release(nl_texture *texture) {
    if (texture != NULL && !nl_device_postpone_release(&texture->later, destroy_texture, texture))
        destroy_texture(texture);
}
