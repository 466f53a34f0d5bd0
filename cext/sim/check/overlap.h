/* sim/check/overlap: finds operations of different streams that access the same memory and are
 * unordered.
 *
 * Each stream has a vector clock: for every other stream, the last operation that happens before
 * the next operation issued. The host has a clock of the operations for which it has waited.
 * Events, waits and the default stream's rule join clocks. For each byte that a watched operation
 * accesses, its last writer and one reader are stored; the next access that is not ordered after
 * the writer and the reader is reported.
 *
 * Operations count as ordered if their order cannot be determined: more streams than a clock has
 * entries, a destroyed stream, or no memory. Nothing is stored until the check is first enabled. */
#ifndef NL_SIM_CHECK_OVERLAP_H
#define NL_SIM_CHECK_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

enum { NL_SIM_OVERLAP_STREAMS = 32, NL_SIM_OVERLAP_WHERE = 96, NL_SIM_OVERLAP_TEXT = 176 };

/* A vector clock. If there are more streams than entries, several streams share an entry. */
typedef struct nl_sim_streamclock {
    uint64_t ticket[NL_SIM_OVERLAP_STREAMS];
} nl_sim_streamclock;

/* A watched operation, which is created when the operation is issued. */
typedef struct nl_sim_overlap nl_sim_overlap;

/* The other operation of a conflict, with its access. */
typedef struct nl_sim_overlap_clash {
    /* description, as "kernel fill on stream 2 (program.py, line 9)" */
    char who[NL_SIM_OVERLAP_TEXT];
    const char *verb; /* "writes" */
    uint32_t number;  /* of the operation; never 0 */
    uintptr_t address;
} nl_sim_overlap_clash;

/* Is the check enabled? Enables it; 0, or -1 without memory. */
int nl_sim_overlap_is_recorded(void);
int nl_sim_overlap_keep(void);

/* Creates an operation; release it with free(). `number` counts all operations. The operation is
 * the last one in `clock`, and its stream has the entry `place`. Examples: `what` is "kernel fill",
 * `where` is "on stream 2 (program.py, line 9)". NULL without memory. */
nl_sim_overlap *nl_sim_overlap_make(uint32_t number, const nl_sim_streamclock *clock,
                                    unsigned place, const char *what, const char *where);
/* Returns the clock of the operations that happen before this operation. */
const nl_sim_streamclock *nl_sim_overlap_clock(const nl_sim_overlap *operation);

/* Called while the operation runs, for bytes that it accesses. Returns 1 if an unordered operation
 * has also accessed these bytes, and the accesses conflict. */
int nl_sim_overlap_touch(const nl_sim_overlap *operation, uintptr_t address, size_t size,
                         int writes, int atomic, nl_sim_overlap_clash *clash);
/* Describes a stream, as "on stream 2 (program.py, line 9)" or "on the default stream". */
const char *nl_sim_overlap_stream(const nl_sim_overlap *operation);
/* Returns the hint for the report, which names the call that would have ordered the operations. */
extern const char nl_sim_overlap_remedy[];

/* Deletes the stored accesses of memory that was allocated or freed. */
void nl_sim_overlap_drop(uintptr_t low, size_t size);

#endif
