/* sim/check/undo: implemented as a hash table with an entry for each four bytes, and a flag for
 * each byte that was written. */
#include "sim/check/undo.h"

#include <string.h>
#include "base/mem.h"

enum { GRANULE = 4 };

typedef struct word {
    uintptr_t address; /* 0: free */
    unsigned char before[GRANULE], after[GRANULE], written[GRANULE];
} word;

struct nl_sim_undo {
    size_t count, capacity;
    word *words;
    int is_incomplete;
};

nl_sim_undo *nl_sim_undo_open(void) {
    return nl_mem_zalloc(sizeof(nl_sim_undo), NULL);
}

void nl_sim_undo_close(nl_sim_undo *u) {
    if (u)
        nl_mem_free(u->words);
    nl_mem_free(u);
}

static word *find_recorded_word(word *words, size_t capacity, uintptr_t address) {
    uint64_t at = (uint64_t)(address / GRANULE) * UINT64_C(0x9e3779b97f4a7c15) >> 24;
    for (;; at++) {
        word *w = &words[at & (capacity - 1)];
        if (w->address == address || w->address == 0)
            return w;
    }
}

static int enlarge_word_table(nl_sim_undo *u) {
    size_t capacity = u->capacity ? u->capacity * 2 : 1024;
    word *words = nl_mem_zalloc(capacity * sizeof *words, NULL);
    if (!words)
        return -1;
    for (size_t i = 0; i < u->capacity; i++) {
        if (u->words[i].address)
            *find_recorded_word(words, capacity, u->words[i].address) = u->words[i];
    }
    nl_mem_free(u->words);
    u->words = words;
    u->capacity = capacity;
    return 0;
}

static void record_bytes(nl_sim_undo *u, uintptr_t granule, uintptr_t low, uintptr_t high) {
    word *w = find_recorded_word(u->words, u->capacity, granule);
    u->count += w->address == 0;
    w->address = granule;
    for (uintptr_t at = low; at < high; at++) {
        unsigned i = (unsigned)(at - granule);
        if (w->written[i])
            continue;
        w->written[i] = 1;
        w->before[i] = w->after[i] = *(const volatile unsigned char *)at;
    }
}

void nl_sim_undo_record(nl_sim_undo *u, uintptr_t address, size_t size) {
    for (uintptr_t at = address, end = address + size; at < end && !u->is_incomplete;) {
        uintptr_t granule = at / GRANULE * GRANULE, next = granule + GRANULE;
        next = next < end ? next : end;
        if (u->count * 2 >= u->capacity && enlarge_word_table(u) < 0)
            u->is_incomplete = 1;
        else
            record_bytes(u, granule, at, next);
        at = next;
    }
}

int nl_sim_undo_is_complete(const nl_sim_undo *u) {
    return !u->is_incomplete;
}

void nl_sim_undo_record_results(nl_sim_undo *u) {
    for (size_t i = 0; i < u->capacity; i++) {
        for (unsigned k = 0; u->words[i].address && k < GRANULE; k++) {
            if (u->words[i].written[k])
                u->words[i].after[k] = ((const volatile unsigned char *)u->words[i].address)[k];
        }
    }
}

static void write_recorded_bytes(const nl_sim_undo *u, int after) {
    for (size_t i = 0; i < u->capacity; i++) {
        const word *w = &u->words[i];
        for (unsigned k = 0; w->address && k < GRANULE; k++) {
            if (w->written[k])
                ((volatile unsigned char *)w->address)[k] = after ? w->after[k] : w->before[k];
        }
    }
}

void nl_sim_undo_restore(nl_sim_undo *u) {
    write_recorded_bytes(u, 0);
}

void nl_sim_undo_restore_results(nl_sim_undo *u) {
    write_recorded_bytes(u, 1);
}
