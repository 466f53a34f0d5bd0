/* sim/driver/streamclock: computes vector clocks of streams and of the host: which operations
 * happened before, according to events, waits and the default stream's rule
 * (sim/check/overlap.h). */
#ifndef NL_SIM_DRIVER_STREAMCLOCK_H
#define NL_SIM_DRIVER_STREAMCLOCK_H

#include "sim/check/overlap.h"
#include "sim/driver/streams.h"

/* Enables the clocks; returns 0, or -1 if memory runs out. Acquires the lock of all streams. */
int nl_sim_streamclock_open(void);

/* Call the functions below with the lock of all streams held. nl_sim_streamclock_assign_index
 * assigns a clock index to a new stream; nl_sim_streamclock_release_index releases the index. */
void nl_sim_streamclock_assign_index(nl_sim_stream *stream);
void nl_sim_streamclock_release_index(nl_sim_stream *stream);
/* Updates the clocks when an operation is issued to the stream. */
void nl_sim_streamclock_issue_operation(nl_sim_stream *stream, nl_sim_op *op);
/* Merges `earlier` into `later`: everything that happened before `earlier` then also happens before
 * `later`. */
void nl_sim_streamclock_join(nl_sim_streamclock *later, const nl_sim_streamclock *earlier);
/* Merges the clock into the clock of the host: all operations of the clock happened before the
 * host's next operations. */
void nl_sim_streamclock_join_host(const nl_sim_streamclock *clock);

/* Sets the user's source line of the calling thread's next operation (nl_driver.SetCaller). */
enum { NL_SIM_CALLER = 64 };
void nl_sim_streamclock_set_caller(const char *file, int line);
/* Writes the source line that nl_sim_streamclock_set_caller has stored, as "lesson.py, line 20", or
 * "". */
void nl_sim_streamclock_get_caller(char text[NL_SIM_CALLER]);
/* Returns the number that identifies the stream in reports (nl_driver.StreamNumber). */
unsigned nl_sim_streamclock_stream_number(CUstream stream);

/* Call nl_sim_streamclock_begin_host with the operation before a host function runs, and with NULL
 * afterwards.
 *
 * nl_sim_streamclock_order_host implements nl_driver.HostKnows, which host functions call: all work
 * of the stream before the host function happens before later host code. */
void nl_sim_streamclock_begin_host(const nl_sim_overlap *operation);
void nl_sim_streamclock_order_host(void);

#endif
