/* py/overloads: which code the types of a call mean: the table that every compiled thing keeps.
 *
 * An entry's key is made of bytes, the types of a call; kernels belong to a device besides. A table
 * only grows, so calls read it without a lock, and its entries live as long as it does, so that
 * whoever found one may keep the pointer. Entries whose code is gone, forgotten or lost with its
 * context, are found no more. */
#ifndef NL_PY_OVERLOADS_H
#define NL_PY_OVERLOADS_H

#include "py/state.h"

#include <string.h>
#include "base/lock.h"
#include "core/device.h"
#include "py/kernel.h"

/* To be the first member of an entry that has more to say. */
typedef struct nl_py_overload {
    struct nl_py_overload *next; /* of all that the table has had, the newest first */
    const nl_device *device;     /* of a kernel; NULL: on any */
    uint64_t generation;         /* of the device */
    PyObject *code;              /* strong, or NULL: a Kernel, or what else keeps it */
    const void *key;
    uint32_t size, hash; /* of the key, in bytes */
    uint32_t dead;       /* forgotten */
} nl_py_overload;

/* All zero: an empty one. */
typedef struct nl_py_overloads {
    void *slots;
    nl_py_overload *all;
} nl_py_overloads;

/* Keys are compared by words: what is behind the last byte, up to a whole word, must be zero. */
enum { NL_PY_KEY_WORD = sizeof(uint64_t) };
#define NL_PY_KEY_ROOM(size) \
    (((size_t)(size) + NL_PY_KEY_WORD - 1) / NL_PY_KEY_WORD * NL_PY_KEY_WORD)
/* Before a key of `size` bytes is written. */
static inline void nl_py_key_open(void *key, size_t size) {
    if (size % NL_PY_KEY_WORD)
        memset((char *)key + size / NL_PY_KEY_WORD * NL_PY_KEY_WORD, 0, NL_PY_KEY_WORD);
}
static inline int nl_py_key_equal(const void *first, const void *second, size_t size) {
    for (size_t at = 0; at < size; at += NL_PY_KEY_WORD) {
        uint64_t a, b;
        memcpy(&a, (const char *)first + at, sizeof a);
        memcpy(&b, (const char *)second + at, sizeof b);
        if (a != b)
            return 0;
    }
    return 1;
}

/* Is its code there, and for this device? */
static inline int nl_py_overload_lives(const nl_py_overload *e, const nl_device *device) {
    return e->device == device && !nl_atomic_load32_relaxed(&e->dead) &&
           (!device || e->generation == nl_atomic_load(&device->generation));
}
static inline int nl_py_overload_fits(const nl_py_overload *e, const nl_device *device,
                                      const void *key, size_t size) {
    return nl_py_overload_lives(e, device) && e->size == size && nl_py_key_equal(e->key, key, size);
}
static inline nl_py_kernel *nl_py_overload_kernel(const nl_py_overload *e) {
    return (nl_py_kernel *)e->code;
}

/* A zeroed entry of `room` bytes with a copy of the key behind them; NULL with an exception. */
void *nl_py_overload_new(size_t room, const void *key, size_t size);
/* Its code is that kernel, which must be loaded on `device`; `name` is for messages. */
int nl_py_overload_load(nl_py_overload *e, const nl_py_state *state, PyObject *kernel,
                        const nl_device *device, PyObject *name);
/* One that was not added. Accepts NULL. */
void nl_py_overload_free(nl_py_overload *e);

/* NULL: there is none. */
nl_py_overload *nl_py_overloads_find(nl_py_overloads *t, const nl_device *device, const void *key,
                                     size_t size);
/* Takes the entry over, in the place of one with the same key; not if it fails. `owner` is the
 * object that has the table. */
int nl_py_overloads_add(nl_py_overloads *t, PyObject *owner, nl_py_overload *e);
/* None is found any more. */
void nl_py_overloads_forget(nl_py_overloads *t);
/* For tp_traverse, tp_clear and tp_dealloc. */
int nl_py_overloads_visit(const nl_py_overloads *t, visitproc visit, void *arg);
void nl_py_overloads_clear(nl_py_overloads *t);
void nl_py_overloads_free(nl_py_overloads *t);

#endif
