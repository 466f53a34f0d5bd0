/* sim/engine/schedule: a launch whose threads are switched at chosen moments only. Between two such
 * moments a thread runs until it waits, and the others follow in a fixed order, so that the same
 * schedule gives the same interleaving.
 *
 * The moments are counted in atomic and volatile accesses of the launch: between two of them, the
 * order of threads changes nothing but the order of accesses that race or do not conflict. One
 * thread of the operating system at a time calls anything here. */
#ifndef NL_SIM_ENGINE_SCHEDULE_H
#define NL_SIM_ENGINE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

struct nl_sim_worker;

enum { NL_SIM_SWITCHES = 4, NL_SIM_EVENTS = 4096 };

/* Before the launch's `event`-th atomic access, this thread is to run. */
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
    uint8_t competes; /* nothing but the schedule orders it after some other of the same memory */
} nl_sim_event;

typedef struct nl_sim_schedule {
    unsigned count, next; /* switches: how many, and which is the next */
    nl_sim_switch switches[NL_SIM_SWITCHES];
    uint32_t event; /* atomic accesses so far */
    unsigned made;  /* switches that led to their thread */
    /* The thread that is to run, as long as another one does. */
    int is_wanted;
    uint64_t wanted_block;
    uint32_t wanted_thread;
    unsigned accesses; /* since others have run */
    /* deadlock.h: how often memory has changed or a barrier was crossed; a write that is under way.
     */
    uint64_t progress;
    uintptr_t written;
    size_t written_size;
    unsigned char before[16];
    unsigned event_count; /* of the first events, in order */
    nl_sim_event events[NL_SIM_EVENTS];
} nl_sim_schedule;

/* "k@5:0.3,9:2.0": the switches of kernel k, as event:block.thread. Returns 0, or -1 if the text is
 * no schedule; text "": none. For another kernel the schedule has no switches. */
int nl_sim_schedule_parse(nl_sim_schedule *schedule, const char *text, const char *kernel);
void nl_sim_schedule_format(const nl_sim_schedule *schedule, const char *kernel, char *text,
                            size_t size);

/* The running thread is about to make an access, which is atomic or volatile: should another thread
 * run before it? Called again when it has run. */
int nl_sim_schedule_is_due(struct nl_sim_worker *worker, int is_atomic, int writes,
                           uintptr_t address);
/* The access that was counted last competes with another one. */
void nl_sim_schedule_note_competition(nl_sim_schedule *schedule);
/* Is the thread that is to run one of another block? */
int nl_sim_schedule_leaves(const struct nl_sim_worker *worker);
/* Returns the thread of this block that is to run, which is ready, and wants no other from then on;
 * -1: any may run. */
int nl_sim_schedule_choose(struct nl_sim_worker *worker);

#endif
