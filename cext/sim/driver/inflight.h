/* sim/driver/inflight: counts the calls in flight that use a device's context, so that what is in
 * the context is destroyed only when there are none: what a call has looked up stays there until it
 * returns. A call that comes meanwhile is refused and does not wait, because its caller may hold a
 * lock that the work needs which is waited for. */
#ifndef NL_SIM_DRIVER_INFLIGHT_H
#define NL_SIM_DRIVER_INFLIGHT_H

/* Around a call. 0: the context is being destroyed, and there is nothing to leave. */
int nl_sim_inflight_enter(int device);
void nl_sim_inflight_leave(int device);
/* From here on calls are refused; waits for those under way, of which this must be none. One
 * thread at a time. */
void nl_sim_inflight_close(int device);
void nl_sim_inflight_open(int device);
/* In a forked child. */
void nl_sim_inflight_forget(void);

#endif
