/* py/overloads: a hash table with open addressing. Readers use no lock: slots are filled or
 * replaced, never emptied, and a larger array of slots is published as a whole. The smaller arrays
 * of slots are kept until the table is freed, because another thread may be reading them. */
#include "py/overloads.h"

#include "base/mem.h"

typedef struct slots {
    struct slots *older;
    size_t mask, used;
    void *items[]; /* nl_py_overload */
} slots;

enum { FEWEST = 4 };

/* ---- entries ---- */

static uint32_t hash_key(const nl_device *device, const void *key, size_t size) {
    uint64_t hash = (uint64_t)(uintptr_t)device;
    for (size_t at = 0; at < size; at += NL_PY_KEY_WORD) {
        uint64_t word;
        memcpy(&word, (const char *)key + at, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

void *nl_py_overload_new(size_t entry_size, const void *key, size_t size) {
    nl_error err;
    nl_py_overload *e = nl_mem_zalloc(entry_size + NL_PY_KEY_CAPACITY(size), &err);
    if (!e)
        return nl_py_raise(&err);
    if (size)
        memcpy((char *)e + entry_size, key, size);
    e->key = (char *)e + entry_size;
    e->size = (uint32_t)size;
    return e;
}

int nl_py_overload_set_kernel(nl_py_overload *e, const nl_py_state *state, PyObject *kernel,
                              const nl_device *device, PyObject *name) {
    if (!Py_IS_TYPE(kernel, state->kernel_type)) {
        PyErr_Format(PyExc_TypeError, "%U: a Kernel is needed, not %.80s", name,
                     Py_TYPE(kernel)->tp_name);
        return -1;
    }
    const nl_module *module = ((nl_py_kernel *)kernel)->kernel->module;
    if (module->device != device) {
        PyErr_Format(PyExc_ValueError, "%U: the kernel is loaded on device %d, not on device %d",
                     name, module->device->ordinal, device->ordinal);
        return -1;
    }
    e->device = device;
    e->generation = module->generation;
    e->code = Py_NewRef(kernel);
    return 0;
}

void nl_py_overload_free(nl_py_overload *e) {
    if (e)
        Py_XDECREF(e->code);
    nl_mem_free(e);
}

static int is_stale(const nl_py_overload *e) {
    return !nl_py_overload_runs_on(e, e->device);
}

/* ---- slots ---- */

/* Returns the slot of the key, or the empty slot in which to insert the key. */
static void **find_slot(slots *s, const nl_py_overload *e) {
    size_t i = e->hash & s->mask;
    for (const nl_py_overload *other; (other = s->items[i]) != NULL; i = (i + 1) & s->mask)
        if (other->hash == e->hash && other->device == e->device && other->size == e->size &&
            nl_py_key_equal(other->key, e->key, e->size))
            break;
    return &s->items[i];
}

static void insert_entry(slots *s, nl_py_overload *e) {
    void **slot = find_slot(s, e);
    s->used += *slot == NULL;
    nl_atomic_store_pointer(slot, e);
}

/* Returns a new array of slots with space for one more entry; at most half of the slots are used.
 * Dead entries are not copied to larger slots. */
static slots *make_larger_table(nl_py_overloads *t, nl_error *err) {
    slots *old = t->slots;
    size_t count = FEWEST, live = 1;
    if (old && 2 * (old->used + 1) <= old->mask + 1)
        return old;
    for (size_t i = 0; old && i <= old->mask; i++)
        live += old->items[i] && !is_stale(old->items[i]);
    while (count < 2 * live)
        count *= 2;
    slots *s = nl_mem_zalloc(sizeof *s + count * sizeof *s->items, err);
    if (!s)
        return NULL;
    s->older = old;
    s->mask = count - 1;
    for (size_t i = 0; old && i <= old->mask; i++)
        if (old->items[i] && !is_stale(old->items[i]))
            insert_entry(s, old->items[i]);
    return s;
}

/* ---- tables ---- */

nl_py_overload *nl_py_overloads_find(nl_py_overloads *t, const nl_device *device, const void *key,
                                     size_t size) {
    slots *s = nl_atomic_load_pointer(&t->slots);
    if (!s)
        return NULL;
    for (size_t i = hash_key(device, key, size);; i++) {
        nl_py_overload *e = nl_atomic_load_pointer(&s->items[i & s->mask]);
        if (!e || nl_py_overload_fits(e, device, key, size))
            return e;
    }
}

int nl_py_overloads_add(nl_py_overloads *t, PyObject *owner, nl_py_overload *e) {
    nl_error err;
    slots *s;
    e->hash = hash_key(e->device, e->key, e->size);
    (void)owner;
    Py_BEGIN_CRITICAL_SECTION(owner);
    s = make_larger_table(t, &err);
    if (s) {
        e->next = t->all;
        nl_atomic_store_entry(&t->all, e);
        insert_entry(s, e);
        nl_atomic_store_pointer(&t->slots, s);
    }
    Py_END_CRITICAL_SECTION();
    if (!s)
        nl_py_raise(&err);
    return s ? 0 : -1;
}

void nl_py_overloads_mark_dead(nl_py_overloads *t) {
    for (nl_py_overload *e = nl_atomic_load_entry(&t->all); e; e = e->next)
        nl_atomic_store32_relaxed(&e->dead, 1);
}

int nl_py_overloads_traverse(const nl_py_overloads *t, visitproc visit, void *arg) {
    for (nl_py_overload *e = t->all; e; e = e->next)
        Py_VISIT(e->code);
    return 0;
}

void nl_py_overloads_clear(nl_py_overloads *t) {
    nl_py_overloads_mark_dead(t);
    for (nl_py_overload *e = t->all; e; e = e->next)
        Py_CLEAR(e->code);
}

void nl_py_overloads_free(nl_py_overloads *t) {
    for (nl_py_overload *e = t->all, *next; e; e = next) {
        next = e->next;
        nl_py_overload_free(e);
    }
    for (slots *s = t->slots, *older; s; s = older) {
        older = s->older;
        nl_mem_free(s);
    }
    t->slots = NULL;
    t->all = NULL;
}
