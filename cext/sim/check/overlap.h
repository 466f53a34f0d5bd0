/* sim/check/overlap: finds operations of different streams that access the same memory and are
 * unordered.
 *
 * Each stream has a vector clock: for every other stream, the last operation that happens before
 * the stream's next operation. The host also has a clock, of the operations for which it has
 * waited. Events, waits and the rule of the legacy default stream merge clocks. For each byte that
 * a watched operation accesses, this file stores the last writer and one reader; the next access
 * that is not ordered after both is reported.
 *
 * Operations count as ordered if their order cannot be determined: if there are more streams than a
 * clock has entries, if a stream was destroyed, or if memory runs out. Nothing is stored until the
 * check is first enabled. */
#ifndef NL_SIM_CHECK_OVERLAP_H
#define NL_SIM_CHECK_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

enum { NL_SIM_OVERLAP_STREAMS = 32, NL_SIM_OVERLAP_WHERE = 96, NL_SIM_OVERLAP_TEXT = 176 };

/* A vector clock. If there are more streams than entries, several streams share an entry. */
typedef struct nl_sim_streamclock {
    uint64_t ticket[NL_SIM_OVERLAP_STREAMS];
} nl_sim_streamclock;

/* A watched operation, which is created when the operation is enqueued. */
typedef struct nl_sim_overlap nl_sim_overlap;

/* The other operation of a conflict, and its access. */
typedef struct nl_sim_overlap_clash {
    /* description, as "kernel fill on stream 2 (program.py, line 9)" */
    char who[NL_SIM_OVERLAP_TEXT];
    const char *verb; /* "writes" */
    uint32_t number;  /* of the operation; never 0 */
    uintptr_t address;
} nl_sim_overlap_clash;

/* nl_sim_overlap_is_recorded returns whether the check is enabled; nl_sim_overlap_enable enables
 * the check, and returns -1 if memory runs out. */
int nl_sim_overlap_is_recorded(void);
int nl_sim_overlap_enable(void);

/* Creates an operation; release it with free(). `number` is the serial number of the operation. The
 * operation is the last one in `clock`, and its stream has the index `place` in clocks. Examples:
 * `what` is "kernel fill", and `where` is "on stream 2 (program.py, line 9)". Returns NULL if
 * memory runs out. */
nl_sim_overlap *nl_sim_overlap_new_operation(uint32_t number, const nl_sim_streamclock *clock,
                                             unsigned place, const char *what, const char *where);
/* Returns the clock of the operations that happen before this operation. */
const nl_sim_streamclock *nl_sim_overlap_get_clock(const nl_sim_overlap *operation);

/* Records an access of a running operation to these bytes. Returns 1 if an unordered operation has
 * also accessed these bytes, and the accesses conflict. */
int nl_sim_overlap_record_access(const nl_sim_overlap *operation, uintptr_t address, size_t size,
                                 int writes, int atomic, nl_sim_overlap_clash *clash);
/* Describes a stream, as "on stream 2 (program.py, line 9)" or "on the default stream". */
const char *nl_sim_overlap_stream_name(const nl_sim_overlap *operation);
/* The hint for the report, which states the call that would have ordered the operations. */
extern const char nl_sim_overlap_remedy[];

/* Deletes the stored accesses of memory that was allocated or freed. */
void nl_sim_overlap_forget_range(uintptr_t low, size_t size);

#endif
