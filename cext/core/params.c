/* core/params: checks the descriptions of a kernel's parameters, which Python code has read from
 * the compiled code. The descriptions determine which bytes each launch writes at which offset. */
#include "core/params.h"

#include <string.h>
#include "base/mem.h"
#include "core/layout.h"

int nl_params_init(nl_params *params, int count, int total, nl_error *err) {
    memset(params, 0, sizeof *params);
    if (count == 0)
        return 0;
    params->items = nl_mem_zalloc((size_t)total * sizeof *params->items, err);
    if (!params->items)
        return -1;
    params->count = count;
    params->total = total;
    return 0;
}

static int parameter_size(const nl_param *p, uint64_t *size) {
    switch (p->kind) {
    case NL_PARAM_SCALAR:
        *size = nl_dtype_size(p->dtype);
        return p->dtype != NL_OPAQUE;
    case NL_PARAM_POINTER:
        *size = sizeof(void *);
        return 1;
    case NL_PARAM_ARRAY:
        *size = sizeof(void *) + (uint64_t)p->ndim * 2 * sizeof(int64_t);
        return 1;
    case NL_PARAM_STRUCT:
    case NL_PARAM_TUPLE:
    case NL_PARAM_EMPTY:
        *size = p->size;
        return p->size > 0;
    }
    return 0;
}

static int check_parameter(const nl_param *p, nl_error *err) {
    uint64_t size;
    int possible = (unsigned)p->dtype < NL_DTYPE_COUNT && (unsigned)p->order <= NL_ORDER_F &&
                   p->ndim >= 0 && p->ndim <= NL_MAX_DIMS && p->itemsize >= 0 &&
                   p->size <= NL_PARAMS_MAX_BYTES && p->align > 0 && p->align <= 1024 &&
                   (p->align & (p->align - 1)) == 0 && parameter_size(p, &size) && size == p->size;
    if (p->kind == NL_PARAM_POINTER || p->kind == NL_PARAM_ARRAY)
        possible =
            possible && (p->dtype == NL_OPAQUE || (uint64_t)p->itemsize == nl_dtype_size(p->dtype));
    if (possible)
        return 0;
    return nl_error_set(err, NL_ERR_VALUE, "impossible description of parameter '%s' (%s)", p->name,
                        p->ctype);
}

/* Returns whether a struct is a vector or complex type, such as float2, double2 and the complex
 * types of other libraries. */
static int is_vector_or_complex(const nl_param *p) {
    return p->dtype == NL_OPAQUE && (strstr(p->ctype, "float2") || strstr(p->ctype, "double2") ||
                                     strstr(p->ctype, "omplex"));
}

/* The complex types of other libraries (thrust::complex, cuda::std::complex) are aligned to their
 * full size, as are vectors of two and four elements, up to 16 bytes. */
static uint32_t element_align(const nl_param *p) {
    uint32_t lane = (uint32_t)nl_dtype_align((nl_dtype)p->lane);
    uint32_t vector = p->lanes % 2 ? lane : lane * (uint32_t)p->lanes;
    if (p->lane != NL_OPAQUE)
        return p->lanes == 0 ? lane : vector > 16 ? 16 : vector;
    int whole = p->dtype >= NL_COMPLEX64 && strstr(p->ctype, "::");
    return (uint32_t)(whole ? nl_dtype_size(p->dtype) : nl_dtype_align(p->dtype));
}

int nl_params_set_item(nl_params *params, int index, const nl_param *description, nl_error *err) {
    nl_param *p = &params->items[index];
    if (check_parameter(description, err) < 0)
        return -1;
    char *name = nl_mem_strdup(description->name, err);
    if (!name)
        return -1;
    char *ctype = nl_mem_strdup(description->ctype, err);
    if (!ctype) {
        nl_mem_free(name);
        return -1;
    }
    *p = *description;
    p->name = name;
    p->ctype = ctype;
    p->takes_complex = (uint8_t)is_vector_or_complex(p);
    p->takes_bfloat16 = p->dtype == NL_OPAQUE && p->itemsize == 2 && strstr(ctype, "bfloat16");
    p->element_align = element_align(p);
    if (p->kind == NL_PARAM_POINTER && p->dtype == NL_OPAQUE && strstr(ctype, "void"))
        p->itemsize = 0;
    return 0;
}

/* Converts the offset of each struct member, which is relative to its struct, to an offset in the
 * parameter block. A struct precedes its members in the array, so the struct's own offset is
 * already converted. */
static int resolve_member_offsets(nl_params *params, nl_error *err) {
    for (int i = 0; i < params->total; i++) {
        nl_param *p = &params->items[i];
        if (i < params->count)
            p->number = i;
        for (int k = p->first; k < p->first + p->parts; k++) {
            nl_param *part = &params->items[k];
            if (k <= i || k >= params->total || (uint64_t)part->offset + part->size > p->size)
                return nl_error_set(err, NL_ERR_VALUE,
                                    "impossible description of parameter '%s' (%s)", p->name,
                                    p->ctype);
            part->offset += p->offset;
            part->number = p->number;
        }
    }
    return 0;
}

int nl_params_compute_layout(nl_params *params, nl_error *err) {
    uint64_t offset = 0;
    for (int i = 0; i < params->count; i++) {
        nl_param *p = &params->items[i];
        offset = (offset + p->align - 1) & ~(uint64_t)(p->align - 1);
        p->offset = (uint32_t)offset;
        offset += p->size;
        if (offset > NL_PARAMS_MAX_BYTES)
            return nl_error_set(err, NL_ERR_VALUE, "the parameters need more than %d bytes",
                                NL_PARAMS_MAX_BYTES);
    }
    params->size = (uint32_t)offset;
    return resolve_member_offsets(params, err);
}

void nl_params_clear(nl_params *params) {
    for (int i = 0; i < params->total; i++) {
        nl_mem_free(params->items[i].name);
        nl_mem_free(params->items[i].ctype);
    }
    nl_mem_free(params->items);
    memset(params, 0, sizeof *params);
}
