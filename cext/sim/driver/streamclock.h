/* sim/driver/streamclock: what has happened before the operations of each stream, and for the host,
 * as far as events, waits and the default stream's rule say so (sim/check/overlap.h). */
#ifndef NL_SIM_DRIVER_STREAMCLOCK_H
#define NL_SIM_DRIVER_STREAMCLOCK_H

#include "sim/check/overlap.h"
#include "sim/driver/streams.h"

/* Begins; 0, or -1 without memory. Takes the lock of all streams. */
int nl_sim_streamclock_open(void);

/* With the lock of all streams. A place in clocks for a new stream, and back. */
void nl_sim_streamclock_enter(nl_sim_stream *stream);
void nl_sim_streamclock_leave(nl_sim_stream *stream);
/* An operation is issued. */
void nl_sim_streamclock_issue(nl_sim_stream *stream, nl_sim_op *op);
/* What is in one clock has happened for the other, too. */
void nl_sim_streamclock_join(nl_sim_streamclock *later, const nl_sim_streamclock *earlier);
/* The host knows that all of it has happened. */
void nl_sim_streamclock_tell_host(const nl_sim_streamclock *clock);

/* The user's line of the calling thread's next operation (nl_driver.SetCaller). */
enum { NL_SIM_CALLER = 64 };
void nl_sim_streamclock_set_caller(const char *file, int line);
/* "lesson.py, line 20"; "": unknown. */
void nl_sim_streamclock_get_caller(char text[NL_SIM_CALLER]);
/* The number of a stream that was created, as reports have it (nl_driver.StreamNumber). */
unsigned nl_sim_streamclock_number(CUstream stream);

/* Around a host function: the operation that it is, and NULL. If it says so meanwhile, the host
 * knows what has happened before it (nl_driver.HostKnows). */
void nl_sim_streamclock_begin_host(const nl_sim_overlap *operation);
void nl_sim_streamclock_host_knows(void);

#endif
