/* sim/driver/gate: lets the calls that use a device's context in, many at once, and turns them away
 * while what is in the context is destroyed: what a call has looked up stays there until it
 * returns. Turns away, and does not wait: a caller may hold a lock that the work needs which is
 * waited for.
 */
#ifndef NL_SIM_DRIVER_GATE_H
#define NL_SIM_DRIVER_GATE_H

/* Around a call. 0: the context is being destroyed, and there is nothing to leave. */
int nl_sim_gate_enter(int device);
void nl_sim_gate_leave(int device);
/* From here on calls are turned away; waits for those under way, of which this must be none. One
 * thread at a time. */
void nl_sim_gate_close(int device);
void nl_sim_gate_open(int device);
/* In a forked child. */
void nl_sim_gate_forget(void);

#endif
