/* sim/driver/inflight: counts the calls that are using a device's context, so that the contents of
 * the context are destroyed only when no call uses them. A call during the destruction returns an
 * error without waiting, because its caller may hold a lock that the remaining work needs. */
#ifndef NL_SIM_DRIVER_INFLIGHT_H
#define NL_SIM_DRIVER_INFLIGHT_H

/* Call enter at the beginning and leave at the end of a driver call. enter returns 0 if the context
 * is being destroyed; then do not call leave. */
int nl_sim_inflight_begin_call(int device);
void nl_sim_inflight_end_call(int device);
/* close makes new calls fail, and waits for the calls in progress, which must not include the
 * calling one. Only one thread at a time can close a device. */
void nl_sim_inflight_close(int device);
void nl_sim_inflight_open(int device);
/* Call this in a forked child. */
void nl_sim_inflight_forget(void);

#endif
