/* sim/driver/stream: streams, really asynchronous: a thread of the scheduler's own runs what is in
 * them, or a thread that waits for the stream anyway. */
#ifndef NL_SIM_DRIVER_STREAM_H
#define NL_SIM_DRIVER_STREAM_H

#include "sim/driver/streams.h"

/* A stream of a context, with one reference; NULL if there is no memory. */
nl_sim_stream *nl_sim_stream_create(nl_sim_context *context, unsigned flags, int priority);
/* Gives up the handle's reference: what is queued still runs. */
void nl_sim_stream_close(nl_sim_stream *stream);

/* Appends op, which belongs to the stream from now on. Returns its ticket. */
uint64_t nl_sim_stream_issue(nl_sim_stream *stream, nl_sim_op *op);
/* The same, and waits until it has run. */
void nl_sim_stream_issue_and_wait(nl_sim_stream *stream, nl_sim_op *op);
/* Everything issued so far; for a default stream also what it would have to come after. */
void nl_sim_stream_wait(nl_sim_stream *stream);
int nl_sim_stream_is_done(nl_sim_stream *stream);
/* Everything issued so far to all streams of a context. */
void nl_sim_stream_wait_context(nl_sim_context *context);

/* From op->run: records a fault, to be reported by the next call that synchronises. */
void nl_sim_stream_fail(nl_sim_stream *stream, CUresult status, const nl_fault *fault);
void nl_sim_stream_set_job(nl_sim_stream *stream, struct nl_sim_job *job);
/* The status of a pending fault: of this stream (a default stream's includes the streams that it
 * waits for), or with stream NULL of any of the context. It becomes the calling thread's, and stays
 * pending until somebody has taken it: a status can be ignored. */
CUresult nl_sim_stream_report_fault(nl_sim_context *context, nl_sim_stream *stream);
/* That fault has been taken. */
void nl_sim_stream_clear_fault(uint64_t id);
void nl_sim_stream_clear_faults(nl_sim_context *context);

/* With the lock of all streams: */
uint64_t nl_sim_stream_issue_lock_held(nl_sim_stream *stream, nl_sim_op *op);
/* Gives the lock up while it waits, or runs operations. */
void nl_sim_stream_wait_ticket_lock_held(nl_sim_stream *stream, uint64_t ticket);
/* Takes one reference away. */
void nl_sim_stream_release_lock_held(nl_sim_stream *stream);
/* Before op is issued: lets it run only after that ticket. Takes a reference. -1 without memory,
 * which cannot happen for the first three. */
int nl_sim_op_add_after(nl_sim_op *op, nl_sim_stream *stream, uint64_t ticket);

void nl_sim_stream_open(void);   /* registers what happens at exit */
void nl_sim_stream_forget(void); /* in a forked child */

#endif
