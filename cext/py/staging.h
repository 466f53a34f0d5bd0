/* py/staging: the host arrays of one launch, on the device while it runs. */
#ifndef NL_PY_STAGING_H
#define NL_PY_STAGING_H

#include "py/state.h"
#include "core/buffer.h"
#include "core/kernel.h"
#include "core/layout.h"
#include "py/hostarray.h"
#include "py/transfer.h"

#define NL_PY_INLINE_STAGED 4

typedef struct nl_py_staged {
    nl_host_array host; /* the array is kept by the arguments of the call */
    nl_layout device;   /* contiguous */
    int mode;
    nl_buffer *buffer;
} nl_py_staged;

/* One use of a staged array: where in the parameter block its address goes. */
typedef struct nl_py_staged_use {
    int staged, parameter;
} nl_py_staged_use;

typedef struct nl_py_staging {
    int count, use_count, capacity;
    int implicit; /* some array came without In, Out or InOut */
    nl_py_staged *items;
    nl_py_staged_use *uses;
    nl_py_staged inline_items[NL_PY_INLINE_STAGED];
    nl_py_staged_use inline_uses[NL_PY_INLINE_STAGED];
} nl_py_staging;

/* Before anything else; cheap, whatever the size of the struct. */
static inline void nl_py_staging_init(nl_py_staging *s) {
    s->count = s->use_count = s->implicit = 0;
    s->capacity = NL_PY_INLINE_STAGED;
    s->items = s->inline_items;
    s->uses = s->inline_uses;
}

/* Notes that `parameter` takes `host`, laid out on the device as its own order demands (C unless it
 * is Fortran contiguous only). The same memory seen the same way is staged once. 0 or -1. */
int nl_py_staging_add(nl_py_staging *s, const nl_host_array *host, int parameter, int mode,
                      nl_py_staged **out);
/* Refuses arrays that overlap where one is written. */
int nl_py_staging_check(const nl_py_staging *s, const nl_kernel *kernel);
/* Allocates, copies in, and completes the parameter block. */
int nl_py_staging_enter(nl_py_staging *s, const nl_kernel *kernel, unsigned char *block,
                        CUstream stream, int blocking);
/* Copies back, waiting for the kernel. */
int nl_py_staging_leave(nl_py_staging *s, const nl_kernel *kernel, CUstream stream);
/* Gives everything back; on any path. */
void nl_py_staging_clear(nl_py_staging *s);

#endif
