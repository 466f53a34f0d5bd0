/* core/wait: waiting for a stream, an event or a device in such a way that the user can end it.
 * What is waited for goes on where the driver cannot stop it, as on a GPU: then only who lends it
 * no memory of the host's waits like this. Call without the interpreter's lock, with the device
 * bound.
 */
#ifndef NL_CORE_WAIT_H
#define NL_CORE_WAIT_H

#include "driver/driver.h"

int nl_wait_stream(CUstream stream, nl_error *err);
int nl_wait_event(CUevent event, nl_error *err);
/* For all work on the device. */
int nl_wait_context(nl_error *err);
/* Somebody else has given up waiting. */
void nl_wait_give_up(void);
/* Has such a wait been given up? Then the end of the process waits for nothing. */
int nl_wait_was_ended(void);

#endif
