/* py/xla_abi: declares the part of XLA's foreign function interface (FFI) that numbalite uses,
 * version 0.x of its C API, so that building needs no JAX. Every struct begins with its size in
 * bytes: the reader compares it with the end of the last field that it uses (NL_XLA_HAS). */
#ifndef NL_PY_XLA_ABI_H
#define NL_PY_XLA_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* newer versions with the same major number add fields at the ends of structs */
    NL_XLA_MAJOR = 0,
    NL_XLA_METADATA = 1,
    NL_XLA_BUFFER = 1,
    NL_XLA_SCALAR = 3,
    NL_XLA_S64 = 5,
    NL_XLA_EXECUTE = 3,
    NL_XLA_INTERNAL = 13,
};

typedef struct nl_xla_extension {
    size_t struct_size;
    int type;
    struct nl_xla_extension *next;
} nl_xla_extension;

typedef struct nl_xla_version {
    size_t struct_size;
    nl_xla_extension *extensions;
    int major, minor;
} nl_xla_version;

typedef struct nl_xla_error nl_xla_error; /* opaque */

typedef struct nl_xla_error_args {
    size_t struct_size;
    nl_xla_extension *extensions;
    const char *message;
    int code;
} nl_xla_error_args;

typedef struct nl_xla_stream_args {
    size_t struct_size;
    nl_xla_extension *extensions;
    void *context, *stream;
} nl_xla_stream_args;

typedef struct nl_xla_buffer {
    size_t struct_size;
    nl_xla_extension *extensions;
    int dtype;
    void *data;
    int64_t rank, *dims;
} nl_xla_buffer;

typedef struct nl_xla_text {
    const char *start;
    size_t length;
} nl_xla_text;

typedef struct nl_xla_scalar {
    int dtype;
    void *value;
} nl_xla_scalar;

/* The operands or the results of a call. */
typedef struct nl_xla_buffers {
    size_t struct_size;
    nl_xla_extension *extensions;
    int64_t count;
    int *kinds;
    void **items;
} nl_xla_buffers;

typedef struct nl_xla_attributes {
    size_t struct_size;
    nl_xla_extension *extensions;
    int64_t count;
    int *kinds;
    nl_xla_text **names;
    void **values;
} nl_xla_attributes;

/* What a handler reports about itself. */
typedef struct nl_xla_metadata {
    size_t struct_size;
    nl_xla_version version;
    uint32_t traits;
} nl_xla_metadata;

typedef struct nl_xla_metadata_request {
    nl_xla_extension base;
    nl_xla_metadata *metadata;
} nl_xla_metadata_request;

/* XLA's table of functions. */
typedef struct nl_xla_api {
    size_t struct_size;
    nl_xla_extension *extensions;
    nl_xla_version version;
    const void *internal;
    nl_xla_error *(*error_create)(nl_xla_error_args *);
    void (*error_message)(void *);
    void (*error_destroy)(void *);
    nl_xla_error *(*handler_register)(void *);
    nl_xla_error *(*stream_get)(nl_xla_stream_args *);
} nl_xla_api;

typedef struct nl_xla_call {
    size_t struct_size;
    nl_xla_extension *extensions;
    const nl_xla_api *api;
    void *context;
    int stage;
    nl_xla_buffers args, results;
    nl_xla_attributes attributes;
} nl_xla_call;

#define NL_XLA_HAS(object, type, field) \
    ((object)->struct_size >= offsetof(type, field) + sizeof((object)->field))

#endif
