/* sim/driver/past: what has happened before the operations of each stream, and for the host, as far
 * as events, waits and the default stream's rule say so (sim/check/overlap.h). */
#ifndef NL_SIM_DRIVER_PAST_H
#define NL_SIM_DRIVER_PAST_H

#include "sim/check/overlap.h"

struct nl_sim_op;
struct nl_sim_stream;

/* Begins; 0, or -1 without memory. Takes the lock of all streams. */
int nl_sim_past_open(void);

/* With the lock of all streams. A place in clocks for a new stream, and back. */
void nl_sim_past_enter(struct nl_sim_stream *stream);
void nl_sim_past_leave(struct nl_sim_stream *stream);
/* An operation is issued. */
void nl_sim_past_issue(struct nl_sim_stream *stream, struct nl_sim_op *op);
/* What is in one clock has happened for the other, too. */
void nl_sim_past_join(nl_sim_past *later, const nl_sim_past *earlier);
/* The host knows that all of it has happened. */
void nl_sim_past_tell_host(const nl_sim_past *past);

/* Around a host function: the operation that it is, and NULL. If it says so meanwhile, the host
 * knows what has happened before it (nl_driver.HostKnows). */
void nl_sim_past_begin_host(const nl_sim_overlap *operation);
void nl_sim_past_host_knows(void);
#endif
