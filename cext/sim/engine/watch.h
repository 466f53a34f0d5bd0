/* sim/engine/watch: an end for kernels that have none. A grid is stopped when it has run for longer
 * than its limit, or when the user asks; whoever of its threads never looks whether it should stop,
 * because it is in a loop of its own, is interrupted there by a signal.
 *
 * Interrupted is only what runs code of the kernel's image, which holds no lock: a signal at any
 * other moment is sent again a little later. */
#ifndef NL_SIM_ENGINE_WATCH_H
#define NL_SIM_ENGINE_WATCH_H

#include <signal.h>
#include <stdint.h>

struct nl_sim_job;

enum { NL_SIM_WATCH_SIGNAL = SIGURG };

typedef enum nl_sim_stop { NL_SIM_GOES_ON, NL_SIM_OVERDUE, NL_SIM_INTERRUPTED } nl_sim_stop;

/* One launch; part of its job. */
typedef struct nl_sim_watch {
    uint64_t deadline;        /* when, in nanoseconds */
    uint32_t stopped;         /* an nl_sim_stop */
    uintptr_t code, code_end; /* of the image */
    struct nl_sim_job *next;
} nl_sim_watch;

/* Around a launch with a limit. */
void nl_sim_watch_begin(struct nl_sim_job *job, uint64_t limit_ms);
void nl_sim_watch_end(struct nl_sim_job *job);
/* Stops it, as far as that is possible at this moment: to be called again a little later. */
void nl_sim_watch_stop(struct nl_sim_job *job, nl_sim_stop why);
/* What was running when a signal came: the address of the instruction; 0 if that is not known. */
uintptr_t nl_sim_watch_instruction(const void *signal_context);
/* And its stack pointer. */
uintptr_t nl_sim_watch_stack(const void *signal_context);
void nl_sim_watch_forget(void); /* in a forked child */

#endif
