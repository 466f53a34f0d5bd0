/* sim/check/verdict: stores verdicts in a linked list that a lock protects. */
#include "sim/check/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"

typedef struct entry {
    nl_verdict verdict;
    struct entry *next;
} entry;

static nl_mutex lock = NL_MUTEX_INIT;
static entry *entries;

static entry *find_verdict_lock_held(uint64_t record, const char *kernel) {
    entry **at = &entries;
    for (; *at; at = &(*at)->next) {
        if ((*at)->verdict.record == record && strcmp((*at)->verdict.kernel, kernel) == 0)
            return *at;
    }
    *at = calloc(1, sizeof **at);
    if (*at) {
        (*at)->verdict.record = record;
        snprintf((*at)->verdict.kernel, sizeof(*at)->verdict.kernel, "%s", kernel);
    }
    return *at;
}

void nl_sim_verdict_add(uint64_t record, const char *kernel, nl_verdict_kind kind,
                        uint64_t schedules) {
    char name[NL_VERDICT_KERNEL];
    snprintf(name, sizeof name, "%s", kernel);
    nl_mutex_lock(&lock);
    entry *e = find_verdict_lock_held(record, name);
    if (e) {
        e->verdict.launches++;
        e->verdict.schedules += schedules;
        if (kind > e->verdict.kind)
            e->verdict.kind = kind;
    }
    nl_mutex_unlock(&lock);
}

int nl_sim_verdict_pop(uint64_t record, nl_verdict *verdict) {
    int found = 0;
    nl_mutex_lock(&lock);
    for (entry **at = &entries; *at && !found;) {
        entry *e = *at;
        if (e->verdict.record != record) {
            at = &e->next;
            continue;
        }
        *verdict = e->verdict;
        *at = e->next;
        free(e);
        found = 1;
    }
    nl_mutex_unlock(&lock);
    return found;
}
