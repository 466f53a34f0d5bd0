/* sim/check/overlap: operations of different streams that touch the same memory with nothing that
 * puts them in an order.
 *
 * Each stream has a vector clock: for every other, up to which of its operations all has happened
 * before what is issued next. The host has one, too, for whatever it has waited for. Events, waits
 * and the default stream's rule join them. For each byte that a watched operation touches, its last
 * writer and a reader are noted; who touches it next, and does not come after them, is told.
 *
 * Where something is not known (there are more streams than clocks have room for, a stream is gone,
 * there is no memory), it counts as ordered. Nothing is kept before somebody asks for it. */
#ifndef NL_SIM_CHECK_OVERLAP_H
#define NL_SIM_CHECK_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

enum { NL_SIM_OVERLAP_STREAMS = 32, NL_SIM_OVERLAP_WHERE = 96, NL_SIM_OVERLAP_TEXT = 176 };

/* A vector clock. Streams share places when there are too many of them. */
typedef struct nl_sim_streamclock {
    uint64_t ticket[NL_SIM_OVERLAP_STREAMS];
} nl_sim_streamclock;

/* A watched operation, from when it is issued. */
typedef struct nl_sim_overlap nl_sim_overlap;

/* The other operation, and what it does with the memory. */
typedef struct nl_sim_overlap_clash {
    char who[NL_SIM_OVERLAP_TEXT]; /* "kernel fill on stream 2 (program.py, line 9)" */
    const char *verb;              /* "writes" */
    uint32_t number;               /* of the operation; never 0 */
    uintptr_t address;
} nl_sim_overlap_clash;

/* Is anything kept? Begins; 0, or -1 without memory. */
int nl_sim_overlap_is_kept(void);
int nl_sim_overlap_keep(void);

/* A new one, which free() releases: the number `number` of all, the last in `clock` of the stream
 * at `place`; "kernel fill", "on stream 2 (program.py, line 9)". NULL without memory. */
nl_sim_overlap *nl_sim_overlap_make(uint32_t number, const nl_sim_streamclock *clock,
                                    unsigned place, const char *what, const char *where);
/* What has happened before it. */
const nl_sim_streamclock *nl_sim_overlap_clock(const nl_sim_overlap *operation);

/* While the operation runs: it touches these bytes. Returns 1 if another does, unordered. */
int nl_sim_overlap_touch(const nl_sim_overlap *operation, uintptr_t address, size_t size,
                         int writes, int atomic, nl_sim_overlap_clash *clash);
/* "on stream 2 (program.py, line 9)", "on the default stream" */
const char *nl_sim_overlap_stream(const nl_sim_overlap *operation);
/* What would have ordered them. */
extern const char nl_sim_overlap_remedy[];

/* Memory comes or goes: nobody has touched it. */
void nl_sim_overlap_drop(uintptr_t low, size_t size);

#endif
