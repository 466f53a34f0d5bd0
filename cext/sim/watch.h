/* sim/watch: an end for kernels that have none. A launch with a limit of time is watched; when it
 * has run for longer, its grid is stopped, and whoever of its threads never looks whether it should
 * stop, because it is in a loop of its own, is interrupted there by a signal.
 *
 * Interrupted is only what runs code of the kernel's image, which holds no lock: a signal at any
 * other moment is sent again a little later. */
#ifndef NL_SIM_WATCH_H
#define NL_SIM_WATCH_H

#include <signal.h>
#include <stdint.h>

struct nl_sim_job;
struct nl_sim_worker;

enum { NL_SIM_WATCH_SIGNAL = SIGURG };

/* One launch; part of its job. */
typedef struct nl_sim_watch {
    uint64_t limit_ms, deadline; /* when, in nanoseconds; 0: it is not watched */
    uint32_t overdue;
    uintptr_t code, code_end; /* of the image */
    struct nl_sim_worker *workers;
    struct nl_sim_job *next;
} nl_sim_watch;

/* Around the launch. */
void nl_sim_watch_begin(struct nl_sim_job *job, uint64_t limit_ms);
void nl_sim_watch_end(struct nl_sim_job *job);
/* Around the time that a worker runs blocks of it. */
void nl_sim_watch_enter(struct nl_sim_worker *worker);
void nl_sim_watch_leave(struct nl_sim_worker *worker);
/* What was running when a signal came: the address of the instruction; 0 if that is not known. */
uintptr_t nl_sim_watch_instruction(const void *signal_context);
/* And its stack pointer. */
uintptr_t nl_sim_watch_stack(const void *signal_context);
void nl_sim_watch_forget(void); /* in a forked child */

#endif
