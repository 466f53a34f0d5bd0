/* sim/driver/calls_texture: implements the driver calls for arrays, textures and surfaces. */
#include "sim/driver/calls.h"

#include <stdlib.h>
#include <string.h>
#include "sim/driver/handle.h"
#include "sim/driver/stream.h"
#include "sim/engine/memory.h"
#include "sim/engine/texture.h"

enum { WIDEST = 131072, TALLEST = 65536, DEEPEST = 16384, LAYERS = 2048, PITCH = 32 };

static unsigned nonzero_extent(size_t extent) {
    return extent ? (unsigned)extent : 1;
}

static CUresult sim_Array3DCreate(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(out && d && d->Width && d->Width <= WIDEST && d->Height <= TALLEST &&
                   d->Depth <= DEEPEST);
    unsigned size = nl_sim_texture_size(d->Format, d->NumChannels);
    int layered = (d->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    int cube = (d->Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    NL_SIM_REQUIRE(size && !(d->Flags & ~15u));
    NL_SIM_REQUIRE(!cube || (d->Width == d->Height && d->Depth && d->Depth % 6 == 0));
    NL_SIM_REQUIRE(!cube || layered || d->Depth == 6);
    NL_SIM_REQUIRE(!layered || (d->Depth && d->Depth <= LAYERS));
    NL_SIM_REQUIRE(layered || !d->Depth || d->Height);
    nl_sim_array *array = calloc(1, sizeof *array);
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    array->width = (unsigned)d->Width;
    array->height = nonzero_extent(d->Height);
    array->depth = nonzero_extent(d->Depth);
    array->format = d->Format;
    array->channels = d->NumChannels;
    array->flags = d->Flags;
    array->dimensions = 1 + (d->Height != 0) + (d->Depth != 0 && !layered && !cube);
    array->pitch = (d->Width * size + PITCH - 1) / PITCH * PITCH;
    uintptr_t address = 0;
    size_t bytes = array->pitch * array->height * array->depth;
    CUresult status = nl_sim_memory_alloc(NL_SIM_MEMORY_DEVICE, context->device, bytes, &address);
    if (status == CUDA_SUCCESS &&
        nl_sim_handle_add(NL_SIM_HANDLE_ARRAY, context->device, array) < 0) {
        char damage[NL_SIM_MEMORY_TEXT];
        nl_sim_memory_free(NL_SIM_MEMORY_DEVICE, address, damage);
        status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (status != CUDA_SUCCESS) {
        free(array);
        return status;
    }
    array->data = (unsigned char *)address;
    *out = (CUarray)array;
    return CUDA_SUCCESS;
}

static CUresult sim_ArrayDestroy(CUarray handle) {
    NL_SIM_BEGIN_IN(context);
    nl_sim_array *array = (nl_sim_array *)handle;
    char damage[NL_SIM_MEMORY_TEXT];
    if (!nl_sim_handle_remove(NL_SIM_HANDLE_ARRAY, array))
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_stream_wait_for_context(context);
    CUresult status = nl_sim_memory_free(NL_SIM_MEMORY_DEVICE, (uintptr_t)array->data, damage);
    free(array);
    return status;
}

/* Finds the memory that a texture or surface object reads. */
static CUresult find_resource_memory(const CUDA_RESOURCE_DESC *r, nl_sim_texture *t) {
    nl_sim_array *a = &t->array;
    size_t bytes;
    switch (r->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        if (!nl_sim_handle_is_registered(NL_SIM_HANDLE_ARRAY, r->res.array.hArray))
            return CUDA_ERROR_INVALID_HANDLE;
        *a = *(const nl_sim_array *)r->res.array.hArray;
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_LINEAR:
        a->format = r->res.linear.format;
        a->channels = r->res.linear.numChannels;
        bytes = r->res.linear.sizeInBytes;
        NL_SIM_REQUIRE(nl_sim_texture_size(a->format, a->channels));
        a->width = (unsigned)(bytes / nl_sim_texture_size(a->format, a->channels));
        a->height = a->depth = a->dimensions = 1;
        a->data = (unsigned char *)(uintptr_t)r->res.linear.devPtr;
        t->is_linear = 1;
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        a->format = r->res.pitch2D.format;
        a->channels = r->res.pitch2D.numChannels;
        a->width = (unsigned)r->res.pitch2D.width;
        a->height = (unsigned)r->res.pitch2D.height;
        a->depth = 1;
        a->dimensions = 2;
        a->pitch = r->res.pitch2D.pitchInBytes;
        a->data = (unsigned char *)(uintptr_t)r->res.pitch2D.devPtr;
        bytes = nl_sim_texture_size(a->format, a->channels);
        NL_SIM_REQUIRE(bytes && a->width && a->height && a->width * bytes <= a->pitch);
        NL_SIM_REQUIRE(a->pitch % PITCH == 0);
        bytes = a->pitch * (a->height - 1) + a->width * bytes;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    NL_SIM_REQUIRE(bytes && nl_sim_memory_covers((uintptr_t)a->data, bytes));
    return CUDA_SUCCESS;
}

static CUresult add_texture(const nl_sim_texture *t, unsigned long long *out) {
    *out = nl_sim_texture_add(t);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static int is_integer_format(const nl_sim_texture *t) {
    int format = t->array.format;
    if (format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32)
        return 1;
    if (format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF)
        return 0;
    return (t->how.flags & CU_TRSF_READ_AS_INTEGER) != 0;
}

static CUresult sim_TexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *r,
                                    const CUDA_TEXTURE_DESC *how,
                                    const CUDA_RESOURCE_VIEW_DESC *view) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(out && r && how && !view);
    nl_sim_texture texture = {.how = *how, .device = context->device};
    CUresult status = find_resource_memory(r, &texture);
    if (status != CUDA_SUCCESS)
        return status;
    NL_SIM_REQUIRE(how->filterMode == CU_TR_FILTER_MODE_POINT || !is_integer_format(&texture));
    return add_texture(&texture, out);
}

static CUresult sim_TexObjectDestroy(CUtexObject object) {
    NL_SIM_BEGIN_IN(context);
    nl_sim_stream_wait_for_context(context);
    return nl_sim_texture_remove(object, 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult sim_SurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *r) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(out && r && r->resType == CU_RESOURCE_TYPE_ARRAY);
    nl_sim_texture surface = {.is_surface = 1, .device = context->device};
    CUresult status = find_resource_memory(r, &surface);
    if (status != CUDA_SUCCESS)
        return status;
    NL_SIM_REQUIRE(surface.array.flags & CUDA_ARRAY3D_SURFACE_LDST);
    return add_texture(&surface, out);
}

static CUresult sim_SurfObjectDestroy(CUsurfObject object) {
    NL_SIM_BEGIN_IN(context);
    nl_sim_stream_wait_for_context(context);
    return nl_sim_texture_remove(object, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void nl_sim_calls_texture_fill(nl_driver *table) {
    table->Array3DCreate = sim_Array3DCreate;
    table->ArrayDestroy = sim_ArrayDestroy;
    table->TexObjectCreate = sim_TexObjectCreate;
    table->TexObjectDestroy = sim_TexObjectDestroy;
    table->SurfObjectCreate = sim_SurfObjectCreate;
    table->SurfObjectDestroy = sim_SurfObjectDestroy;
}
