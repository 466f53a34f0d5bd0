/* py/overloads: the hash table of dispatchers, ufuncs, gufuncs and host functions, which maps the
 * types of a call to compiled code.
 *
 * An entry's key is a sequence of bytes that describes the types of a call; a kernel's key also
 * includes its device. A table only grows, so calls read it without a lock. Entries live as long as
 * the table, so a caller may store a pointer to an entry. A lookup does not return entries whose
 * code is dead (nl_py_overloads_mark_dead was called, or the context was destroyed). */
#ifndef NL_PY_OVERLOADS_H
#define NL_PY_OVERLOADS_H

#include "py/state.h"

#include <string.h>
#include "base/lock.h"
#include "core/device.h"
#include "py/kernel.h"

/* The first member of the struct of an entry. */
typedef struct nl_py_overload {
    struct nl_py_overload *next; /* the list of all entries of the table, newest first */
    const nl_device *device;     /* device of a kernel; NULL: any device */
    uint64_t generation;         /* generation of the device when the entry was created */
    /* strong reference to a Kernel, or to another object that keeps the code alive, or NULL */
    PyObject *code;
    const void *key;
    uint32_t size, hash; /* size of the key in bytes, and its hash */
    uint32_t dead;       /* set to 1 by nl_py_overloads_mark_dead */
} nl_py_overload;

/* A table. All zero: empty. */
typedef struct nl_py_overloads {
    void *slots;
    nl_py_overload *all;
} nl_py_overloads;

/* Keys are compared in units of 8 bytes, so the padding up to a multiple of 8 bytes must be
 * zero. */
enum { NL_PY_KEY_WORD = sizeof(uint64_t) };
#define NL_PY_KEY_CAPACITY(size) \
    (((size_t)(size) + NL_PY_KEY_WORD - 1) / NL_PY_KEY_WORD * NL_PY_KEY_WORD)
/* Sets the padding of a key of `size` bytes to zero; call this function before writing the key. */
static inline void nl_py_key_clear_padding(void *key, size_t size) {
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

/* Returns whether the entry's code can still run on this device. */
static inline int nl_py_overload_runs_on(const nl_py_overload *e, const nl_device *device) {
    return e->device == device && !nl_atomic_load32_relaxed(&e->dead) &&
           (!device || e->generation == nl_atomic_load(&device->generation));
}
static inline int nl_py_overload_fits(const nl_py_overload *e, const nl_device *device,
                                      const void *key, size_t size) {
    return nl_py_overload_runs_on(e, device) && e->size == size &&
           nl_py_key_equal(e->key, key, size);
}
static inline nl_py_kernel *nl_py_overload_kernel(const nl_py_overload *e) {
    return (nl_py_kernel *)e->code;
}

/* Returns a zeroed entry of `entry_size` bytes, followed by a copy of the key, or NULL with an
 * exception. */
void *nl_py_overload_new(size_t entry_size, const void *key, size_t size);
/* Sets the entry's code to a kernel, which must be loaded on `device`. Messages contain `name`. 0,
 * or -1 with an exception. */
int nl_py_overload_set_kernel(nl_py_overload *e, const nl_py_state *state, PyObject *kernel,
                              const nl_device *device, PyObject *name);
/* Frees an entry that was not added to a table. Does nothing for NULL. */
void nl_py_overload_free(nl_py_overload *e);

/* Returns the entry for a key, or NULL without an exception. */
nl_py_overload *nl_py_overloads_find(nl_py_overloads *t, const nl_device *device, const void *key,
                                     size_t size);
/* Adds an entry, which replaces any entry with the same key; on success, the table owns the new
 * entry. `owner` is the object that contains the table. 0, or -1 with an exception. */
int nl_py_overloads_add(nl_py_overloads *t, PyObject *owner, nl_py_overload *e);
/* Marks all entries as dead. */
void nl_py_overloads_mark_dead(nl_py_overloads *t);
/* These functions implement tp_traverse, tp_clear and tp_dealloc of the table's owner. */
int nl_py_overloads_traverse(const nl_py_overloads *t, visitproc visit, void *arg);
void nl_py_overloads_clear(nl_py_overloads *t);
void nl_py_overloads_free(nl_py_overloads *t);

#endif
