/* sim/driver/streams: one lock protects all streams, because each thread holds it only briefly. */
#include "sim/driver/streams.h"

nl_mutex nl_sim_streams_mutex = NL_MUTEX_INIT;
