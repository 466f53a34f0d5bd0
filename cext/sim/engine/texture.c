/* sim/engine/texture: implements the reads of textures and the accesses to surfaces. Filters
 * reproduce the results measured on an H100 bit for bit. Exceptions are the last bit in 1 of 500
 * positions in three dimensions, and in 1 of 20 for signed 8-bit integers. */
#include "sim/engine/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/half.h"
#include "base/lock.h"

enum { PLACES = 1 << 16, FRACTION = 256 };

static nl_mutex lock = NL_MUTEX_INIT;
/* table of texture and surface objects: the low bits of an object's number are its index */
static void *places[PLACES];
static uint64_t numbers[PLACES];
static unsigned next_place;

unsigned nl_sim_texture_size(int format, unsigned channels) {
    if (channels != 1 && channels != 2 && channels != 4)
        return 0;
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2 * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4 * channels;
    }
    return 0;
}

unsigned long long nl_sim_texture_add(const nl_sim_texture *texture) {
    nl_sim_texture *own = malloc(sizeof *own);
    unsigned long long number = 0;
    if (!own)
        return 0;
    *own = *texture;
    nl_mutex_lock(&lock);
    for (unsigned tried = 0; tried < PLACES && !number; tried++) {
        unsigned at = next_place++ % PLACES;
        if (at && !places[at]) {
            numbers[at] += PLACES;
            /* the counter in the number starts above zero, so that no small number is a valid
             * object */
            number = (numbers[at] + PLACES) | at;
            nl_atomic_store_pointer(&places[at], own);
        }
    }
    nl_mutex_unlock(&lock);
    if (!number)
        free(own);
    return number;
}

static nl_sim_texture *find_texture(unsigned long long object) {
    unsigned at = (unsigned)(object % PLACES);
    if (nl_atomic_load(&numbers[at]) + PLACES + at != object)
        return NULL;
    return (nl_sim_texture *)nl_atomic_load_pointer(&places[at]);
}

int nl_sim_texture_remove(unsigned long long object, int is_surface) {
    nl_mutex_lock(&lock);
    nl_sim_texture *found = find_texture(object);
    if (found && found->is_surface != is_surface)
        found = NULL;
    if (found)
        nl_atomic_store_pointer(&places[object % PLACES], NULL);
    nl_mutex_unlock(&lock);
    free(found);
    return found != NULL;
}

void nl_sim_texture_clear(int device) {
    nl_mutex_lock(&lock);
    for (unsigned at = 0; at < PLACES; at++) {
        nl_sim_texture *found = places[at];
        if (found && found->device == device) {
            nl_atomic_store_pointer(&places[at], NULL);
            free(found);
        }
    }
    nl_mutex_unlock(&lock);
}

/* ---- texels ---- */

static int returns_floats(const nl_sim_texture *t) {
    int format = t->array.format;
    if (format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF)
        return 1;
    int wide = format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32;
    return !wide && !(t->how.flags & CU_TRSF_READ_AS_INTEGER);
}

/* The values of a texel's channels, in `real` for floating-point results, otherwise `whole`.
 * Missing
 * channels are 0. */
typedef struct texel {
    float real[4];
    int32_t whole[4];
} texel;

static float clamp_to_minus_one(float value) {
    return value < -1 ? -1 : value;
}

static void read_channel(const nl_sim_array *a, const unsigned char *at, unsigned c, texel *out) {
    uint16_t u16;
    int16_t i16;
    switch (a->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        out->whole[c] = at[c];
        out->real[c] = (float)at[c] / 255;
        break;
    case CU_AD_FORMAT_SIGNED_INT8:
        out->whole[c] = (int8_t)at[c];
        out->real[c] = clamp_to_minus_one((float)(int8_t)at[c] / 127);
        break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
        memcpy(&u16, at + 2 * c, 2);
        out->whole[c] = u16;
        out->real[c] = (float)u16 / 65535;
        break;
    case CU_AD_FORMAT_SIGNED_INT16:
        memcpy(&i16, at + 2 * c, 2);
        out->whole[c] = i16;
        out->real[c] = clamp_to_minus_one((float)i16 / 32767);
        break;
    case CU_AD_FORMAT_HALF:
        memcpy(&u16, at + 2 * c, 2);
        out->real[c] = (float)nl_half_to_double(u16);
        break;
    case CU_AD_FORMAT_FLOAT:
        memcpy(&out->real[c], at + 4 * c, 4);
        break;
    default:
        memcpy(&out->whole[c], at + 4 * c, 4);
    }
}

/* Returns the texel at three indices, or the border color if one of the indices is negative. */
static texel read_texel(const nl_sim_texture *t, int x, int y, int z) {
    const nl_sim_array *a = &t->array;
    texel out;
    memset(&out, 0, sizeof out);
    if (x < 0 || y < 0 || z < 0) {
        memcpy(out.real, t->how.borderColor, sizeof out.real);
        memcpy(out.whole, t->how.borderColor, sizeof out.whole);
        return out;
    }
    const unsigned char *row = a->data + ((size_t)z * a->height + (size_t)y) * a->pitch;
    const unsigned char *at = row + (size_t)x * nl_sim_texture_size(a->format, a->channels);
    for (unsigned c = 0; c < a->channels; c++)
        read_channel(a, at, c, &out);
    return out;
}

/* ---- coordinates ---- */

/* Applies the addressing mode to an index along an axis of n texels; returns -1 if the result is
 * the border color. */
static int apply_addressing_mode(int mode, int64_t i, int n) {
    int64_t period = 2 * (int64_t)n;
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
        i %= n;
        return (int)(i < 0 ? i + n : i);
    case CU_TR_ADDRESS_MODE_MIRROR:
        i %= period;
        i = i < 0 ? i + period : i;
        return (int)(i < n ? i : period - 1 - i);
    case CU_TR_ADDRESS_MODE_BORDER:
        return i < 0 || i >= n ? -1 : (int)i;
    default:
        return (int)(i < 0 ? 0 : i >= n ? n - 1 : i);
    }
}

/* The two texels along an axis that surround a coordinate. */
typedef struct spot {
    int first, second;
    unsigned weight; /* weight of the second texel, in units of 1 / FRACTION */
} spot;

static spot locate_coordinate(const nl_sim_texture *t, int axis, float at, unsigned size) {
    int mode = t->how.addressMode[axis], n = (int)size;
    double x = at;
    if (t->how.flags & CU_TRSF_NORMALIZED_COORDINATES)
        x = (double)at * n;
    else if (mode == CU_TR_ADDRESS_MODE_WRAP || mode == CU_TR_ADDRESS_MODE_MIRROR)
        mode = CU_TR_ADDRESS_MODE_CLAMP;
    if (!(x > -1e15))
        x = x != x ? 0 : -1e15;
    if (x > 1e15)
        x = 1e15;
    if (t->how.filterMode == CU_TR_FILTER_MODE_POINT) {
        int only = apply_addressing_mode(mode, (int64_t)floor(x), n);
        return (spot){only, only, 0};
    }
    int64_t fixed = (int64_t)floor((x - 0.5) * FRACTION + 0.5);
    int64_t whole = fixed >> 8;
    return (spot){apply_addressing_mode(mode, whole, n), apply_addressing_mode(mode, whole + 1, n),
                  (unsigned)(fixed & 255)};
}

static spot read_single_texel(int index) {
    return (spot){index, index, 0};
}

/* Computes the weights of the eight surrounding texels; the sum of the weights is FRACTION. Weights
 * are computed along z, x and y, each rounded to 8 bits, as on an H100; ties are rounded up for the
 * second texel in x, and down for the first. */
static void compute_weights(const spot *x, const spot *y, const spot *z, unsigned weights[8]) {
    for (int k = 0; k < 2; k++) {
        unsigned slice = k ? z->weight : FRACTION - z->weight;
        unsigned column[2];
        column[1] = (slice * x->weight + 128) >> 8;
        column[0] = slice - column[1];
        for (int i = 0; i < 2; i++) {
            unsigned second = (column[i] * y->weight + 127 + (unsigned)i) >> 8;
            weights[4 * k + 2 + i] = second;
            weights[4 * k + i] = column[i] - second;
        }
    }
}

/* Computes a weighted sum of floating-point values: each value is truncated to `digits` plus four
 * bits below the leading bit of the largest value, and the sum is rounded once, half away from
 * zero. */
static float sum_reals(const float *values, const unsigned *weights, int digits, int least) {
    int top = least, exponent;
    float plain = 0;
    for (int i = 0; i < 8; i++) {
        plain += weights[i] ? values[i] * ((float)weights[i] / FRACTION) : 0;
        if (weights[i] && values[i] != 0 && isfinite(values[i])) {
            frexpf(values[i], &exponent);
            top = exponent > top ? exponent : top;
        }
    }
    if (!isfinite(plain))
        return plain;
    int unit = top - digits - 4;
    int64_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += weights[i] ? (int64_t)ldexp(values[i], -unit) * (int64_t)weights[i] : 0;
    uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    int bits = size ? 64 - __builtin_clzll(size) : 0, cut = bits - digits;
    if (cut < least - digits - (unit - 8))
        cut = least - digits - (unit - 8);
    if (cut > 0)
        size = (size + ((uint64_t)1 << (cut - 1))) >> cut << cut;
    double magnitude = ldexp((double)size, unit - 8);
    return (float)(sum < 0 ? -magnitude : magnitude);
}

/* Computes a weighted sum of small integers, as fractions of the largest 16-bit integer; ties round
 * up. */
static float sum_integers(const nl_sim_texture *t, const texel *texels, int c,
                          const unsigned *weights) {
    int format = t->array.format;
    int has_sign = format == CU_AD_FORMAT_SIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT16;
    int is_byte = format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8;
    int64_t sum = 0, full = has_sign ? 32767 : 65535, own = is_byte ? (has_sign ? 127 : 255) : full;
    for (int i = 0; i < 8; i++)
        sum += weights[i] ? texels[i].whole[c] * (int64_t)weights[i] : 0;
    int64_t parts = 2 * FRACTION * own, wanted = 2 * sum * full + FRACTION * own;
    int64_t result = wanted / parts - (wanted % parts < 0);
    return clamp_to_minus_one((float)result / (float)full);
}

static texel filter_texels(const nl_sim_texture *t, const spot *x, const spot *y, const spot *z) {
    if (!returns_floats(t) || t->how.filterMode == CU_TR_FILTER_MODE_POINT)
        return read_texel(t, x->first, y->first, z->first);
    texel texels[8], out;
    unsigned weights[8];
    int format = t->array.format, has_border = 0;
    memset(&out, 0, sizeof out);
    compute_weights(x, y, z, weights);
    for (int i = 0; i < 8; i++) {
        int at[3] = {i & 1 ? x->second : x->first, i & 2 ? y->second : y->first,
                     i & 4 ? z->second : z->first};
        texels[i] = read_texel(t, at[0], at[1], at[2]);
        has_border |= weights[i] && (at[0] < 0 || at[1] < 0 || at[2] < 0);
    }
    for (unsigned c = 0; c < t->array.channels; c++) {
        float values[8];
        for (int i = 0; i < 8; i++)
            values[i] = texels[i].real[c];
        if (format == CU_AD_FORMAT_HALF)
            out.real[c] = sum_reals(values, weights, 11, -13);
        else if (format == CU_AD_FORMAT_FLOAT || has_border)
            out.real[c] = sum_reals(values, weights, 24, -125);
        else
            out.real[c] = sum_integers(t, texels, (int)c, weights);
    }
    return out;
}

/* ---- reads ---- */

/* Computes the face of a cubemap that a direction hits, and the coordinates on that face, from 0 to
 * 1. */
static int choose_cube_face(const nl_sim_fetch *f, float *s, float *t) {
    float ax = fabsf(f->x), ay = fabsf(f->y), az = fabsf(f->z), m, u, v;
    int face;
    if (ax >= ay && ax >= az) {
        face = f->x >= 0 ? 0 : 1;
        m = ax, u = f->x >= 0 ? -f->z : f->z, v = -f->y;
    } else if (ay >= az) {
        face = f->y >= 0 ? 2 : 3;
        m = ay, u = f->x, v = f->y >= 0 ? f->z : -f->z;
    } else {
        face = f->z >= 0 ? 4 : 5;
        m = az, u = f->z >= 0 ? f->x : -f->x, v = -f->y;
    }
    *s = (u / m + 1) / 2;
    *t = (v / m + 1) / 2;
    return face;
}

static const char *describe_mismatch(const nl_sim_texture *t, const nl_sim_fetch *f) {
    int kind = f->shape & 7, layered = (f->shape & NL_SIM_TEXTURE_LAYERED) != 0;
    int cube = kind == NL_SIM_TEXTURE_CUBE;
    unsigned flags = t->array.flags;
    if (f->shape & NL_SIM_TEXTURE_FETCH)
        return t->is_linear ? NULL : "tex1Dfetch reads textures over linear memory, not arrays";
    if (t->is_linear)
        return "a texture over linear memory must be read by tex1Dfetch";
    if (cube != ((flags & CUDA_ARRAY3D_CUBEMAP) != 0))
        return cube ? "the texture is no cubemap" : "a cubemap is read by texCubemap";
    if (layered != ((flags & CUDA_ARRAY3D_LAYERED) != 0))
        return layered ? "the texture has no layers"
                       : "the texture has layers: read it by tex...Layered";
    if (!cube && (unsigned)kind != t->array.dimensions)
        return "the texture's number of dimensions differs from the function's";
    if ((f->shape & NL_SIM_TEXTURE_GATHER) && !(flags & CUDA_ARRAY3D_TEXTURE_GATHER))
        return "the texture was not created for tex2Dgather (gather=True)";
    return NULL;
}

static void copy_texel(const nl_sim_texture *t, const texel *value, nl_sim_texels *out) {
    out->is_float = returns_floats(t);
    memcpy(out->bits, out->is_float ? (const void *)value->real : (const void *)value->whole,
           sizeof out->bits);
}

static int clamp_layer(const nl_sim_texture *t, int layer, int each) {
    int count = (int)t->array.depth / each;
    return (layer < 0 || layer >= count ? count - 1 : layer) * each; /* the layer is unsigned */
}

static void gather_channel(const nl_sim_texture *t, const nl_sim_fetch *f, nl_sim_texels *out) {
    nl_sim_texture linear = *t;
    linear.how.filterMode = CU_TR_FILTER_MODE_LINEAR;
    spot x = locate_coordinate(&linear, 0, f->x, t->array.width),
         y = locate_coordinate(&linear, 1, f->y, t->array.height);
    const int at[4][2] = {
        {x.first, y.second}, {x.second, y.second}, {x.second, y.first}, {x.first, y.first}};
    out->is_float = returns_floats(t);
    for (int i = 0; i < 4; i++) {
        texel one = read_texel(t, at[i][0], at[i][1], 0);
        memcpy(&out->bits[i],
               out->is_float ? (void *)&one.real[f->channel & 3]
                             : (void *)&one.whole[f->channel & 3],
               4);
    }
}

const char *nl_sim_texture_fetch(unsigned long long texture, const nl_sim_fetch *f,
                                 nl_sim_texels *out) {
    const nl_sim_texture *t = find_texture(texture);
    if (!t || t->is_surface)
        return "there is no such texture object: it was destroyed, or the number is invalid";
    const char *wrong = describe_mismatch(t, f);
    if (wrong)
        return wrong;
    texel value;
    float u, v;
    spot x = read_single_texel(0), y = read_single_texel(0), z = read_single_texel(0);
    const nl_sim_array *a = &t->array;
    if (f->shape & NL_SIM_TEXTURE_GATHER) {
        gather_channel(t, f, out);
        return NULL;
    }
    switch (f->shape & 7) {
    case NL_SIM_TEXTURE_CUBE:
        z = read_single_texel(choose_cube_face(f, &u, &v));
        if (f->shape & NL_SIM_TEXTURE_LAYERED)
            z = read_single_texel(z.first + clamp_layer(t, f->layer, 6));
        x = locate_coordinate(t, 0, u, a->width);
        y = locate_coordinate(t, 1, v, a->height);
        value = filter_texels(t, &x, &y, &z);
        copy_texel(t, &value, out);
        return NULL;
    case NL_SIM_TEXTURE_3D:
        z = locate_coordinate(t, 2, f->z, a->depth); /* fall through */
    case NL_SIM_TEXTURE_2D:
        y = locate_coordinate(t, 1, f->y, a->height); /* fall through */
    default:
        x = locate_coordinate(t, 0, f->x, a->width);
    }
    if (f->shape & NL_SIM_TEXTURE_LAYERED)
        z = read_single_texel(clamp_layer(t, f->layer, 1));
    if (f->shape & NL_SIM_TEXTURE_FETCH) {
        int there = f->layer >= 0 && (unsigned)f->layer < a->width;
        memset(&value, 0, sizeof value);
        if (there)
            value = read_texel(t, f->layer, 0, 0);
    } else {
        value = filter_texels(t, &x, &y, &z);
    }
    copy_texel(t, &value, out);
    return NULL;
}

/* ---- surfaces ---- */

/* Applies the boundary mode to an index along an axis; returns -1 for an access outside that reads
 * 0, or -2 for a fault. */
static int64_t apply_boundary_mode(int outside, int64_t i, int64_t n) {
    if (i >= 0 && i < n)
        return i;
    if (outside == NL_SIM_SURFACE_CLAMP)
        return i < 0 ? 0 : n - 1;
    return outside == NL_SIM_SURFACE_ZERO ? -1 : -2;
}

const char *nl_sim_texture_access_surface(unsigned long long surface, const nl_sim_place *p,
                                          void **address) {
    const nl_sim_texture *t = find_texture(surface);
    if (!t || !t->is_surface)
        return "there is no such surface object: it was destroyed, or the number is invalid";
    const nl_sim_array *a = &t->array;
    unsigned size = nl_sim_texture_size(a->format, a->channels);
    int kind = p->shape & 7, layered = (p->shape & NL_SIM_TEXTURE_LAYERED) != 0;
    int cube = kind == NL_SIM_TEXTURE_CUBE;
    if (cube != ((a->flags & CUDA_ARRAY3D_CUBEMAP) != 0) ||
        layered != ((a->flags & CUDA_ARRAY3D_LAYERED) != 0) ||
        (!cube && (unsigned)kind != a->dimensions))
        return "the surface's shape differs from the shape that the function accesses";
    if (p->x % (int)p->size)
        return "the x of a surface access is a byte offset, "
               "and must be a multiple of the element's size";
    int64_t most = ((int64_t)a->width * size) / p->size;
    int64_t x = apply_boundary_mode(p->outside, p->x < 0 ? -1 : p->x / (int)p->size, most);
    int64_t y = apply_boundary_mode(p->outside, kind == NL_SIM_TEXTURE_1D ? 0 : p->y, a->height);
    int has_z = layered || cube || kind == NL_SIM_TEXTURE_3D;
    int64_t z = apply_boundary_mode(p->outside, has_z ? p->z : 0, a->depth);
    *address = NULL;
    if (x == -2 || y == -2 || z == -2)
        return "the access is outside of the surface";
    if (x >= 0 && y >= 0 && z >= 0)
        *address = a->data + ((size_t)z * a->height + (size_t)y) * a->pitch + (size_t)x * p->size;
    return NULL;
}
