/* sim/check/vectorclock: a reference-counted hash table. A clock with one owner is modified in
 * place; a modification of a clock with several owners makes a copy. */
#include "sim/check/vectorclock.h"

#include "base/mem.h"

typedef struct fact {
    uint64_t key; /* 0: free */
    uint32_t time;
} fact;

struct nl_sim_vectorclock {
    unsigned users;
    unsigned count, capacity; /* a power of two */
    fact facts[];
};

nl_sim_vectorclock *nl_sim_vectorclock_retain(nl_sim_vectorclock *clock) {
    if (clock)
        clock->users++;
    return clock;
}

void nl_sim_vectorclock_release(nl_sim_vectorclock **clock) {
    if (*clock && --(*clock)->users == 0)
        nl_mem_free(*clock);
    *clock = NULL;
}

static fact *find_slot(nl_sim_vectorclock *clock, uint64_t key) {
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (;; at++) {
        fact *f = &clock->facts[at & (clock->capacity - 1)];
        if (f->key == key || f->key == 0)
            return f;
    }
}

uint32_t nl_sim_vectorclock_get(const nl_sim_vectorclock *clock, uint64_t key) {
    return clock ? find_slot((nl_sim_vectorclock *)clock, key)->time : 0;
}

/* Returns a copy with space for at least one more entry, and a reference count of 1. */
static nl_sim_vectorclock *copy_clock(const nl_sim_vectorclock *clock) {
    unsigned count = clock ? clock->count : 0, capacity = 8;
    while (capacity * 3 / 4 <= count + 1)
        capacity *= 2;
    nl_sim_vectorclock *made = nl_mem_zalloc(sizeof *made + capacity * sizeof *made->facts, NULL);
    if (!made)
        return NULL;
    made->users = 1;
    made->capacity = capacity;
    made->count = count;
    for (unsigned i = 0; clock && i < clock->capacity; i++) {
        if (clock->facts[i].key)
            *find_slot(made, clock->facts[i].key) = clock->facts[i];
    }
    return made;
}

int nl_sim_vectorclock_raise(nl_sim_vectorclock **clock, uint64_t key, uint32_t time) {
    if (nl_sim_vectorclock_get(*clock, key) >= time)
        return 0;
    if (!*clock || (*clock)->users > 1 || (*clock)->capacity * 3 / 4 <= (*clock)->count + 1) {
        nl_sim_vectorclock *mine = copy_clock(*clock);
        if (!mine)
            return -1;
        nl_sim_vectorclock_release(clock);
        *clock = mine;
    }
    fact *f = find_slot(*clock, key);
    (*clock)->count += f->key == 0;
    *f = (fact){key, time};
    return 0;
}

int nl_sim_vectorclock_join(nl_sim_vectorclock **clock, nl_sim_vectorclock *other) {
    if (!other || *clock == other)
        return 0;
    if (!*clock) {
        *clock = nl_sim_vectorclock_retain(other);
        return 0;
    }
    for (unsigned i = 0; i < other->capacity; i++) {
        const fact *f = &other->facts[i];
        if (f->key && nl_sim_vectorclock_raise(clock, f->key, f->time) < 0)
            return -1;
    }
    return 0;
}
