/* sim/engine/schedule: counts each event when it is executed. So the event before which threads are
 * switched has a higher number than the other thread's events after the switch. */
#include "sim/engine/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/engine/job.h"
#include "sim/engine/worker.h"

enum { PATIENCE = 2048 };

static int parse_thread_switch(const char **text, nl_sim_switch *s) {
    int length = 0;
    if (sscanf(*text, "%" SCNu32 ":%" SCNu64 ".%" SCNu32 "%n", &s->event, &s->block, &s->thread,
               &length) != 3)
        return -1;
    *text += length;
    return 0;
}

int nl_sim_schedule_parse(nl_sim_schedule *s, const char *text, const char *kernel) {
    const char *at = strchr(text, '@');
    s->count = 0;
    if (!text[0])
        return 0;
    if (!at)
        return -1;
    int is_own =
        strlen(kernel) == (size_t)(at - text) && strncmp(text, kernel, strlen(kernel)) == 0;
    for (at++; *at; at += *at == ',') {
        if (s->count == NL_SIM_SWITCHES || parse_thread_switch(&at, &s->switches[s->count]) < 0 ||
            (*at && *at != ','))
            return -1;
        s->count++;
    }
    if (!is_own)
        s->count = 0;
    return 0;
}

void nl_sim_schedule_format(const nl_sim_schedule *s, const char *kernel, char *text, size_t size) {
    int length = snprintf(text, size, "%s@", kernel);
    for (unsigned i = 0; i < s->count && length > 0 && (size_t)length < size; i++)
        length += snprintf(text + length, size - (size_t)length,
                           "%s%" PRIu32 ":%" PRIu64 ".%" PRIu32, i ? "," : "", s->switches[i].event,
                           s->switches[i].block, s->switches[i].thread);
}

static uint64_t block_number(const nl_sim_worker *w) {
    const nl_sim_dim *grid = &w->job->launch.grid;
    return w->index.x + (uint64_t)grid->x * (w->index.y + (uint64_t)grid->y * w->index.z);
}

/* Returns whether the thread has made so many accesses that it may be waiting for another thread in
 * a loop. */
static int may_be_spinning(nl_sim_schedule *s) {
    if (++s->accesses < PATIENCE)
        return 0;
    s->accesses = 0;
    return 1;
}

int nl_sim_schedule_is_due(nl_sim_worker *w, int is_atomic, int writes, uintptr_t address) {
    nl_sim_schedule *s = w->job->schedule;
    if (!is_atomic)
        return may_be_spinning(s);
    if (s->next < s->count && s->switches[s->next].event <= s->event) {
        const nl_sim_switch *to = &s->switches[s->next++];
        if (to->block != block_number(w) || to->thread != w->current) {
            s->is_wanted = 1;
            s->wanted_block = to->block;
            s->wanted_thread = to->thread;
            return 1;
        }
    }
    if (may_be_spinning(s))
        return 1;
    if (s->event_count < NL_SIM_EVENTS)
        s->events[s->event_count++] = (nl_sim_event){.block = block_number(w),
                                                     .address = address / 4 * 4,
                                                     .thread = w->current,
                                                     .writes = (uint8_t)writes};
    s->event++;
    return 0;
}

void nl_sim_schedule_mark_competing(nl_sim_schedule *s) {
    if (s->event == s->event_count && s->event_count)
        s->events[s->event_count - 1].competes = 1;
}

void nl_sim_schedule_add_contended(nl_sim_schedule *s, uintptr_t address) {
    for (unsigned i = 0; i < s->contended_count; i++) {
        if (s->contended[i] == address)
            return;
    }
    if (s->contended_count < NL_SIM_CONTENDED)
        s->contended[s->contended_count++] = address;
}

int nl_sim_schedule_is_competing(const nl_sim_schedule *s, const nl_sim_event *event) {
    if (event->competes)
        return 1;
    for (unsigned i = 0; i < s->contended_count; i++) {
        if (s->contended[i] == event->address)
            return 1;
    }
    return 0;
}

int nl_sim_schedule_must_change_block(const nl_sim_worker *w) {
    const nl_sim_schedule *s = w->job->schedule;
    return s->is_wanted && s->wanted_block != block_number(w);
}

int nl_sim_schedule_choose_thread(nl_sim_worker *w) {
    nl_sim_schedule *s = w->job->schedule;
    if (!s->is_wanted || s->wanted_block != block_number(w))
        return -1;
    unsigned thread = s->wanted_thread, warp = thread / NL_SIM_LANES;
    s->is_wanted = 0;
    if (thread >= w->threads || !(w->warp[warp].ready >> thread % NL_SIM_LANES & 1))
        return -1;
    s->made++;
    s->accesses = 0;
    return (int)thread;
}
