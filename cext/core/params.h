/* core/params: the parameters of a kernel and their offsets in the parameter block. */
#ifndef NL_CORE_PARAMS_H
#define NL_CORE_PARAMS_H

#include <stdint.h>
#include "base/error.h"
#include "core/dtype.h"

#define NL_PARAMS_MAX_BYTES 32764 /* the maximum of any driver */

typedef enum nl_param_kind {
    NL_PARAM_SCALAR,
    NL_PARAM_POINTER, /* T*: a C-contiguous array */
    NL_PARAM_ARRAY,   /* array<T, N, layout>, which is passed as address, shape and strides by
                       * value */
    NL_PARAM_STRUCT,  /* any other type, by value */
    NL_PARAM_TUPLE,   /* tuple<...>, or a struct for a named tuple, passed by value */
    NL_PARAM_EMPTY,   /* None or a dtype: the kernel only uses the parameter's type */
} nl_param_kind;

/* Memory orders in type codes. An array is not both C-ordered and Fortran-ordered, unless its shape
 * makes it both. */
typedef enum nl_order { NL_ORDER_ANY, NL_ORDER_C, NL_ORDER_F } nl_order;

typedef struct nl_param {
    nl_param_kind kind;
    /* dtype of the scalar or of the elements, or NL_OPAQUE for a type of `itemsize` bytes without a
     * dtype */
    nl_dtype dtype;
    nl_order order;
    int ndim;
    int is_const;           /* set if the kernel only reads the elements */
    uint8_t takes_complex;  /* set for an opaque type of two floats or doubles that accepts complex
                             * values */
    uint8_t takes_bfloat16; /* opaque, but accepts __nv_bfloat16 */
    uint8_t lane;           /* nl_dtype of the elements of a vector such as float4 */
    uint8_t lanes;          /* number of vector elements, or 0 if an array of `lane` is accepted
                             * directly */
    int64_t itemsize;       /* of the elements; 0 for void */
    uint32_t size, align;   /* in the parameter block */
    uint32_t offset;        /* offset in the struct; after nl_params_compute_layout, offset in the
                             * parameter        block */
    uint32_t element_align; /* alignment of the elements, which nl_params_set_item computes; 1 if
                             * unknown */
    char *name, *ctype;     /* for messages */
    int first, parts;       /* members of a struct: items `first` to `first + parts - 1` */
    int number;             /* index of the whole parameter */
} nl_param;

typedef struct nl_params {
    int count;     /* -1: unknown, so no call matches */
    int total;     /* number of items, including struct members, which follow the parameters and
                    * their structs */
    uint32_t size; /* of the block */
    nl_param *items;
} nl_params;

int nl_params_init(nl_params *params, int count, int total, nl_error *err);
/* Checks that `description` is consistent, and copies it with its strings. */
int nl_params_set_item(nl_params *params, int index, const nl_param *description, nl_error *err);
/* Computes the layout of the parameter block as the C++ compiler does. */
int nl_params_compute_layout(nl_params *params, nl_error *err);
void nl_params_clear(nl_params *params);

#endif
