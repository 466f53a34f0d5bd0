/* sim/driver/inflight: counts the calls that are using a device's context, so that the contents of
 * the context are destroyed only when no call uses them. A call during the destruction returns an
 * error without waiting, because its caller may hold a lock that the remaining work needs. */
#ifndef NL_SIM_DRIVER_INFLIGHT_H
#define NL_SIM_DRIVER_INFLIGHT_H

/* Call nl_sim_inflight_begin_call at the beginning and nl_sim_inflight_end_call at the end of a
 * driver call. nl_sim_inflight_begin_call returns 0 if the context is being destroyed; in this
 * case, do not call nl_sim_inflight_end_call. */
int nl_sim_inflight_begin_call(int device);
void nl_sim_inflight_end_call(int device);
/* nl_sim_inflight_close makes new calls fail, and waits for the calls in progress, which must not
 * include the call that closes the device. Only one thread at a time can close a device. */
void nl_sim_inflight_close(int device);
void nl_sim_inflight_open(int device);
/* Call this in a forked child. */
void nl_sim_inflight_reset_in_child(void);

#endif
