/* sim/driver/handle: stores handles in a hash set with open addressing; removed entries are
 * tombstones until the set grows. */
#include "sim/driver/handle.h"

#include <stdint.h>
#include <stdlib.h>
#include "base/lock.h"

typedef struct entry {
    const void *object; /* NULL: never used */
    int kind;           /* 0: removed */
    int device;
} entry;

static nl_mutex lock = NL_MUTEX_INIT;
static struct {
    entry *entries;
    size_t size, used; /* `size` is a power of two; `used` includes removed entries */
} set;

static size_t slot_index(const void *object, size_t size) {
    return (size_t)(((uint64_t)(uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
           (size - 1);
}

static entry *find_entry_lock_held(nl_sim_handle_kind kind, const void *object) {
    if (!set.size)
        return NULL;
    for (size_t i = slot_index(object, set.size); set.entries[i].object;
         i = (i + 1) & (set.size - 1)) {
        if (set.entries[i].object == object && set.entries[i].kind == (int)kind)
            return &set.entries[i];
    }
    return NULL;
}

static void insert_entry(entry *entries, size_t size, entry item) {
    size_t i = slot_index(item.object, size);
    while (entries[i].object)
        i = (i + 1) & (size - 1);
    entries[i] = item;
}

static int grow_table_lock_held(void) {
    size_t alive = 0;
    for (size_t i = 0; i < set.size; i++)
        alive += set.entries[i].kind != 0;
    size_t size = 64;
    while (size < alive * 4)
        size *= 2;
    entry *entries = calloc(size, sizeof *entries);
    if (!entries)
        return -1;
    for (size_t i = 0; i < set.size; i++) {
        if (set.entries[i].kind)
            insert_entry(entries, size, set.entries[i]);
    }
    free(set.entries);
    set.entries = entries;
    set.size = size;
    set.used = alive;
    return 0;
}

int nl_sim_handle_add(nl_sim_handle_kind kind, int device, const void *object) {
    int status = 0;
    nl_mutex_lock(&lock);
    if (set.used * 2 >= set.size)
        status = grow_table_lock_held();
    if (status == 0) {
        insert_entry(set.entries, set.size, (entry){object, (int)kind, device});
        set.used++;
    }
    nl_mutex_unlock(&lock);
    return status;
}

int nl_sim_handle_remove(nl_sim_handle_kind kind, const void *object) {
    nl_mutex_lock(&lock);
    entry *e = find_entry_lock_held(kind, object);
    if (e)
        e->kind = 0;
    nl_mutex_unlock(&lock);
    return e != NULL;
}

int nl_sim_handle_is_registered(nl_sim_handle_kind kind, const void *object) {
    nl_mutex_lock(&lock);
    int is = find_entry_lock_held(kind, object) != NULL;
    nl_mutex_unlock(&lock);
    return is;
}

void *nl_sim_handle_remove_any(nl_sim_handle_kind kind, int device) {
    const void *object = NULL;
    nl_mutex_lock(&lock);
    for (size_t i = 0; i < set.size && !object; i++) {
        entry *e = &set.entries[i];
        if (e->kind == (int)kind && e->device == device) {
            object = e->object;
            e->kind = 0;
        }
    }
    nl_mutex_unlock(&lock);
    return (void *)(uintptr_t)object;
}

void nl_sim_handle_reset_lock_in_child(void) {
    nl_mutex_init(&lock);
}
