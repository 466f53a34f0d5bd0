/* sim/check/explore: implemented as a queue of schedules, and a hash table of all schedules that
 * were ever added. */
#include "sim/check/explore.h"

#include <string.h>
#include "base/mem.h"

enum { MAX_SCHEDULES = 16384, TABLE = 4 * MAX_SCHEDULES };

typedef struct choice {
    unsigned count;
    nl_sim_switch switches[NL_SIM_SWITCHES];
} choice;

struct nl_sim_explorer {
    unsigned count;
    unsigned turn; /* number of schedules that were run */
    /* for each number of switches, index of the first choice that may not have been returned */
    unsigned next[NL_SIM_SWITCHES + 1];
    choice *choices;
    uint32_t table[TABLE]; /* index of a choice plus 1; 0: free */
};

nl_sim_explorer *nl_sim_explorer_open(void) {
    nl_sim_explorer *e = nl_mem_zalloc(sizeof *e, NULL);
    if (!e)
        return NULL;
    e->choices = nl_mem_alloc(MAX_SCHEDULES * sizeof *e->choices, NULL);
    if (e->choices)
        return e;
    nl_mem_free(e);
    return NULL;
}

void nl_sim_explorer_close(nl_sim_explorer *e) {
    if (e)
        nl_mem_free(e->choices);
    nl_mem_free(e);
}

static int is_same_choice(const choice *a, const choice *b) {
    if (a->count != b->count)
        return 0;
    for (unsigned i = 0; i < a->count; i++) {
        const nl_sim_switch *s = &a->switches[i], *t = &b->switches[i];
        if (s->event != t->event || s->block != t->block || s->thread != t->thread)
            return 0;
    }
    return 1;
}

/* Adds a schedule, unless it was added before or the queue is full. */
static void add_schedule(nl_sim_explorer *e, const choice *c) {
    uint64_t hash = c->count;
    for (unsigned i = 0; i < c->count; i++) {
        const nl_sim_switch *s = &c->switches[i];
        hash = (hash ^ s->event ^ (uint64_t)s->thread << 32 ^ s->block << 44) *
               UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    if (e->count == MAX_SCHEDULES)
        return;
    for (;; hash++) {
        uint32_t *slot = &e->table[hash % TABLE];
        if (*slot && !is_same_choice(&e->choices[*slot - 1], c))
            continue;
        if (*slot)
            return;
        e->choices[e->count++] = *c;
        *slot = e->count;
        return;
    }
}

static int do_events_conflict(const nl_sim_event *a, const nl_sim_event *b) {
    return a->address == b->address && (a->writes || b->writes) &&
           (a->block != b->block || a->thread != b->thread);
}

void nl_sim_explorer_add_run(nl_sim_explorer *e, const nl_sim_schedule *s) {
    for (unsigned later = 1; later < s->event_count; later++) {
        const nl_sim_event *b = &s->events[later];
        unsigned i = later;
        if (!nl_sim_schedule_is_competing(s, b))
            continue;
        while (i > 0 && !do_events_conflict(&s->events[i - 1], b))
            i--;
        if (i-- == 0)
            continue;
        choice c = {.count = 0};
        while (c.count < s->count && s->switches[c.count].event < i) {
            c.switches[c.count] = s->switches[c.count];
            c.count++;
        }
        if (c.count == NL_SIM_SWITCHES)
            continue;
        c.switches[c.count++] = (nl_sim_switch){.event = i, .block = b->block, .thread = b->thread};
        add_schedule(e, &c);
    }
}

/* Returns the first choice with this number of switches that find_next_choice has not returned
 * before, or NULL. */
static const choice *find_next_choice(nl_sim_explorer *e, unsigned switches) {
    while (e->next[switches] < e->count) {
        const choice *c = &e->choices[e->next[switches]++];
        if (c->count == switches)
            return c;
    }
    return NULL;
}

/* Returns the number of switches of the next schedule: 1, 2, 1, 3, 1, 2, 1, 4, ... */
static unsigned switches_of_turn(unsigned turn) {
    unsigned zeros = (unsigned)__builtin_ctz(turn | 1u << (NL_SIM_SWITCHES - 1));
    return zeros + 1;
}

int nl_sim_explorer_next_schedule(nl_sim_explorer *e, nl_sim_schedule *s) {
    const choice *c = find_next_choice(e, switches_of_turn(++e->turn));
    for (unsigned i = 1; i <= NL_SIM_SWITCHES && !c; i++)
        c = find_next_choice(e, i);
    if (!c)
        return 0;
    memset(s, 0, sizeof *s);
    s->count = c->count;
    memcpy(s->switches, c->switches, sizeof c->switches);
    return 1;
}
