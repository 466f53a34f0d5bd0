/* sim/driver/stream: asynchronous streams of the simulated driver. The operations of a stream run
 * on a scheduler thread, or on a thread that waits for the stream. */
#ifndef NL_SIM_DRIVER_STREAM_H
#define NL_SIM_DRIVER_STREAM_H

#include "sim/driver/streams.h"

/* Creates a stream of a context, with one reference, or returns NULL if memory runs out. */
nl_sim_stream *nl_sim_stream_create(nl_sim_context *context, unsigned flags, int priority);
/* Releases the reference of the stream's handle; queued operations still run. */
void nl_sim_stream_close(nl_sim_stream *stream);

/* Appends `op` to the stream, which takes ownership of `op`. Returns its ticket. */
uint64_t nl_sim_stream_issue(nl_sim_stream *stream, nl_sim_op *op);
/* Calls nl_sim_stream_issue, and waits until `op` has run. */
void nl_sim_stream_issue_and_wait(nl_sim_stream *stream, nl_sim_op *op);
/* Waits for all operations issued so far; for a default stream, also for those of the streams that
 * are ordered before it. */
void nl_sim_stream_wait(nl_sim_stream *stream);
int nl_sim_stream_is_done(nl_sim_stream *stream);
/* Waits for all operations issued so far to all streams of a context. */
void nl_sim_stream_wait_for_context(nl_sim_context *context);

/* Records a fault of the operation that is running, which the next synchronizing call reports.
 * Call this function only in op->run. */
void nl_sim_stream_set_failed(nl_sim_stream *stream, CUresult status, const nl_fault *fault);
void nl_sim_stream_set_running_job(nl_sim_stream *stream, struct nl_sim_job *job);
/* Returns the status of a pending fault of this stream (for a default stream, also of the streams
 * that it waits for), or, if stream is NULL, of any stream of the context. Stores the fault as the
 * calling thread's last error. The fault stays pending until it is cleared, so that a caller can
 * ignore the status. */
CUresult nl_sim_stream_report_fault(nl_sim_context *context, nl_sim_stream *stream);
/* Clears the fault with this id, after the caller has received it. */
void nl_sim_stream_clear_fault(uint64_t id);
void nl_sim_stream_clear_faults(nl_sim_context *context);

/* Call the functions below with the lock of all streams held. */
uint64_t nl_sim_stream_issue_lock_held(nl_sim_stream *stream, nl_sim_op *op);
/* The functions release the lock while they wait or run operations. */
void nl_sim_stream_wait_ticket_lock_held(nl_sim_stream *stream, uint64_t ticket);
/* Releases one reference. */
void nl_sim_stream_release_lock_held(nl_sim_stream *stream);
/* Makes `op` run only after the stream's operation with this ticket; call the function before `op`
 * is issued. Acquires a reference to the stream. Returns -1 if memory runs out, which cannot happen
 * for the first three tickets. */
int nl_sim_stream_add_dependency(nl_sim_op *op, nl_sim_stream *stream, uint64_t ticket);

void nl_sim_stream_open(void);           /* registers the exit handler */
void nl_sim_stream_reset_in_child(void); /* call this in a forked child */

#endif
