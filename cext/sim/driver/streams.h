/* sim/driver/streams: the lock of all streams, and what event.c does with streams while it holds
 * it. */
#ifndef NL_SIM_DRIVER_STREAMS_H
#define NL_SIM_DRIVER_STREAMS_H

#include "sim/driver/stream.h"

void nl_sim_streams_lock(void);
void nl_sim_streams_unlock(void);

uint64_t nl_sim_stream_issue_lock_held(nl_sim_stream *stream, nl_sim_op *op);
/* Gives the lock up while it waits, or runs operations. */
void nl_sim_stream_wait_ticket_lock_held(nl_sim_stream *stream, uint64_t ticket);
/* Takes one reference away. */
void nl_sim_stream_release_lock_held(nl_sim_stream *stream);
/* Before op is issued: lets it run only after that ticket. Takes a reference. -1 without memory,
 * which cannot happen for the first three. */
int nl_sim_op_add_after(nl_sim_op *op, nl_sim_stream *stream, uint64_t ticket);

#endif
