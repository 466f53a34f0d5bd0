/* sim/driver/streams: one lock is enough: it is held for moments. */
#include "sim/driver/streams.h"

nl_mutex nl_sim_streams_mutex = NL_MUTEX_INIT;
