/* core/params: what a kernel takes: its parameters and where each lies in the parameter block. */
#ifndef NL_CORE_PARAMS_H
#define NL_CORE_PARAMS_H

#include <stdint.h>
#include "base/error.h"
#include "core/dtype.h"

#define NL_PARAMS_MAX_BYTES 32764 /* the most that any driver takes */

typedef enum nl_param_kind {
    NL_PARAM_SCALAR,
    NL_PARAM_POINTER, /* T*: a C-contiguous array */
    NL_PARAM_ARRAY,   /* array<T, N, layout>: address, shape and strides by value */
    NL_PARAM_STRUCT,  /* any other type, by value */
    NL_PARAM_TUPLE,   /* tuple<...> and structs for named tuples, by value: a tuple's items */
    NL_PARAM_EMPTY,   /* None, or a dtype: nothing but its type */
} nl_param_kind;

/* Memory orders as they are in type codes: a Fortran-ordered array is no C-ordered one unless its
 * shape makes it both. */
typedef enum nl_order { NL_ORDER_ANY, NL_ORDER_C, NL_ORDER_F } nl_order;

typedef struct nl_param {
    nl_param_kind kind;
    nl_dtype dtype; /* of the scalar, or of the elements; NL_OPAQUE: anything of `itemsize` bytes */
    nl_order order;
    int ndim;
    int is_const;           /* elements are only read */
    uint8_t takes_complex;  /* opaque, but a pair of floats or doubles */
    uint8_t takes_bfloat16; /* opaque, but __nv_bfloat16 */
    uint8_t lane;           /* of a vector such as float4: nl_dtype of its parts, */
    uint8_t lanes;          /* and how many there are; 0: an array of `lane` will do as it is */
    int64_t itemsize;       /* of the elements, 0 for void */
    uint32_t size, align;   /* in the parameter block */
    uint32_t offset;        /* of a part in the whole; nl_params_finish: in the block */
    uint32_t element_align; /* set by nl_params_set: of the elements, 1 where it is not known */
    char *name, *ctype;     /* for messages */
    int first, parts;       /* what it consists of: items first ... first + parts - 1 */
    int number;             /* of the whole parameter that it is or is a part of, from 0 */
} nl_param;

typedef struct nl_params {
    int count;     /* -1: not known, so no call fits */
    int total;     /* with the parts, which lie behind the parameters and behind what they are in */
    uint32_t size; /* of the block */
    nl_param *items;
} nl_params;

int nl_params_init(nl_params *params, int count, int total, nl_error *err);
/* Checks that `description` is possible at all and copies it, texts included. */
int nl_params_set(nl_params *params, int index, const nl_param *description, nl_error *err);
/* Lays out the block as the C++ compiler does. */
int nl_params_finish(nl_params *params, nl_error *err);
void nl_params_clear(nl_params *params);

#endif
