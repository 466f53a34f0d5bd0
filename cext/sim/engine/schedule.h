/* sim/engine/schedule: runs a launch whose threads are switched only at chosen events. Between two
 * switches a thread runs until it waits, and the other threads follow in a fixed order, so that a
 * schedule always produces the same interleaving.
 *
 * Events are the atomic and volatile accesses of the launch. Between two events, the order of
 * threads affects only accesses that race or do not conflict. The caller must ensure that only one
 * OS thread at a time calls these functions. */
#ifndef NL_SIM_ENGINE_SCHEDULE_H
#define NL_SIM_ENGINE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

struct nl_sim_worker;

enum { NL_SIM_SWITCHES = 4, NL_SIM_EVENTS = 4096, NL_SIM_CONTENDED = 16 };

/* A switch of threads: the given thread must run before the launch's `event`-th atomic access. */
typedef struct nl_sim_switch {
    uint64_t block; /* linear index */
    uint32_t event, thread;
} nl_sim_switch;

/* An atomic or volatile access. */
typedef struct nl_sim_event {
    uint64_t block;
    uintptr_t address;
    uint32_t thread;
    uint8_t writes;
    /* set if only the schedule orders this access and an earlier access to the same memory */
    uint8_t competes;
} nl_sim_event;

typedef struct nl_sim_schedule {
    unsigned count, next; /* number of switches, and index of the next switch */
    nl_sim_switch switches[NL_SIM_SWITCHES];
    uint32_t event; /* number of atomic accesses so far */
    unsigned made;  /* number of switches that were made, because their thread could run */
    /* The thread that must run next, if is_wanted. */
    int is_wanted;
    uint64_t wanted_block;
    uint32_t wanted_thread;
    unsigned accesses; /* since other threads have run */
    /* For deadlock.h: the number of memory changes and crossed barriers, and the last write, whose
     * effect was not yet checked. */
    uint64_t progress;
    uintptr_t written;
    size_t written_size;
    unsigned char before[16];
    /* barriers (check/phases.h) whose order depends on the schedule: all accesses to them
     * compete */
    unsigned contended_count;
    uintptr_t contended[NL_SIM_CONTENDED];
    unsigned event_count; /* number of stored events; only the first events of the launch are
                           * stored */
    nl_sim_event events[NL_SIM_EVENTS];
} nl_sim_schedule;

/* Convert a schedule from text and to text: "k@5:0.3,9:2.0" contains the switches of kernel k as
 * event:block.thread. parse returns 0, or -1 if the text is invalid; "" has no switches. If the
 * text names another kernel, the parsed schedule has no switches. */
int nl_sim_schedule_parse(nl_sim_schedule *schedule, const char *text, const char *kernel);
void nl_sim_schedule_format(const nl_sim_schedule *schedule, const char *kernel, char *text,
                            size_t size);

/* Returns whether another thread must run before the running thread's next access. is_atomic: the
 * access is atomic or volatile. Call the function again after the other thread has run. */
int nl_sim_schedule_is_due(struct nl_sim_worker *worker, int is_atomic, int writes,
                           uintptr_t address);
/* Records that the last counted access competes with another access: their order depends on the
 * schedule. */
void nl_sim_schedule_mark_competing(nl_sim_schedule *schedule);
/* Records that the order of all accesses at this address depends on the schedule. */
void nl_sim_schedule_add_contended(nl_sim_schedule *schedule, uintptr_t address);
int nl_sim_schedule_is_competing(const nl_sim_schedule *schedule, const nl_sim_event *event);
/* Counts progress; call this function when threads continue after a barrier or a collective, when a
 * thread has ended, or when a thread can leave its loop. */
static inline void nl_sim_schedule_count_progress(nl_sim_schedule *schedule) {
    schedule->progress++;
}
/* Returns whether a thread of another block must run next. */
int nl_sim_schedule_must_change_block(const struct nl_sim_worker *worker);
/* Returns the thread of this block that must run next, if it is ready, and clears the request;
 * returns -1 if any thread may run. */
int nl_sim_schedule_choose_thread(struct nl_sim_worker *worker);

#endif
