/* sim/driver/streamclock: implements vector clocks, which the lock of all streams protects. */
#include "sim/driver/streamclock.h"

#include <stdio.h>
#include <string.h>

static nl_sim_streamclock host;
static uint64_t issued[NL_SIM_OVERLAP_STREAMS];
static unsigned users[NL_SIM_OVERLAP_STREAMS], last_place;
static unsigned created;
static uint32_t last_id;

int nl_sim_streamclock_open(void) {
    if (nl_sim_overlap_is_recorded())
        return 0;
    nl_sim_streams_lock();
    int status = nl_sim_overlap_enable();
    nl_sim_streams_unlock();
    return status;
}

/* Assigns a free index, if any, but not the index that was released last, because a new stream with
 * the index of a destroyed stream would seem to be the same stream. */
void nl_sim_streamclock_assign_index(nl_sim_stream *stream) {
    unsigned place = (last_place + 1) % NL_SIM_OVERLAP_STREAMS;
    for (unsigned i = 0; i < NL_SIM_OVERLAP_STREAMS && users[place]; i++)
        place = (place + 1) % NL_SIM_OVERLAP_STREAMS;
    users[place]++;
    if (stream->context->legacy)
        stream->number = ++created;
    stream->place = last_place = place;
}

/* Merges the stream's clock into the default stream's clock: the default stream stays ordered after
 * operations of destroyed blocking streams. */
void nl_sim_streamclock_release_index(nl_sim_stream *stream) {
    users[stream->place]--;
    if (!(stream->flags & CU_STREAM_NON_BLOCKING) && stream->context->legacy)
        nl_sim_streamclock_join(&stream->context->legacy->clock, &stream->clock);
}

void nl_sim_streamclock_join(nl_sim_streamclock *later, const nl_sim_streamclock *earlier) {
    for (unsigned i = 0; i < NL_SIM_OVERLAP_STREAMS; i++) {
        if (later->ticket[i] < earlier->ticket[i])
            later->ticket[i] = earlier->ticket[i];
    }
}

void nl_sim_streamclock_join_host(const nl_sim_streamclock *clock) {
    nl_sim_streamclock_join(&host, clock);
}

/* Merges clocks according to the rule of add_legacy_lock_held in stream.c. */
static void join_legacy_stream(nl_sim_stream *stream) {
    nl_sim_stream *legacy = stream->context->legacy;
    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return;
    if (stream != legacy) {
        nl_sim_streamclock_join(&stream->clock, &legacy->clock);
        return;
    }
    for (nl_sim_stream *s = stream->context->streams; s; s = s->next) {
        if (!(s->flags & CU_STREAM_NON_BLOCKING))
            nl_sim_streamclock_join(&stream->clock, &s->clock);
    }
}

/* source line of the thread's next operation, or "" if it was not set */
static _Thread_local char caller[NL_SIM_CALLER];

unsigned nl_sim_streamclock_stream_number(CUstream stream) {
    return ((const nl_sim_stream *)stream)->number;
}

void nl_sim_streamclock_set_caller(const char *file, int line) {
    const char *name = strrchr(file, '/');
    snprintf(caller, sizeof caller, "%.40s, line %d", name ? name + 1 : file, line);
}

void nl_sim_streamclock_get_caller(char text[NL_SIM_CALLER]) {
    memcpy(text, caller, sizeof caller);
}

static void describe_stream(const nl_sim_stream *stream, char *text, size_t size) {
    char where[NL_SIM_CALLER + 4] = "";
    if (caller[0])
        snprintf(where, sizeof where, " (%s)", caller);
    if (stream == stream->context->legacy)
        snprintf(text, size, "on the default stream%s", where);
    else
        snprintf(text, size, "on stream %u%s", stream->number, where);
}

static void create_overlap_operation(const nl_sim_stream *stream, nl_sim_op *op) {
    char what[80], where[NL_SIM_OVERLAP_WHERE];
    describe_stream(stream, where, sizeof where);
    snprintf(what, sizeof what, "%s%.64s", op->name ? "kernel " : "",
             op->name ? op->name : "a copy");
    op->overlap =
        nl_sim_overlap_new_operation(last_id++, &stream->clock, stream->place, what, where);
    caller[0] = '\0';
}

void nl_sim_streamclock_issue_operation(nl_sim_stream *stream, nl_sim_op *op) {
    if (!nl_sim_overlap_is_recorded())
        return;
    nl_sim_streamclock_join(&stream->clock, &host);
    join_legacy_stream(stream);
    stream->clock.ticket[stream->place] = ++issued[stream->place];
    if (op->flags & NL_SIM_OP_WATCHED)
        create_overlap_operation(stream, op);
}

static _Thread_local const nl_sim_overlap *host_function;

void nl_sim_streamclock_begin_host(const nl_sim_overlap *operation) {
    host_function = operation;
}

void nl_sim_streamclock_order_host(void) {
    if (!host_function)
        return;
    nl_sim_streams_lock();
    nl_sim_streamclock_join_host(nl_sim_overlap_get_clock(host_function));
    nl_sim_streams_unlock();
}
